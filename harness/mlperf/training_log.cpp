#include "harness/mlperf/training_log.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/mlperf/log_rules.hpp"
#include "harness/mlperf/system_description.hpp"

namespace harness {
namespace {

using nlohmann::json;

// As JSON where it is a number: the checkers compare.
json number_or_text(const std::string& text) {
  if (const auto integer = parse_integer(text)) return *integer;
  if (const auto number = parse_number(text)) return *number;
  return text;
}

// The vocabulary of the log's precision keys.
std::string logged_precision(const std::string& precision) {
  return precision == "bf16" ? "bfloat16" : precision;
}

// MLPerf's tools find some lines by their text alone, wherever in it the name of a key stands: it
// must not stand in what others have written.
std::string without_key_names(std::string text) {
  for (const std::string_view name : {"global_batch_size", "submission_benchmark", "eval_accuracy",
                                      "eval_error", "train_samples", "run_stop"}) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name)) {
      std::replace(text.begin() + static_cast<std::ptrdiff_t>(at),
                   text.begin() + static_cast<std::ptrdiff_t>(at + name.size()), '_', '-');
    }
  }
  return text;
}

json departures_json(const std::vector<Departure>& departures) {
  json list = json::array();
  for (const Departure& departure : departures) {
    list.push_back({{"path", without_key_names(departure.path)},
                    {"expected", without_key_names(departure.expected)},
                    {"actual", without_key_names(departure.actual)}});
  }
  return list;
}

}  // namespace

TrainingLogFacts training_log_facts(const RunPlan& plan, const json& system) {
  TrainingLogFacts facts;
  facts.organisation = without_key_names(submitter_name());
  facts.platform = platform_name(system);
  const bool closed =
      plan.rules.mlperf_equivalent && plan.departures.empty() && plan.division != "open";
  facts.division = closed ? "closed" : "open";
  const LogBenchmark benchmark = load_log_rules(plan.context.home, kLogRules).benchmark;
  const auto has = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), plan.rules.workload) != names.end();
  };
  const bool of_mlperf = has(benchmark.workloads) || has(benchmark.stand_ins);
  facts.benchmark = of_mlperf ? benchmark.name : plan.rules.workload;
  facts.workload = plan.rules.workload;
  facts.summary = plan.rules.summary;
  facts.rules_file = plan.rules.file;
  facts.precision = plan.context.precision;
  facts.mlperf_equivalent = plan.rules.mlperf_equivalent;
  facts.departures = plan.departures;
  facts.batch_size = plan.context.batch_size;
  facts.seed = plan.context.seeds.run;
  if (plan.rules.quality) facts.quality_metric = plan.rules.quality->metric;
  facts.quality_target = plan.quality_target;
  return facts;
}

TrainingLog::TrainingLog(const std::filesystem::path& path, const TrainingLogFacts& facts,
                         const Workload& workload, LogClock clock)
    : log_(path, std::move(clock)), workload_(workload), batch_size_(facts.batch_size) {
  log_submission(facts);
  log_.begin("init_start");
  log_.point("seed", facts.seed);
  log_disclosures(facts);
}

TrainingLog::TrainingLog(const std::filesystem::path& path, const WrittenLines& known,
                         std::int64_t last_ms, const Workload& workload, LogClock clock)
    : log_(path, known, last_ms, std::move(clock)),
      workload_(workload),
      cache_logged_(true),
      started_(true),
      stopped_(true) {}

TrainingLog::~TrainingLog() {
  if (!started_) log_.discard();
  try {
    stop(false);
  } catch (const std::exception&) {
    // The disk is full: the error that ended the run says so already.
  }
}

void TrainingLog::log_submission(const TrainingLogFacts& facts) {
  // The division goes first: it decides how long the initialisation may take.
  log_.point("submission_division", facts.division);
  log_.point("submission_benchmark", facts.benchmark);
  log_.point("submission_org", facts.organisation);
  log_.point("submission_platform", facts.platform);
  log_.point("harness_workload", facts.workload,
             {{"summary", without_key_names(facts.summary)},
              {"mlperf_equivalent", facts.mlperf_equivalent},
              {"departures", departures_json(facts.departures)},
              {"notice", kUnverifiedNotice}});
  log_.point("harness_version", version_line());
  log_.point("harness_quality_target", facts.quality_target ? json(*facts.quality_target) : json(),
             {{"metric", facts.quality_metric}});
}

