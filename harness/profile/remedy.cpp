#include "harness/profile/remedy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"

namespace harness {
namespace {

std::vector<Remedy>& registered() {
  static std::vector<Remedy> remedies;
  return remedies;
}

}  // namespace

// Other threads fault beside that of the step, or it waits for them: what it spends in the system
// itself is what the step takes longer.
double PricedStep::fault_cost(const OperatorRow& row) const {
  if (!tables.system) return harness::fault_cost(row, bandwidth, fault_seconds);
  return std::clamp(system_factor * row.system_seconds, 0.0, std::max(row.self_seconds, 0.0));
}

double PricedStep::gap(const OperatorRow& row) const {
  const double whole = std::max(row.gap_seconds(), 0.0) * unrecorded;
  if (!without_faults || whole <= 0) return whole;
  if (!tables.system) return unrecorded * gap_without_faults(row, bandwidth, fault_seconds);
  // Faults fall evenly on primitives and what is around them; bytes have to move in any case.
  const double moving = bandwidth > 0 ? std::min(row.bytes / bandwidth, whole) : 0;
  return std::max(whole * (1 - fault_cost(row) / row.self_seconds), moving);
}

RegisterRemedy::RegisterRemedy(Remedy remedy) { registered().push_back(std::move(remedy)); }

std::vector<ReplayTask> convolutions_for_own(const ProfileTables& tables,
                                             const std::function<bool(const Primitive&)>& wanted) {
  std::vector<ReplayTask> tasks;
  for (ReplayTask& task : model_step(tables, 1).tasks) {
    if (task.library == "harness" || task.primitive.kind != "convolution") continue;
    if (!wanted(task.primitive)) continue;
    task.library = "harness";
    tasks.push_back(std::move(task));
  }
  return tasks;
}

std::optional<Advice> gain_of_replays(const PricedStep& step, const std::string& topic) {
  if (!step.recorded) return std::nullopt;
  Advice advice{.topic = topic,
                .finding = fmt::format("{} a step", format_quantity(*step.recorded, "s")),
                .basis = "replays of the same shapes by kernels of this project"};
  if (step.replayed) {
    advice.primitive_seconds = std::max(*step.recorded - *step.replayed, 0.0);
    advice.expected_seconds = advice.primitive_seconds;
  }
  return advice;
}

std::vector<Remedy> remedies_of(const std::vector<AdvisedChange>& changes) {
  std::vector<Remedy> found;
  std::copy_if(registered().begin(), registered().end(), std::back_inserter(found),
               [&](const Remedy& remedy) {
                 return std::find(changes.begin(), changes.end(), remedy.change) != changes.end();
               });
  std::stable_sort(found.begin(), found.end(),
                   [](const Remedy& a, const Remedy& b) { return a.change < b.change; });
  return found;
}

}  // namespace harness
