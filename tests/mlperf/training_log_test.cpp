#include "harness/mlperf/training_log.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/mlperf/log_check.hpp"
#include "harness/workload/registry.hpp"
#include "tests/support/sample_training_log.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using Json = nlohmann::ordered_json;

namespace {

LogCheck check_of(const std::filesystem::path& file) {
  const LogRules rules = load_log_rules(home_folder(), "mlperf-training-5.1.0");
  return check_log(rules, read_log(file, rules.prefix));
}

std::vector<std::string> keys(const std::vector<Json>& events) {
  std::vector<std::string> keys;
  for (const Json& event : events) keys.push_back(event.at("key"));
  return keys;
}

const Json& event_of(const std::vector<Json>& events, const std::string& key) {
  const auto found =
      std::find_if(events.begin(), events.end(), [&](const Json& e) { return e["key"] == key; });
  if (found == events.end()) throw std::runtime_error("no event " + key);
  return *found;
}

Json value_of(const std::vector<Json>& events, const std::string& key) {
  return event_of(events, key).at("value");
}

/// The plan of a run of the null workload with these settings.
RunPlan null_plan(const std::vector<std::string>& settings) {
  RunRequest request;
  request["workload"] = "null";
  request["batch_size"] = 4;
  request["set"] = settings;
  return make_plan(request, home_folder());
}

}  // namespace

TEST_CASE("a run to a target logs MLPerf's events in MLPerf's order", "[mlperf]") {
  const std::vector<Json> events = sample_training_log(closed_facts());
  const std::vector<std::string> expected = {
      "submission_division", "submission_benchmark", "submission_org", "submission_platform",
      "harness_workload", "harness_version", "harness_quality_target", "init_start", "seed",
      "lowest_numerical_precision_in_linear", "lowest_numerical_precision_in_attn",
      "lowest_numerical_precision_in_comm", "tensor_parallelism", "pipeline_parallelism",
      "context_parallelism", "expert_parallelism", "micro_batch_size", "config_filename",
      "cache_clear", "global_batch_size", "gradient_accumulation_steps", "opt_name",
      "opt_base_learning_rate", "opt_weight_decay", "opt_learning_rate_warmup_epochs",
      "opt_learning_rate_warmup_factor", "init_stop", "run_start", "train_samples", "eval_samples",
      // epoch 1
      "block_start", "epoch_start", "epoch_stop", "block_stop", "eval_start", "eval_accuracy",
      "eval_stop",
      // epoch 2
      "block_start", "epoch_start", "epoch_stop", "block_stop", "eval_start", "eval_accuracy",
      "eval_stop", "run_stop"};
  CHECK(keys(events) == expected);
  CHECK(value_of(events, "submission_benchmark") == "retinanet");
  CHECK(value_of(events, "seed") == 7);
  CHECK(value_of(events, "global_batch_size") == 16);
  CHECK(value_of(events, "opt_base_learning_rate") == 1e-4);
  CHECK(value_of(events, "opt_weight_decay") == 0);
  CHECK(value_of(events, "lowest_numerical_precision_in_linear") == "bfloat16");
  CHECK(value_of(events, "train_samples") == 1170301);
  CHECK(value_of(events, "eval_accuracy") == 0.25);
  CHECK(event_of(events, "epoch_start").at("metadata").at("epoch_num") == 1);
  CHECK(events.at(events.size() - 3).at("metadata").at("epoch_num") == 2);
  CHECK(events.at(events.size() - 3).at("metadata").at("samples_count") == 32);
  CHECK(events.back().at("metadata").at("status") == "success");
}