// Asked for from ruleset 6.1 on. One process trains: nothing is split, and nothing communicated. No
// workload has attention.
void TrainingLog::log_disclosures(const TrainingLogFacts& facts) {
  log_.point("lowest_numerical_precision_in_linear", logged_precision(facts.precision));
  log_.point("lowest_numerical_precision_in_attn", "fp32", {{"note", "no attention"}});
  log_.point("lowest_numerical_precision_in_comm", "fp32", {{"note", "one process"}});
  for (const char* key : {"tensor_parallelism", "pipeline_parallelism", "context_parallelism",
                          "expert_parallelism"}) {
    log_.point(key, 1);
  }
  log_.point("micro_batch_size", facts.batch_size);
  log_.point("config_filename", facts.rules_file);
}

void TrainingLog::cache_cleared(bool complete, const std::string& reason) {
  if (cache_logged_) return;  // of a run that goes on, its first process has said it
  cache_logged_ = true;
  log_.point("cache_clear", complete, reason.empty() ? json::object() : json({{"reason", reason}}));
}

void TrainingLog::log_hyperparameters() {
  std::map<std::string, std::string> values = workload_.facts().hyperparameters;
  values.try_emplace("global_batch_size", std::to_string(batch_size_));
  values.try_emplace("gradient_accumulation_steps", "1");
  for (const char* key :
       {"global_batch_size", "gradient_accumulation_steps", "opt_name", "opt_base_learning_rate",
        "opt_weight_decay", "opt_learning_rate_warmup_epochs", "opt_learning_rate_warmup_factor"}) {
    const auto value = values.find(key);
    if (value != values.end()) log_.point(key, number_or_text(value->second));
  }
}

void TrainingLog::run_begin() {
  if (!cache_logged_) cache_cleared(false, "no data on disk to drop from memory");
  log_hyperparameters();
  log_.end("init_stop");
  log_.begin("run_start");
  started_ = true;
}

void TrainingLog::data_opened(std::int64_t train_samples, std::int64_t eval_samples) {
  log_.point("train_samples", train_samples);
  log_.point("eval_samples", eval_samples);
}

void TrainingLog::epoch_begin(std::int64_t epoch) {
  // A block is what is trained between two evaluations: here, one epoch.
  log_.begin("block_start", {{"first_epoch_num", epoch}, {"epoch_count", 1}});
  log_.begin("epoch_start", {{"epoch_num", epoch}});
}

void TrainingLog::epoch_end(std::int64_t epoch) {
  log_.end("epoch_stop", {{"epoch_num", epoch}});
  log_.end("block_stop", {{"first_epoch_num", epoch}, {"epoch_count", 1}});
}

void TrainingLog::evaluation_begin(std::int64_t epoch) {
  log_.begin("eval_start", {{"epoch_num", epoch}});
}

void TrainingLog::evaluated(const Quality& quality, const EvaluationPoint& at) {
  const json place = {{"epoch_num", at.epoch}, {"samples_count", at.samples}};
  // What is not a number has no form in JSON; such an evaluation reaches no target.
  if (quality.value) {
    log_.point("eval_accuracy", *quality.value, place);
  } else {
    log_.point("harness_no_quality", without_key_names(printable(quality.reason)), place);
  }
  log_.end("eval_stop", place);
}

void TrainingLog::resumed(const Resumption& where) {
  stopped_ = false;
  log_.point("harness_resumed", where.steps, {{"epoch_num", where.epoch}, {"at", where.at}});
}

void TrainingLog::run_end(bool target_reached) { stop(target_reached); }

void TrainingLog::finished() {
  stop(false);
  log_.sync();
}

void TrainingLog::stop(bool target_reached) {
  if (stopped_ || !started_) return;
  stopped_ = true;
  const json status = {{"status", target_reached ? "success" : "aborted"}};
  log_.end("run_stop", status);
}

}  // namespace harness
