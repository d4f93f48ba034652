// Runs and trainings that somebody altered by hand or by mistake, whole digest and all: whatever
// follows from other fields is derived again, and the field that does not fit is named.
#include "tests/support/forged.hpp"

#include "harness/base/text.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

// Peaks that agree, whatever the machine that runs the test is busy with.
void give_peaks(json& run) {
  const std::vector<double> bursts = {1.0e12, 1.01e12, 0.99e12, 1.0e12, 1.02e12, 0.98e12};
  const Interval value = median_interval(bursts);
  json peak = run["peaks"][0];
  peak.erase("reason");
  peak["samples"] = bursts;
  peak["value"] = {{"center", value.center},
                   {"low", *value.low},
                   {"high", *value.high},
                   {"confidence", value.confidence}};
  peak["bound"] = 1.02e12;
  run["peaks"][0] = peak;
  json& cost = run["cost"];
  cost["utilisation"] = cost["achieved_flops_per_second"].get<double>() / 1.02e12;
  cost.erase("missing");
}

json honest_run() {
  json run = measured({"run", "--workload", "null", "--set", "flops=1000", "--set", "step-ms=10",
                       "--batch-size", "4"});
  give_peaks(run);
  return run;
}

json honest_training() {
  return measured({"run", "--workload", "null", "--tier", "training", "--runs", "1", "--set",
                   "quality=0.1,0.2,0.7", "--set", "step-ms=1", "--division", "open"});
}

double value_at(json& document, const std::string& tag, std::size_t place) {
  return metric_of(document, tag)["samples"][place]["value"].get<double>();
}

/// Everything `factor` times as fast, each number as it then would be.
void speed_up(json& run, double factor) {
  for (const char* tag : {"time.step", "time.phase.work", "time.phase.other"}) {
    rewrite(run, tag, [&](std::size_t, double value) { return value / factor; });
  }
  rewrite(run, "throughput.samples", [&](std::size_t, double value) { return value * factor; });
  for (const char* key : {"achieved_flops_per_second", "utilisation"}) {
    run["cost"][key] = run["cost"][key].get<double>() * factor;
  }
}

void leave_step_out(json& run, std::size_t place) {
  for (json& metric : run["metrics"]) {
    metric["samples"].erase(place);
    rewrite(run, metric["tag"], [](std::size_t, double value) { return value; });
  }
  const double median = metric_of(run, "time.step")["summary"]["median"]["center"];
  run["cost"]["achieved_flops_per_second"] = run["cost"]["step_flops"].get<double>() / median;
  run["cost"]["utilisation"] = run["cost"]["achieved_flops_per_second"].get<double>() / 1.02e12;
}

}  // namespace

