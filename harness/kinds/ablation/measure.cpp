#include "harness/kinds/ablation/measure.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/print.hpp"
#include "harness/base/text.hpp"
#include "harness/check/judgement.hpp"
#include "harness/kinds/ablation/ablation_json.hpp"
#include "harness/kinds/ablation/clusters.hpp"
#include "harness/kinds/ablation/rules_check.hpp"
#include "harness/kinds/ablation/sides.hpp"
#include "harness/measure/cost_report.hpp"
#include "harness/measure/identity.hpp"
#include "harness/measure/memory_groups.hpp"
#include "harness/measure/samples_file.hpp"
#include "harness/measure/stop_notice.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/capture.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/interrupt.hpp"
#include "harness/system/memory_limit.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using Groups = std::vector<std::vector<std::size_t>>;

/// Logs and results of the sides. What a side failed over stays there for people.
class WorkFolder {
 public:
  explicit WorkFolder(const std::string& name) {
    path_ = fs::temp_directory_path() / ("harness-ablation-" + name);
    std::error_code why;
    if (!fs::create_directory(path_, why)) {
      throw Error(printable(path_.string()), "cannot be made: " + why.message(),
                  "TMPDIR names another folder for temporary files");
    }
  }
  ~WorkFolder() {
    if (keep_) return;
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const fs::path& path() const { return path_; }
  void keep() { keep_ = true; }

 private:
  fs::path path_;
  bool keep_ = false;
};

/// Of each process: libraries, threads and what an estimate leaves out.
constexpr double kProcessBytes = 0.5 * (1 << 30);
/// Of the memory that is available: the rest is for buffers of this process, and for others.
constexpr double kUsableShare = 0.9;

/// Bytes at most of each variant by its workload's estimate; nobody knows a peer, which is taken
/// for as large as the largest of them.
std::vector<double> memory_needs(const AblationPlan& plan) {
  std::vector<double> needs;
  for (const VariantPlan& variant : plan.variants) {
    const std::unique_ptr<Workload> workload = variant.plan.workload->create();
    needs.push_back(workload->describe(variant.plan.context).peak_bytes * variant.plan.ranks);
  }
  needs.resize(needs.size() + plan.peers.size(), *std::max_element(needs.begin(), needs.end()));
  return needs;
}

Groups choose_groups(const AblationPlan& plan, const std::optional<double>& limit) {
  const std::vector<double> needs = memory_needs(plan);
  std::optional<double> available = limit;
  if (!available) {
    if (const auto bytes = available_memory().bytes) {
      available = std::max(0.0, kUsableShare * static_cast<double>(*bytes) -
                                    kProcessBytes * static_cast<double>(needs.size()));
    }
  }
  double together = 0;
  for (const double need : needs) together += need;
  Groups groups = memory_groups(needs, available.value_or(together));
  if (!groups.empty()) return groups;
  const double most = *std::max_element(needs.begin() + (needs.size() > 1 ? 1 : 0), needs.end());
  throw Error(
      fmt::format("--batch-size {}", plan.variants.front().plan.context.batch_size),
      fmt::format("a variant and the first one need about {} of memory together, {} are available",
                  format_quantity(needs.front() + (needs.size() > 1 ? most : 0), "B"),
                  format_quantity(*available, "B")),
      "use a smaller batch or a machine with more memory");
}

/// The first variant has a turn in each round of each group.
void refuse_too_many_turns(const AblationPlan& plan, const Groups& groups) {
  const std::int64_t turns = std::ssize(groups) * plan.clusters * plan.rounds;
  if (turns <= kMostTurns) return;
  throw Error(fmt::format("--rounds {}", plan.rounds),
              fmt::format("{} turns of the first variant are more than the {} of a result", turns,
                          kMostTurns),
              "fewer rounds or clusters");
}

/// What the first variant that has a result says of data and program, which all share.
void fill_common(Ablation& ablation, const AblationRecord& record) {
  const auto told =
      std::find_if(record.variants.begin(), record.variants.end(),
                   [](const VariantRecord& variant) { return variant.result.has_value(); });
  if (told == record.variants.end()) return;
  const Result& first = *told->result;
  ablation.dataset = first.dataset;
  ablation.weights = first.weights;
  ablation.hyperparameters = first.hyperparameters;
  ablation.preparation = first.preparation;
  ablation.system["software"] = first.system.value("software", nlohmann::json::object());
}

Variant planned_variant(const VariantPlan& plan) {
  Variant variant;
  variant.name = plan.name;
  variant.summary = plan.summary;
  variant.settings = variant_settings_of(plan.plan);
  if (plan.world) {
    for (const char* name : {"ranks", "batch_size", "threads"}) {
      variant.settings.chosen[name] = plan.plan.effective.at(name).dump();
    }
  }
  return variant;
}

Variant peer_variant(const PeerCommand& command) {
  Variant variant;
  variant.name = command.name;
  variant.peer = peer_of(command);
  return variant;
}

void fill_variant(Variant& variant, const VariantRecord& record) {
  variant.turns = record.turns;
  if (variant.peer) {
    variant.peer->version = record.says;
    variant.peer->doubt = record.doubt;
    variant.summary = record.says;
    variant.memory = {std::nullopt, "none", "a peer tells nothing of its memory"};
    return;
  }
  variant.memory = {std::nullopt, "none", "no cluster of it came to its end"};
  if (!record.result) return;
  variant.memory = record.result->memory;
  variant.quality = record.result->quality;
}

void fill(Ablation& ablation, const AblationPlan& plan, const AblationRecord& record) {
  fill_common(ablation, record);
  ablation.peaks = record.peaks;
  std::vector<std::string> builds_on;
  for (std::size_t i = 0; i < ablation.variants.size(); ++i) {
    fill_variant(ablation.variants[i], record.variants[i]);
    builds_on.push_back(i < plan.variants.size() ? plan.variants[i].builds_on : "");
  }
  summarise(ablation, builds_on);
  for (std::size_t i = 0; i < ablation.variants.size(); ++i) {
    const std::optional<Result>& result = record.variants[i].result;
    Variant& variant = ablation.variants[i];
    if (!result || !result->cost) continue;
    variant.cost = report_cost(result->cost->cost, variant.median_seconds, ablation.peaks);
    variant.cost->work_done = result->cost->work_done;
  }
}

void judge(Ablation& ablation, const AblationPlan& plan, const AblationRecord& record) {
  const Rules& rules = plan.variants.front().plan.rules;
  const nlohmann::json document = to_json(ablation);
  settle_division(ablation.rules, rules, shared_constraints(rules.closed, ablation), document, "");
  Status& status = ablation.status;
  if (record.stop == StopReason::kInterrupted || record.stop == StopReason::kFailed) {
    mark_aborted(status, record.stop_detail, "run again for a valid result");
  } else if (record.stop == StopReason::kNonFinite) {
    // What else the rules ask of a whole ablation is missing because of it.
    status.state = RunState::kInvalid;
    status.violations = {{"finite-loss", "/variants", "a finite number", record.stop_detail,
                          "lower the learning rate or look for a wrong kernel"}};
  } else {
    status.violations = check_rules(rules, ablation, document);
    status.state = status.violations.empty() ? RunState::kValid : RunState::kInvalid;
  }
  judge_machine(ablation);
  status.recommendations.insert(status.recommendations.end(), record.notes.begin(),
                                record.notes.end());
}

void say(const std::string& line) { print_err(line + "\n"); }

}  // namespace

