#include "harness/measure/advice_facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/started_as.hpp"
#include "harness/base/text.hpp"
#include "harness/measure/profile_file.hpp"
#include "harness/measure/replay_session.hpp"
#include "harness/plan/ablation_plan.hpp"
#include "harness/result/setting.hpp"
#include "harness/system/doctor.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/page_faults.hpp"

namespace harness {
namespace {

/// A replay for advice needs no interval.
constexpr std::int64_t kRounds = 3;

/// Allocator, precision and kernels that are not as in the plan and can be had here.
std::vector<AdvisedChange> possible_changes(const RunPlan& plan) {
  const WorkloadInfo& info = plan.workload->info;
  std::vector<AdvisedChange> changes;
  for (const auto& [setting, values] : info.offers) {
    for (const std::string& value : values) {
      if (plan.effective.value(setting, "") != value) changes.push_back({setting, value});
    }
  }
  for (const OperatorInfo& one : info.operators) {
    const auto present = plan.context.kernels.find(one.name);
    for (const ImplementationInfo& implementation : one.implementations) {
      if (!implementation.unavailable.empty()) continue;
      if (present == plan.context.kernels.end() || present->second == implementation.name) continue;
      changes.push_back({one.name, implementation.name});
    }
  }
  return changes;
}

/// What the projection says in the profile's own time: replays of what was recorded, in the same
/// rounds, tell how much slower this machine is now.
double then_and_there(const Projection& projection) {
  return projection.projected.center / projection.slowdown;
}

/// Operators that became products have no primitive of a library to be replayed beside them.
Scaling scaling_of(const Profile& profile) {
  return {.by_replays = true, .recorded_bandwidth = copy_bandwidth_of(profile)};
}

/// Seconds a step of all tasks together by kernels of this project; empty, with a note, where any
/// of them cannot be replayed.
std::optional<double> replayed_seconds(const Profile& profile, RunPlan& plan,
                                       const std::vector<ReplayTask>& tasks,
                                       std::vector<std::string>& notes) {
  StepModel model;
  model.tasks = model.yardsticks = tasks;
  for (ReplayTask& task : model.yardsticks) task.library = "oneDNN";
  try {
    const ReplayRecord record = replay(plan, model, {kRounds, false});
    const Projection projection = project(model, scaling_of(profile), record.rounds);
    if (projection.explained > 0.999) return then_and_there(projection);
    notes.insert(notes.end(), record.notes.begin(), record.notes.end());
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    notes.push_back(std::string("not replayed: ") + error.what());
  }
  return std::nullopt;
}

std::optional<double> projected_bf16(const Profile& profile, RunPlan plan,
                                     std::vector<std::string>& notes) {
  try {
    plan.context.precision = "bf16";
    const StepModel model = model_of(profile, plan.context, notes);
    const ReplayRecord record = replay(plan, model, {kRounds, false});
    const Projection projection = project(model, scaling_of(profile), record.rounds);
    note_slowdown(projection.slowdown, notes);
    return then_and_there(projection);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    notes.push_back(std::string("bf16 not projected: ") + error.what());
    return std::nullopt;
  }
}

bool allows(const AdviceFacts& facts, const AdvisedChange& change) {
  return std::find(facts.possible.begin(), facts.possible.end(), change) != facts.possible.end();
}

/// What `plan` was asked for, as options of `ablate`: without what holds unasked, and without the
/// seed, which draws the same work.
std::string common_options(const RunPlan& plan) {
  using nlohmann::json;
  std::vector<std::string> unasked;  // of the workload's own settings
  for (const SettingInfo& own : plan.workload->info.settings) {
    unasked.push_back(own.key + "=" + own.default_value);
  }
  std::string options;
  for (const auto& setting : SettingTable::instance().list()) {
    if (setting->scope != SettingScope::kCommon || setting->name == "seed") continue;
    const json asked = plan.asked(setting->name);
    if (asked == setting->standard && !plan.rules.defaults.contains(setting->name)) continue;
    for (const json& value : asked.is_array() ? asked : json::array({asked})) {
      const std::string text = plain_text(value);
      const bool holds = std::find(unasked.begin(), unasked.end(), text) != unasked.end();
      if (value.is_null() || (asked.is_array() && holds)) continue;
      options += fmt::format(" --{} {}", setting->option(), pasted_word(text));
    }
  }
  return options;
}

}  // namespace

AdviceFacts advice_facts(const Profile& profile, RunPlan& plan, const RunRequest& request,
                         std::vector<std::string>& notes) {
  AdviceFacts facts;
  facts.allocator = plan.context.allocator;
  facts.precision = plan.context.precision;
  facts.threads = plan.context.threads;
  RunRequest by_default = request;
  by_default.settings.erase("threads");
  facts.usable_cores = make_plan(by_default, home_folder()).context.threads;
  facts.possible = possible_changes(plan);
  const double overhead = profile.overhead ? std::max(profile.overhead->center, 1.0) : 1.0;
  facts.step_seconds = profile.tables.step_seconds / overhead;
  if (!profile.tables.system) facts.fault_seconds = page_fault_seconds(plan.context.threads);
  facts.copy_bandwidth = copy_bandwidth_of(profile).value_or(0);
  for (Remedy& remedy : remedies_of(facts.possible)) {
    if (facts.precision == "int8") break;  // they are priced in what our kernels do in fp32 or bf16
    OfferedRemedy offered{std::move(remedy), {}, {}};
    if (offered.remedy.replays) {
      const std::vector<ReplayTask> tasks = offered.remedy.replays(profile.tables);
      double recorded = 0;
      for (const ReplayTask& task : tasks) recorded += task.recorded_seconds;
      if (recorded > 0) {
        offered.recorded_seconds = recorded;
        offered.replayed_seconds = replayed_seconds(profile, plan, tasks, notes);
      }
    }
    facts.remedies.push_back(std::move(offered));
  }
  if (allows(facts, {"precision", "int8"})) {
    // Its steps are other ones, so no replay tells what it brings.
    const Finding int8 = judge_narrow(profile.peaks, "int8");
    notes.push_back(int8.what + ": " +
                    (int8.how.empty() ? "--precision int8 measures what it brings, and its quality"
                                      : int8.how));
  }
  if (facts.precision != "int8" && allows(facts, {"precision", "bf16"})) {
    facts.projected_bf16 = projected_bf16(profile, plan, notes);
  }
  return facts;
}

std::string ablation_command(const RunPlan& plan, const std::vector<Advice>& advice) {
  if (!plan.rules.ablation) return "";
  const std::vector<VariantRule>& variants = plan.rules.ablation->variants;
  VariantSettings present = variant_settings_of(plan);
  present.kernels.clear();
  for (const auto& [name, implementation] : plan.context.kernels) {
    if (implementation != "reference") present.kernels.emplace(name, implementation);
  }
  const auto first = std::find_if(variants.begin(), variants.end(),
                                  [&](const VariantRule& one) { return one.settings == present; });
  if (first == variants.end()) return "";
  const auto makes = [](const VariantRule& variant, const AdvisedChange& change) {
    if (variant.settings.of(change.setting) == change.value) return true;
    const auto kernel = variant.settings.kernels.find(change.setting);
    return kernel != variant.settings.kernels.end() && kernel->second == change.value;
  };
  auto last = first;
  for (const Advice& one : advice) {
    if (!one.change || one.changes_numbers) continue;
    const auto found = std::find_if(first + 1, variants.end(), [&](const VariantRule& variant) {
      return makes(variant, *one.change);
    });
    if (found != variants.end()) last = std::max(last, found);
  }
  if (last == first) return "";
  std::vector<std::string> names;
  for (auto variant = first; variant <= last; ++variant) names.push_back(variant->name);
  return fmt::format("{} ablate{} --variants {} --out ablation.json", started_as(),
                     common_options(plan), join(names, ","));
}

}  // namespace harness