TEST_CASE("forged runs are refused, each at the field that does not fit", "[forged][long]") {
  refuse_all(
      honest_run(),
      {
          {"a metric's tag twice",
           [](json& d) {
             d["metrics"].push_back(d["metrics"][0]);
             d["metrics"].back()["unit"] = "s";
           },
           "/metrics/5/tag"},
          {"a unit that is not the tag's",
           [](json& d) { metric_of(d, "time.step")["unit"] = "ms"; }, "/metrics/{time.step}/unit"},
          {"larger is better of a time",
           [](json& d) { metric_of(d, "time.step")["direction"] = "higher"; },
           "/metrics/{time.step}/direction"},
          {"smaller is better of a throughput",
           [](json& d) { metric_of(d, "throughput.samples")["direction"] = "lower"; },
           "/metrics/{throughput.samples}/direction"},
          {"smaller is better of a loss",
           [](json& d) { metric_of(d, "loss.total")["direction"] = "lower"; },
           "/metrics/{loss.total}/direction"},
          {"a phase longer than its step",
           [](json& d) {
             const double step = value_at(d, "time.step", 5);
             rewrite(d, "time.phase.work", 5, 2 * step);
             rewrite(d, "time.phase.other", 5, -step);
           },
           "/metrics/{time.phase.work}/samples/5/value"},
          {"phases that do not add up to their step",
           [](json& d) { rewrite(d, "time.phase.work", 5, 0.001); },
           "/metrics/{time.phase.other}/samples/5/value"},
          {"a phase of a step that nobody timed",
           [](json& d) { metric_of(d, "time.phase.work")["samples"][21]["step"] = 23; },
           "/metrics/{time.phase.work}/samples/21/step"},
          {"a step faster than its phases", [](json& d) { rewrite(d, "time.step", 7, 0.001); },
           "/metrics/{time.phase.work}/samples/7/value"},
          {"a step of no time", [](json& d) { rewrite(d, "time.step", 7, 0); },
           "/metrics/{time.step}/samples/7/value"},
          {"a warning left out",
           [](json& d) {
             rewrite(d, "time.step", [](std::size_t i, double value) { return value * (i + 1.0); });
             metric_of(d, "time.step")["warnings"] = json::array();
           },
           "/metrics/{time.step}/warnings"},
          {"a step of less than no time", [](json& d) { rewrite(d, "time.step", 7, -1); },
           "/metrics/{time.step}/samples/7/value"},
          {"throughput that is not batch over step",
           [](json& d) { rewrite(d, "throughput.samples", 9, 1234.5); },
           "/metrics/{throughput.samples}/samples/9/value"},
          {"throughput of twice the batch",
           [](json& d) {
             rewrite(d, "throughput.samples", [](std::size_t, double v) { return 2 * v; });
           },
           "/metrics/{throughput.samples}/samples/0/value"},
          {"steps that take longer than the run", [](json& d) { speed_up(d, 1e-3); },
           "/identity/ended_at"},
          {"a run that ended too early for its steps",
           [](json& d) {
             d["identity"]["ended_at"] = d["identity"]["started_at"];
             d["environment"]["after"]["monotonic_seconds"] =
                 d["environment"]["before"]["monotonic_seconds"];
           },
           "/identity/ended_at"},
          {"an end ahead of the clock",
           [](json& d) { d["identity"]["ended_at"] = "2199-01-01T00:00:00.000Z"; },
           "/identity/ended_at"},
          {"a start ahead of the clock",
           [](json& d) {
             d["identity"]["started_at"] = "2199-01-01T00:00:00.000Z";
             d["identity"]["ended_at"] = "2199-01-01T00:01:00.000Z";
           },
           "/identity/started_at"},
          {"no date at all",
           [](json& d) { d["identity"]["started_at"] = "2026-02-31T00:00:00.000Z"; },
           "/identity/started_at"},
          {"the slowest step left out", [](json& d) { leave_step_out(d, 12); }, "/metrics"},
          {"a step twice", [](json& d) { metric_of(d, "time.step")["samples"][9]["step"] = 9; },
           "/metrics/{time.step}/samples/9/step"},
          {"more warm-up than there was",
           [](json& d) { metric_of(d, "time.step")["samples"][2]["warmup"] = true; },
           "/metrics/{time.step}/samples/2/warmup"},
          {"a p90 of too few samples",
           [](json& d) { metric_of(d, "time.step")["summary"]["p90"] = 0.01; },
           "/metrics/{time.step}/summary/p90"},
          {"a peak twice", [](json& d) { d["peaks"].push_back(d["peaks"][0]); }, "/peaks/5/tag"},
          {"a peak in another unit", [](json& d) { d["peaks"][0]["unit"] = "B/s"; },
           "/peaks/0/unit"},
          {"a peak of bursts that do not agree",
           [](json& d) { d["peaks"][0]["samples"] = {1, 2, 1, 2, 1, 2}; }, "/peaks/0/samples"},
          {"a bound that no burst reached", [](json& d) { d["peaks"][0]["bound"] = 1.5e12; },
           "/peaks/0/bound"},
          {"a share of a bound that is not told", [](json& d) { d["peaks"][0].erase("bound"); },
           "/cost/utilisation"},
          {"a share of the usual state, which is not the bound",
           [](json& d) {
             d["cost"]["utilisation"] = d["cost"]["utilisation"].get<double>() * 1.02;
           },
           "/cost/utilisation"},
          {"no utilisation, although there is a peak",
           [](json& d) {
             d["cost"]["utilisation"] = nullptr;
             d["cost"]["missing"]["utilisation"] = "not today";
           },
           "/cost/utilisation"},
          {"no FLOPs per second, although there are FLOPs",
           [](json& d) {
             for (const char* key : {"achieved_flops_per_second", "utilisation"}) {
               d["cost"][key] = nullptr;
               d["cost"]["missing"][key] = "not today";
             }
           },
           "/cost/achieved_flops_per_second"},
          {"a forward pass of more FLOPs than the step",
           [](json& d) { d["cost"]["forward_flops"] = 1e6; }, "/cost/forward_flops"},
          {"a target that nobody was set", [](json& d) { d["quality"]["target"] = 0.1; },
           "/quality/target"},
          {"a quality below its target", [](json& d) { d["quality"]["value"] = 0.1; },
           "/quality/passed"},
          {"a target that was met earlier", [](json& d) { d["quality"]["reached_at_step"] = 1; },
           "/quality/reached_at_step"},
          {"another seed than was used", [](json& d) { d["seeds"]["run"] = 7; }, "/seeds/run"},
          {"another batch than was asked for",
           [](json& d) { d["settings"]["effective"]["batch_size"] = 8; },
           "/settings/effective/batch_size"},
          {"a run beyond its series", [](json& d) { d["identity"]["run_index"] = 2; },
           "/identity/run_index"},
          {"a check whose error is nothing, although it differs",
           [](json& d) {
             d["quality"]["checks"] = {{{"name", "loss"},
                                        {"expected", "1"},
                                        {"actual", "2"},
                                        {"error", 0},
                                        {"tolerance", 1},
                                        {"passed", true}}};
           },
           "/quality/checks/0/error"},
      });
}