Ablation measure_ablation(const AblationPlan& plan, const fs::path& samples_path,
                          const std::vector<std::string>& command_line,
                          std::optional<double> memory) {
  const RunPlan& first = plan.variants.front().plan;
  // Before any thread exists, so that all inherit it, the peers too.
  if (!first.cpus.empty()) apply_affinity(first.cpus);
  const Groups groups = choose_groups(plan, memory);
  refuse_too_many_turns(plan, groups);

  Ablation ablation;
  ablation.identity = make_identity({new_uuid(), 1, 1}, command_line);
  ablation.rules = refer_to(first.rules, first.tier_name, plan.departures);
  ablation.settings = {plan.requested, plan.effective};
  ablation.seeds = first.context.seeds;
  ablation.left_out = plan.left_out;
  for (const VariantPlan& variant : plan.variants) {
    ablation.variants.push_back(planned_variant(variant));
  }
  for (const PeerCommand& peer : plan.peers) ablation.variants.push_back(peer_variant(peer));
  ablation.system = capture_system();
  ablation.environment_before = capture_environment();

  SamplesFile samples(samples_path, {{"kind", "ablation"},
                                     {"run", ablation.identity.uuid},
                                     {"workload", first.rules.workload},
                                     {"seed", ablation.seeds.run},
                                     {"schema_version", kAblationSchemaVersion},
                                     {"at", ablation.identity.started_at}});
  const StopMessage message("stopping; the variants are ended");
  name_samples_left(samples_path);
  WorkFolder work(ablation.identity.uuid);
  AblationRecord record;
  try {
    record = run_ablation_clusters(plan, groups, work.path(), samples, say);
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {
    work.keep();
    throw;
  }
  if (record.stop == StopReason::kFailed) work.keep();
  tell_failure(record.stop, record.stop_detail);

  ablation.identity.ended_at = std::max(ablation.identity.started_at, utc_now());
  ablation.environment_after = capture_environment();
  fill(ablation, plan, record);
  judge(ablation, plan, record);
  return ablation;
}

}  // namespace harness