TEST_CASE("every line of a log has the form of MLPerf's own", "[mlperf]") {
  const std::vector<Json> events = sample_training_log(closed_facts());
  std::int64_t before = 0;
  for (const Json& event : events) {
    INFO(event);
    std::vector<std::string> members;
    for (const auto& [name, member] : event.items()) members.push_back(name);
    CHECK(members == std::vector<std::string>{"namespace", "time_ms", "event_type", "key", "value",
                                              "metadata"});
    CHECK(event.at("time_ms").is_number_integer());
    CHECK(event.at("time_ms") > before);
    before = event.at("time_ms");
    CHECK(event.at("metadata").at("file") == "harness/mlperf/training_log.cpp");
    CHECK(event.at("metadata").at("lineno") > 1);
    const std::string key = event.at("key");
    CHECK(event.at("event_type") == (key.ends_with("_start")  ? "INTERVAL_START"
                                     : key.ends_with("_stop") ? "INTERVAL_END"
                                                              : "POINT_IN_TIME"));
  }
  CHECK(event_of(events, "epoch_start").at("metadata").at("lineno") !=
        event_of(events, "epoch_stop").at("metadata").at("lineno"));
}

TEST_CASE("what others have written stays ASCII and hides no key", "[mlperf]") {
  TrainingLogFacts facts = closed_facts();
  facts.division = "open";
  facts.platform = "Proze\xc3\x9for \xff\n\x01";
  facts.departures = {{"/hyperparameters/global_batch_size", "16", "eval_accuracy train_samples"}};
  const TemporaryFolder folder;
  ScriptedTraining workload;
  const TrainingLog log(folder / "run.log", facts, workload, ticking_clock());
  std::set<std::string> lines_naming;
  for (const std::string& line : text_lines(folder / "run.log")) {
    CHECK(std::all_of(line.begin(), line.end(), [](char c) { return c >= ' ' && c <= '~'; }));
    for (const char* name : {"global_batch_size", "eval_accuracy", "train_samples"}) {
      CHECK(line.find(name) == std::string::npos);
    }
  }
  const std::vector<Json> events = log_events(folder / "run.log");
  const Json& departure =
      event_of(events, "harness_workload").at("metadata").at("departures").at(0);
  CHECK(departure.at("path") == "/hyperparameters/global-batch-size");
}

TEST_CASE("a log is written line by line into a file of its own", "[mlperf]") {
  const TemporaryFolder folder;
  ScriptedTraining workload;
  TrainingLog log(folder / "run.log", closed_facts(), workload, ticking_clock());
  const std::size_t initialised = text_lines(folder / "run.log").size();
  CHECK(initialised > 10);
  log.epoch_begin(1);
  CHECK(text_lines(folder / "run.log").size() == initialised + 2);
  CHECK_THROWS_WITH(TrainingLog(folder / "run.log", closed_facts(), workload),
                    Catch::Contains("cannot create it"));
  CHECK(text_lines(folder / "run.log").size() == initialised + 2);
}

TEST_CASE("a run that does not reach its target ends its log as aborted", "[mlperf]") {
  const TemporaryFolder folder;
  const auto last = [&] { return log_events(folder / "run.log").back(); };
  ScriptedTraining workload;
  SECTION("after its last epoch") {
    workload.qualities = {0.1, 0.2, 0.3};
    TrainingLog log(folder / "run.log", closed_facts(), workload, ticking_clock());
    train_to_target(workload, log, 0.34, 3);
  }
  SECTION("by an error while training") {
    workload.qualities = {0.1};
    TrainingLog log(folder / "run.log", closed_facts(), workload, ticking_clock());
    CHECK_THROWS(train_to_target(workload, log, 0.34, 3));
  }
  SECTION("when it is told once that it is over") {
    TrainingLog log(folder / "run.log", closed_facts(), workload, ticking_clock());
    log.run_begin();
    log.finished();
    log.run_end(true);
  }
  CHECK(last().at("key") == "run_stop");
  CHECK(last().at("metadata").at("status") == "aborted");
  const std::vector<std::string> all = keys(log_events(folder / "run.log"));
  CHECK(std::count(all.begin(), all.end(), "run_stop") == 1);
}

