#include "harness/plan/tuning.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/tuning_file.hpp"

namespace harness {
namespace {

/// The instruction set of the tables that `plan` has a use for, or with `any` could have one; empty
/// if none.
std::string tuned_for(const RunPlan& plan, bool any) {
  for (const OperatorInfo& info : plan.workload->info.operators) {
    const auto chosen = plan.context.kernels.find(info.name);
    for (const ImplementationInfo& item : info.implementations) {
      const bool taken = chosen != plan.context.kernels.end() && chosen->second == item.name;
      if ((any || taken) && !item.tuned_for.empty()) return item.tuned_for;
    }
  }
  return {};
}

}  // namespace

void choose_tuning(RunPlan& plan) {
  const nlohmann::json asked = plan.asked("tuning");
  plan.effective["tuning"] = nullptr;
  if (!asked.is_null() && tuned_for(plan, true).empty()) {
    throw Error("--tuning", "no kernel of workload '" + plan.rules.workload + "' follows a table");
  }
  const std::string instructions = tuned_for(plan, false);
  if (instructions.empty()) return;
  const auto file = asked.is_null() ? tuning_file(plan.context.home, instructions)
                                    : std::filesystem::path(asked.get<std::string>());
  if (asked.is_null() && !std::filesystem::exists(file)) return;
  TuningTable table = load_tuning(file, plan.context.home);
  if (table.instruction_set != instructions) {
    throw Error(printable(file.string()),
                fmt::format("is a table for {}, and here kernels choose among those for {}",
                            table.instruction_set, instructions),
                "'harness tune' makes one of this machine");
  }
  plan.effective["tuning"] = "sha256:" + table.sha256;
  plan.context.tuning = std::move(table);
}

}  // namespace harness
