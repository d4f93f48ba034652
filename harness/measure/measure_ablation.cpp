#include "harness/measure/measure_ablation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"
#include "harness/measure/identity.hpp"
#include "harness/measure/progress.hpp"
#include "harness/measure/samples_file.hpp"
#include "harness/measure/stop_notice.hpp"
#include "harness/result/ablation_json.hpp"
#include "harness/scenario/turns.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/memory_limit.hpp"
#include "harness/system/page_cache.hpp"
#include "harness/workload/ablation_rules.hpp"

namespace harness {
namespace {

using Workloads = std::vector<std::unique_ptr<Workload>>;

void refuse_if_too_large(const AblationPlan& plan, const Workloads& workloads) {
  std::vector<MemoryNeed> needs;
  for (std::size_t i = 0; i < workloads.size(); ++i) {
    const WorkloadContext& context = plan.variants[i].plan.context;
    const Description described = workloads[i]->describe(context);
    needs.push_back({context.allocator, described.resident_bytes, described.peak_bytes});
  }
  const double needed = interleaved_memory(needs);
  const std::optional<long long> available = available_memory().bytes;
  if (!available || needed <= static_cast<double>(*available)) return;
  throw Error(fmt::format("{} at --batch-size {}", format_count(std::ssize(workloads), "variant"),
                          plan.variants.front().plan.context.batch_size),
              fmt::format("need about {} of memory together, {} are available",
                          format_quantity(needed, "B"),
                          format_quantity(static_cast<double>(*available), "B")),
              "measure fewer at a time with --variants, or a smaller batch");
}

Memory report_memory(const std::optional<double>& peak_bytes) {
  if (!peak_bytes) return {std::nullopt, "none", "this workload has no allocator of its own"};
  return {peak_bytes, "the workload's allocator counters during its turns, less what others hold",
          ""};
}

void fill_variants(Ablation& ablation, const AblationPlan& plan, const AblationRecord& record) {
  const std::int64_t steps = (plan.warmup_rounds + plan.rounds) * plan.steps_per_turn;
  std::vector<std::string> builds_on;
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    const VariantPlan& planned = plan.variants[i];
    const VariantRecord& measured = record.variants[i];
    Variant& variant = ablation.variants.emplace_back();
    variant.name = planned.name;
    variant.summary = planned.summary;
    variant.settings = variant_settings_of(planned.plan);
    variant.memory = report_memory(measured.peak_bytes);
    if (measured.quality) {
      variant.quality = report_quality(*measured.quality, planned.plan.quality_target, steps);
    }
    variant.turns = measured.turns;
    builds_on.push_back(planned.builds_on);
  }
  summarise(ablation, builds_on);
}

void judge(Ablation& ablation, const AblationPlan& plan, const AblationRecord& record) {
  const Rules& rules = plan.variants.front().plan.rules;
  const nlohmann::json document = to_json(ablation);
  settle_division(ablation.rules, rules, shared_constraints(rules.closed), document, "");
  Status& status = ablation.status;
  if (record.stop == StopReason::kInterrupted || record.stop == StopReason::kFailed) {
    mark_aborted(status, record.stop_detail, "run again for a valid result");
  } else {
    status.violations = check_rules(rules, ablation, document);
    if (record.stop == StopReason::kNonFinite) {
      status.violations.insert(status.violations.begin(),
                               {"finite-loss", "/variants", "a finite number", record.stop_detail,
                                "lower the learning rate or look for a wrong kernel"});
    }
    status.state = status.violations.empty() ? RunState::kValid : RunState::kInvalid;
  }
  judge_machine(ablation);
}

}  // namespace

double interleaved_memory(const std::vector<MemoryNeed>& variants) {
  double resident = 0;
  std::map<std::string, double> on_top;
  for (const MemoryNeed& variant : variants) {
    resident += variant.resident;
    double& most = on_top[variant.allocator];
    most = std::max(most, variant.peak - variant.resident);
  }
  for (const auto& [allocator, bytes] : on_top) resident += bytes;
  return resident;
}

Ablation measure_ablation(AblationPlan& plan, const std::filesystem::path& samples_path,
                          const std::vector<std::string>& command_line) {
  RunPlan& first = plan.variants.front().plan;
  // Before any thread exists, so that all inherit it.
  if (!first.cpus.empty()) apply_affinity(first.cpus);
  Workloads workloads;
  std::vector<Participant> entries;
  for (VariantPlan& variant : plan.variants) {
    workloads.push_back(variant.plan.workload->create());
    entries.push_back({variant.name, workloads.back().get(), &variant.plan.context});
  }
  refuse_if_too_large(plan, workloads);

  Ablation ablation;
  ablation.identity = make_identity({new_uuid(), 1, 1}, command_line);
  ablation.rules = refer_to(first.rules, first.tier_name, plan.departures);
  ablation.settings = {plan.requested, plan.effective};
  ablation.seeds = first.context.seeds;
  ablation.left_out = plan.left_out;
  ablation.system = capture_system();
  ablation.environment_before = capture_environment();

  SamplesFile samples(samples_path, {{"kind", "ablation"},
                                     {"run", ablation.identity.uuid},
                                     {"workload", first.rules.workload},
                                     {"seed", ablation.seeds.run},
                                     {"schema_version", kAblationSchemaVersion},
                                     {"at", ablation.identity.started_at}});
  Progress progress(stderr, terminal_columns(stderr));
  StopNotice notice(samples_path);
  SessionHooks hooks;
  hooks.stop_requested = interrupt_requested;
  hooks.data_opened = [&](const DataReport&) { refuse_if_too_large(plan, workloads); };
  hooks.clear_cache = [](const std::filesystem::path& root) {
    return to_json(clear_page_cache(root));
  };
  const AblationRecord record =
      run_turns(entries, {plan.warmup_rounds, plan.rounds, plan.steps_per_turn}, hooks,
                {&samples, &progress, &notice});
  tell_failure(record.stop, record.stop_detail);

  ablation.identity.ended_at = utc_now();
  ablation.environment_after = capture_environment();
  ablation.dataset = record.data.dataset;
  const WorkloadFacts facts = workloads.front()->facts();
  ablation.weights = facts.weights;
  ablation.hyperparameters = facts.hyperparameters;
  ablation.preparation = record.preparation;
  ablation.system["software"] = facts.software;
  fill_variants(ablation, plan, record);
  judge(ablation, plan, record);
  return ablation;
}

}  // namespace harness