TEST_CASE("a run that ends before its clock starts leaves no log", "[mlperf]") {
  const TemporaryFolder folder;
  ScriptedTraining workload;
  {
    const TrainingLog log(folder / "run.log", closed_facts(), workload, ticking_clock());
    CHECK(std::filesystem::exists(folder / "run.log"));
  }
  CHECK_FALSE(std::filesystem::exists(folder / "run.log"));
}

TEST_CASE("a quality that is no number leaves no accuracy in the log", "[mlperf]") {
  const TemporaryFolder folder;
  ScriptedTraining workload;
  TrainingLog log(folder / "run.log", closed_facts(), workload, ticking_clock());
  log.run_begin();
  log.evaluation_begin(1);
  log.evaluated({"mAP", Direction::kHigher, std::nullopt, "not a number", {}}, {1, 16});
  const std::vector<std::string> all = keys(log_events(folder / "run.log"));
  CHECK(std::count(all.begin(), all.end(), "eval_accuracy") == 0);
  CHECK(all.back() == "eval_stop");
}

TEST_CASE("the null workload trains through its script of qualities", "[mlperf]") {
  RunPlan plan = null_plan({"step-ms=0", "quality=0.1,0.3,0.7"});
  const TemporaryFolder folder;
  const std::unique_ptr<Workload> workload = plan.workload->create();
  const TrainingLogFacts facts =
      training_log_facts(plan, {{"cpu", {{"model_name", "a processor"}}}});
  CHECK(facts.benchmark == "retinanet");
  CHECK(facts.division == "open");
  // What MLPerf has no benchmark of has a name of its own.
  RunPlan other = null_plan({});
  other.rules.workload = "segment-train";
  CHECK(training_log_facts(other, nlohmann::json::object()).benchmark == "segment-train");
  CHECK(facts.platform == "a processor");
  CHECK(training_log_facts(plan, nlohmann::json::object()).platform == "unknown");
  {
    TrainingLog log(folder / "run.log", facts, *workload);
    workload->prepare(plan.context);
    train_to_target(demand<Trains>(*workload, "null"), log, plan.quality_target.value_or(1), 10);
  }
  const std::vector<Json> events = log_events(folder / "run.log");
  CHECK(event_of(events, "harness_workload").at("value") == "null");
  CHECK(event_of(events, "harness_workload").at("metadata").at("mlperf_equivalent") == false);
  CHECK(value_of(events, "global_batch_size") == 4);
  CHECK(events.back().at("metadata").at("status") == "success");
  CHECK(events.at(events.size() - 2).at("metadata").at("epoch_num") == 3);
  const LogCheck check = check_of(folder / "run.log");
  CHECK(check.passed());
  CHECK(check.notes.empty());
  CHECK(check.groups ==
        std::vector<std::string>{"every log", "a division's benchmark", "open retinanet"});
}

TEST_CASE("only what is MLPerf's own in everything is logged as closed", "[mlperf]") {
  RunPlan plan = null_plan({});
  const auto division = [&] { return training_log_facts(plan, nlohmann::json::object()).division; };
  CHECK(division() == "open");
  plan.rules.mlperf_equivalent = true;
  CHECK(division() == "open");  // by the batch size, which the rules' tiers set otherwise
  plan.departures.clear();
  CHECK(division() == "closed");
  plan.division = "open";
  CHECK(division() == "open");
  plan.division = "closed";
  plan.departures = {{"/settings/effective/precision", "fp32", "bf16"}};
  CHECK(division() == "open");
}

TEST_CASE("the log's clock starts from the wall's and never goes back", "[mlperf]") {
  const auto wall = [] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  };
  const std::int64_t before = wall();
  const LogClock clock = steady_log_clock();
  const std::int64_t first = clock();
  CHECK(first >= before);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  CHECK(clock() - first >= 20);
  CHECK(clock() <= wall() + 1000);
}
