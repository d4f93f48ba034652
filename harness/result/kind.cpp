#include "harness/result/kind.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/base/text.hpp"

namespace harness {
namespace {

std::vector<std::unique_ptr<ResultKind>>& registry() {
  static std::vector<std::unique_ptr<ResultKind>> all;
  return all;
}

template <class Test>
const ResultKind* first_that(const Test& test) {
  const auto found = std::find_if(registry().begin(), registry().end(),
                                  [&](const auto& kind) { return test(*kind); });
  return found == registry().end() ? nullptr : found->get();
}

}  // namespace

const std::vector<std::unique_ptr<ResultKind>>& result_kinds() { return registry(); }

std::string names_of_kinds() {
  std::vector<std::string> names;
  for (const auto& kind : registry()) names.push_back(kind->name());
  return join(names, ", ");
}

const ResultKind* find_result_kind(std::string_view name) {
  return first_that([&](const ResultKind& kind) { return kind.name() == name; });
}

const ResultKind& kind_of(const ResultCommon& result) {
  const ResultKind* kind = first_that([&](const ResultKind& one) { return one.holds(result); });
  if (kind == nullptr) throw std::logic_error("a result of no registered kind");
  return *kind;
}

void register_result_kind(std::unique_ptr<ResultKind> kind) {
  if (find_result_kind(kind->name()) != nullptr) {
    throw std::logic_error("kind of result registered twice: " + kind->name());
  }
  registry().push_back(std::move(kind));
}

}  // namespace harness