TEST_CASE("forged trainings are refused, each at the field that does not fit", "[forged]") {
  refuse_all(
      honest_training(),
      {
          {"less time than the epochs took",
           [](json& d) {
             d["training"]["seconds"] = 0.001;
             rewrite(d, "time.to-quality", 0, 0.001);
           },
           "/training/seconds"},
          {"another time to the target", [](json& d) { rewrite(d, "time.to-quality", 0, 0.001); },
           "/training/seconds"},
          {"an epoch shorter than its steps", [](json& d) { rewrite(d, "time.epoch", 1, 1e-4); },
           "/metrics/{time.epoch}/samples/1/value"},
          {"a clock behind its epochs", [](json& d) { rewrite(d, "time.elapsed", 2, 1e-4); },
           "/metrics/{time.elapsed}/samples/2/value"},
          {"fewer samples than the steps consumed", [](json& d) { d["training"]["samples"] = 15; },
           "/training/samples"},
          {"steps that fill no epoch",
           [](json& d) {
             d["training"]["steps"] = 29;
             d["training"]["samples"] = 29;
             d["quality"]["reached_at_step"] = 29;
           },
           "/training/steps"},
          {"a quality that is not the last epoch's", [](json& d) { d["quality"]["value"] = 0.9; },
           "/quality/value"},
          {"an epoch before the last that reached the target",
           [](json& d) { rewrite(d, "quality.scripted-quality", 0, 0.6); },
           "/metrics/{quality.scripted-quality}/samples/0/value"},
          {"another direction than the quality's",
           [](json& d) { metric_of(d, "quality.scripted-quality")["direction"] = "lower"; },
           "/metrics/{quality.scripted-quality}/direction"},
          {"an epoch that was not trained",
           [](json& d) { metric_of(d, "loss.total")["samples"][2]["step"] = 4; },
           "/metrics/{loss.total}/samples/2/step"},
          {"an interruption after the end",
           [](json& d) {
             d["training"]["resumed"] = {
                 {{"epoch", 2}, {"steps", 99}, {"at", d["identity"]["ended_at"]}}};
           },
           "/training/resumed/0/steps"},
          {"a target that was reached and is said not to be",
           [](json& d) { d["training"]["target_reached"] = false; }, "/training/target_reached"},
      });
}

TEST_CASE("before 1.7.0 a median has bounds, which have to be right", "[forged]") {
  json old = honest_run();
  old["schema_version"] = "1.6.0";
  for (json& object : old["metrics"]) {
    const Interval median = median_interval(summarised_values(metric_from_json(object)));
    object["summary"].erase("quartiles");
    object["summary"]["median"] = {{"center", median.center},
                                   {"low", *median.low},
                                   {"high", *median.high},
                                   {"confidence", median.confidence}};
  }
  const CheckedFile checked = judged(old);
  INFO(listed(checked));
  CHECK(checked.report.code == ExitCode::kOk);
  refuse_changes(old, {"/metrics/*/summary/median/low", "/metrics/*/summary/median/high",
                       "/metrics/*/summary/median/confidence"});
  // Read again, they tell the spread.
  const Metric step = metric_from_json(metric_of(old, "time.step"));
  REQUIRE(step.summary.quartiles);
  CHECK(step.summary.quartiles->low == quartiles(summarised_values(step)).low);
}

TEST_CASE("before 1.6.0 a utilisation is a share of the median, and stays valid", "[forged]") {
  json old = honest_run();
  old["schema_version"] = "1.5.0";
  old["peaks"][0].erase("bound");
  json& utilisation = old["cost"]["utilisation"];
  utilisation = utilisation.get<double>() * 1.02;
  const CheckedFile checked = judged(old);
  INFO(listed(checked));
  CHECK(checked.report.code == ExitCode::kOk);
  utilisation = utilisation.get<double>() / 1.02;
  CHECK(judged(old).report.code == ExitCode::kInvalid);
}

TEST_CASE("no derived number of a run or a training can be altered alone", "[forged]") {
  const std::vector<std::string> summaries = {
      "/metrics/*/summary/n", "/metrics/*/summary/min", "/metrics/*/summary/max",
      "/metrics/*/summary/median/center", "/metrics/*/samples/*/warmup"};
  json run = honest_run();
  refuse_changes(run, summaries);
  refuse_changes(run, {"/metrics/*/summary/quartiles/low", "/metrics/*/summary/quartiles/high",
                       "/metrics/*/summary/median/confidence", "/peaks/0/value/center",
                       "/peaks/0/value/low", "/peaks/0/value/high", "/peaks/0/value/confidence",
                       "/peaks/0/bound", "/cost/achieved_flops_per_second", "/cost/utilisation",
                       "/quality/passed", "/quality/target", "/quality/reached_at_step",
                       "/seeds/run", "/status/mistrusted", "/identity/run_index"});
  const json training = honest_training();
  refuse_changes(training, summaries);
  refuse_changes(training, {"/training/epochs", "/training/max_epochs", "/training/steps",
                            "/training/samples", "/training/seconds", "/training/target_reached",
                            "/quality/value", "/quality/passed", "/quality/reached_at_step"});
}
