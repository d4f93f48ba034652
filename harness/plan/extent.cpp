#include "harness/plan/extent.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"
#include "harness/plan/settings.hpp"

namespace harness {
namespace {

using nlohmann::json;

// A dry run proves that everything is in place; three steps show a trend and cost little.
constexpr std::int64_t kDryRunWarmup = 1;
constexpr std::int64_t kDryRunSteps = 2;

template <class Number>
Number option_in_range(const char* option, const json& value, Number low, Number high) {
  const auto number = value.get<Number>();
  return in_range(fmt::format("--{} {}", option, number), number, low, high);
}

/// What replaces the tier's length replaces both its parts: three steps are three, whatever seconds
/// the tier asks for.
void choose_length(RunPlan& plan) {
  const json steps = plan.asked("steps");
  const json seconds = plan.asked("min_seconds");
  if (steps.is_null() && seconds.is_null()) return;
  const char* option = steps.is_null() ? "--min-seconds" : "--steps";
  if (plan.dry_run)
    throw Error(option, "a dry run has a length of its own", "leave one of them out");
  const ScenarioInfo& scenario = plan.scenario->info();
  if (!scenario.reads_key(steps.is_null() ? "min_seconds" : "min_steps")) {
    throw Error(
        option,
        fmt::format("scenario '{}' has another length: {}", scenario.name, scenario.summary),
        "choose another tier; 'harness list' shows them");
  }
  Tier& tier = plan.tier;
  tier.min_steps =
      steps.is_null() ? 1 : option_in_range<std::int64_t>("steps", steps, 1, scenario.most_units);
  // Beyond the tier's own limit it would only be cut off.
  const double most = tier.max_seconds > 0 ? tier.max_seconds : kMostSeconds;
  tier.min_seconds =
      seconds.is_null() ? 0 : option_in_range<double>("min-seconds", seconds, 0, most);
}

void choose_target(RunPlan& plan) {
  const std::string& name = plan.rules.workload;
  if (const json epochs = plan.asked("max_epochs"); !epochs.is_null()) {
    if (plan.tier.max_epochs == 0) {
      throw Error("--max-epochs",
                  fmt::format("tier '{}' of '{}' counts no epochs", plan.tier_name, name),
                  "'harness list' shows the tiers");
    }
    plan.tier.max_epochs = option_in_range<std::int64_t>("max-epochs", epochs, 1, kMostEpochs);
  }
  const json target = plan.asked("quality_target");
  if (!plan.rules.quality) {
    if (target.is_null()) return;
    throw Error("--quality-target", "workload '" + name + "' has no quality target");
  }
  const QualityRule& rule = *plan.rules.quality;
  plan.context.quality_metric = rule.metric;
  // A share of what fp32 reaches is one on the data that it was frozen for.
  if (rule.fp32 && target.is_null() && !plan.asked("data").is_null()) return;
  plan.quality_target = target.is_null() ? rule.target : target.get<double>();
  const std::string trouble = target_misfit(rule, *plan.quality_target);
  if (!trouble.empty()) {
    throw Error(fmt::format("--quality-target {}", *plan.quality_target), trouble);
  }
}

}  // namespace

void choose_extent(RunPlan& plan) {
  choose_length(plan);
  choose_target(plan);
  Tier& tier = plan.tier;
  if (plan.dry_run) {
    tier.max_epochs = 0;
    tier.warmup_steps = kDryRunWarmup;
    tier.min_steps = kDryRunSteps;
    tier.min_seconds = 0;
  }
  plan.context.max_epochs = tier.max_epochs;
  const bool counted = tier.min_seconds <= 0 && plan.scenario->info().reads_key("min_steps");
  plan.context.planned_steps = counted ? tier.warmup_steps + tier.min_steps : 0;
  plan.effective.update({
      {"quality_target", plan.quality_target ? json(*plan.quality_target) : json()},
      {"warmup_steps", tier.warmup_steps},
      {"min_steps", tier.min_steps},
      {"min_seconds", tier.min_seconds},
      {"max_seconds", tier.max_seconds},
      {"max_epochs", tier.max_epochs > 0 ? json(tier.max_epochs) : json()},
  });
}

}  // namespace harness
