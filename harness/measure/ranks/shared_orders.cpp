#include "harness/measure/ranks/shared_orders.hpp"

#include <exception>

#include "harness/base/error.hpp"

namespace harness {

StepOrder SharedOrders::next() {
  StepOrder order;
  std::exception_ptr trouble;
  if (lead_ != nullptr) {
    try {
      order = lead_->next();
    } catch (const std::exception&) {
      trouble = std::current_exception();
    }
  }
  const double none = trouble ? 1 : 0;
  const std::vector<double> first =
      gather_numbers(*plan_.context.ranks,
                     {none, static_cast<double>(order.kind), static_cast<double>(order.count)})
          .front();
  if (trouble) std::rethrow_exception(trouble);
  if (first.at(0) != 0) throw Interrupted();
  return {static_cast<OrderKind>(static_cast<int>(first.at(1))),
          static_cast<std::int64_t>(first.at(2))};
}

void SharedOrders::step(const StepRecord& record) {
  if (lead_ != nullptr) lead_->step(record);
}

void SharedOrders::evaluated(const Quality& quality, const EvaluationPoint& at) {
  if (lead_ != nullptr) lead_->evaluated(quality, at);
}

void SharedOrders::end(const std::string& trouble) {
  if (lead_ != nullptr) lead_->end(trouble);
}

}  // namespace harness
