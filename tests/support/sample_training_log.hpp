// A training run without a model, and its log: what a loop over epochs tells the observers.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/mlperf/training_log.hpp"
#include "harness/workload/capabilities.hpp"
#include "tests/support/temporary_folder.hpp"

namespace harness {

/// Reaches the quality of each epoch in turn, and claims MLPerf's hyperparameters.
class ScriptedTraining : public Workload, public Steps {
 public:
  Description describe(const WorkloadContext&) const override { return {}; }
  void prepare(const WorkloadContext&) override {}
  StepStats step() override { return {16, {{"total", 1.0}}}; }
  Quality evaluate() override {
    return {"mAP", Direction::kHigher, qualities.at(evaluations++), "", {}};
  }
  WorkloadFacts facts() const override {
    return {.hyperparameters = {{"opt_name", "adam"},
                                {"opt_base_learning_rate", "1e-4"},
                                {"opt_weight_decay", "0"},
                                {"opt_learning_rate_warmup_epochs", "1"},
                                {"opt_learning_rate_warmup_factor", "0.001"},
                                {"frozen", "stem"}}};
  }

  std::vector<double> qualities = {0.25, 0.36};
  std::size_t evaluations = 0;
};

/// Facts of a run that is MLPerf's own in everything.
inline TrainingLogFacts closed_facts() {
  TrainingLogFacts facts;
  facts.organisation = "somebody";
  facts.platform = "a machine";
  facts.division = "closed";
  facts.benchmark = "retinanet";
  facts.workload = "retinanet-train";
  facts.summary = "RetinaNet to a target";
  facts.rules_file = "rules/retinanet-train.json";
  facts.precision = "bf16";
  facts.mlperf_equivalent = true;
  facts.batch_size = 16;
  facts.seed = 7;
  facts.quality_metric = "mAP";
  facts.quality_target = 0.34;
  return facts;
}

/// Trains `workload` as a loop to a target does: one step an epoch, an evaluation after each, until
/// the target is reached or `epochs` are over.
inline void train_to_target(Steps& workload, Observer& observer, double target,
                            std::int64_t epochs) {
  std::int64_t samples = 0;
  observer.cache_cleared(true, "");
  observer.run_begin();
  observer.data_opened(1170301, 24781);
  bool reached = false;
  for (std::int64_t epoch = 1; epoch <= epochs && !reached; ++epoch) {
    observer.epoch_begin(epoch);
    samples += workload.step().samples;
    observer.epoch_end(epoch);
    observer.evaluation_begin(epoch);
    const Quality quality = workload.evaluate();
    observer.evaluated(quality, {epoch, samples});
    reached = quality.value && *quality.value >= target;
  }
  observer.run_end(reached);
  observer.finished();
}

/// A clock that goes on by a second with each look.
inline LogClock ticking_clock() {
  return [now = std::int64_t{1'700'000'000'000}]() mutable { return now += 1000; };
}

inline std::vector<std::string> text_lines(const std::filesystem::path& file) {
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The events of a log file, in the order of their members.
inline std::vector<nlohmann::ordered_json> log_events(const std::filesystem::path& file) {
  const std::string token = ":::MLLOG ";
  std::vector<nlohmann::ordered_json> events;
  for (const std::string& line : text_lines(file)) {
    REQUIRE(line.starts_with(token));
    events.push_back(nlohmann::ordered_json::parse(line.substr(token.size())));
  }
  return events;
}

/// The log of a run with `facts` that reaches MLPerf's target in its second epoch.
inline std::vector<nlohmann::ordered_json> sample_training_log(const TrainingLogFacts& facts) {
  const TemporaryFolder folder;
  ScriptedTraining workload;
  {
    TrainingLog log(folder / "run.log", facts, workload, ticking_clock());
    train_to_target(workload, log, 0.34, 5);
  }
  return log_events(folder / "run.log");
}

}  // namespace harness
