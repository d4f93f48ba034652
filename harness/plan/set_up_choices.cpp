#include "harness/plan/set_up_choices.hpp"

#include <algorithm>

#include "harness/system/affinity.hpp"
#include "harness/workload/model_task.hpp"

namespace harness {
namespace {

template <class Value>
void add_once(std::vector<Value>& list, const Value& value) {
  if (std::find(list.begin(), list.end(), value) == list.end()) list.push_back(value);
}

bool holds_precision(const std::vector<Constraint>& constraints) {
  return std::any_of(constraints.begin(), constraints.end(), [](const Constraint& constraint) {
    return constraint.path == "/settings/effective/precision";
  });
}

}  // namespace

SetUpChoices set_up_choices(const RunPlan& plan) {
  SetUpChoices choices{{plan.context.threads}, {plan.context.batch_size}, {plan.context.precision}};
  if (plan.dry_run || plan.tier.key("search_seconds") <= 0) return choices;
  // Each trial would read the whole folder once more.
  if (!plan.asked("data").is_null()) return choices;
  if (plan.asked("threads").is_null()) {
    // Two hardware threads of a core may still help it to wait for memory.
    add_once(choices.threads,
             plan.cpus.empty() ? usable_cpus().count : static_cast<int>(plan.cpus.size()));
    for (int threads = plan.context.threads / 2; threads >= 1; threads /= 2) {
      add_once(choices.threads, threads);
    }
  }
  const auto largest = static_cast<std::int64_t>(plan.tier.key("largest_batch"));
  if (plan.tier.any_batch_size && plan.asked("batch_size").is_null()) {
    for (std::int64_t size = 1; size <= largest; size *= 4) add_once(choices.batch_sizes, size);
  }
  // What is lost by fewer bits shows in the quality. Rules that say what it has to be leave no
  // choice.
  if (plan.rules.quality && plan.asked("precision").is_null() &&
      !holds_precision(plan.rules.closed) && !holds_precision(plan.rules.valid)) {
    const auto offered = plan.workload->info.offers.find("precision");
    if (offered != plan.workload->info.offers.end()) {
      for (const std::string& precision : offered->second) {
        const auto& model = plan.context.model;
        if (model && !precision_misfit(*model, precision).empty()) continue;
        if (precision == "int8" && plan.rules.calibration.empty()) continue;
        add_once(choices.precisions, precision);
      }
    }
  }
  return choices;
}

}  // namespace harness
