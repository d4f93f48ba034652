// Reference convergence points: what they are made of, and what sets of runs are told. The test
// mlperf_logs asks MLPerf's own checker about the same.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "harness/mlperf/convergence_check.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sample_training_log.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

namespace fs = std::filesystem;
using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

const ConvergencePoints& standard() {
  static const ConvergencePoints points =
      load_convergence_points(home_folder(), standard_convergence_points(home_folder()));
  return points;
}

/// Runs with these epochs until the target; 0: missed it. A minute each epoch.
std::vector<LoggedRun> runs_of(double batch_size, const std::vector<double>& epochs) {
  std::vector<LoggedRun> runs;
  for (const double count : epochs) {
    LoggedRun run{
        "a.log", "retinanet", "", batch_size, count > 0, {}, 6e4 * (count > 0 ? count : 30)};
    if (run.converged) run.epochs = count;
    runs.push_back(run);
  }
  return runs;
}

ConvergenceCheck check(double batch_size, const std::vector<double>& epochs) {
  return check_convergence(standard(), runs_of(batch_size, epochs));
}

ErrorParts refusal(const std::vector<LoggedRun>& runs) {
  return refusal_of([&] { check_convergence(standard(), runs); }, ExitCode::kInvalid);
}

/// Points in a file, with the batch sizes and epochs of a reference.
fs::path points_file(const TemporaryFolder& folder,
                     const std::vector<std::pair<int, std::vector<double>>>& points) {
  json document = {{"ruleset", "training 5.1.0"},
                   {"summary", "made up"},
                   {"benchmark", "retinanet"},
                   {"runs", 5},
                   {"points", json::array()}};
  for (const auto& [size, epochs] : points) {
    document["points"].push_back({{"global_batch_size", size}, {"epochs", epochs}});
  }
  fs::path file = folder / "points.json";
  std::ofstream(file) << document;
  return file;
}

}  // namespace

TEST_CASE("points have mean, deviation and the fewest epochs that chance explains", "[mlperf]") {
  // Those of 512, 1024, 1280 and 2048 lie above the line between their neighbours.
  std::vector<double> sizes;
  for (const ConvergencePoint& point : standard().points) sizes.push_back(point.batch_size);
  CHECK(sizes == std::vector<double>{256, 320, 768, 2560, 4096});
  const ConvergencePoint at_320 = standard().points[1];
  CHECK(at_320.mean == Approx(74.0 / 18));
  CHECK(at_320.deviation == Approx(std::sqrt(0.1275)));
  CHECK(at_320.least == Approx(3.73).margin(0.005));
  CHECK(standard().points[3].least == Approx(8.07).margin(0.005));
  CHECK(standard().points[4].least == Approx(14.59).margin(0.005));
  // All the same: nothing is explained by chance.
  CHECK(standard().points[0].least == 4);
  CHECK(least_mean(1, 100, 3, 5) == 0);
  CHECK(least_mean(4, 1, 1, 3) == 4);
}

TEST_CASE("between two points is a straight line, outside is nothing", "[mlperf]") {
  const ConvergencePoint at_288 = point_at(standard(), 288).value();
  CHECK(at_288.mean == Approx((4 + 74.0 / 18) / 2));
  CHECK(at_288.deviation == Approx(std::sqrt(0.1275) / 2));
  CHECK(point_at(standard(), 256).value().mean == 4);
  CHECK(point_at(standard(), 4096).value().mean == Approx(15.1538).margin(1e-4));
  CHECK_FALSE(point_at(standard(), 255));
  CHECK_FALSE(point_at(standard(), 4097));
}

TEST_CASE("a set of runs is held against the reference's epochs", "[mlperf]") {
  using Outcome = ConvergenceOutcome;
  struct Case {
    double batch_size;
    std::vector<double> epochs;
    Outcome outcome;
  };
  for (const Case& one : std::vector<Case>{{320, {5, 5, 5, 5, 5}, Outcome::kAsReference},
                                           {320, {4, 4, 4, 4, 9}, Outcome::kWithinChance},
                                           {320, {3, 3, 3, 4, 4}, Outcome::kTooFast},
                                           {8, {9, 9, 9, 9, 9}, Outcome::kSmallBatch},
                                           {8, {3, 3, 3, 3, 3}, Outcome::kTooFastOfSmall},
                                           {5000, {20, 20, 20, 20, 20}, Outcome::kLargeBatch},
                                           {256, {4, 4, 4, 4, 0}, Outcome::kAsReference},
                                           {256, {4, 4, 4, 0, 0}, Outcome::kNotConverged}}) {
    const ConvergenceCheck found = check(one.batch_size, one.epochs);
    CAPTURE(one.batch_size, one.epochs, convergence_text(found));
    CHECK(found.outcome == one.outcome);
    CHECK(found.passed() ==
          (one.outcome == Outcome::kAsReference || one.outcome == Outcome::kWithinChance ||
           one.outcome == Outcome::kSmallBatch));
    CHECK(found.factor >= 1);
  }
  // The fewest and the most are dropped, and what is missing counts towards the score.
  CHECK(check(320, {4, 4, 4, 4, 9}).epochs == 4);
  CHECK(check(320, {4, 4, 4, 4, 9}).factor == Approx(74.0 / 18 / 4));
  CHECK(check(320, {5, 5, 5, 5, 5}).factor == 1);
}

TEST_CASE("logs that are no set are refused", "[mlperf]") {
  std::vector<LoggedRun> four = runs_of(256, {4, 4, 4, 4});
  CHECK(refusal(four).names("4"));
  std::vector<LoggedRun> sizes = runs_of(256, {4, 4, 4, 4, 4});
  sizes[2].batch_size = 512;
  CHECK(refusal(sizes).names("512"));
  sizes[2].batch_size.reset();
  CHECK(refusal(sizes).names("global_batch_size"));
  std::vector<LoggedRun> others = runs_of(256, {4, 4, 4, 4, 4});
  others[4].benchmark = "bert";
  CHECK(refusal(others).names("bert"));
  std::vector<LoggedRun> blank = runs_of(256, {4, 4, 4, 4, 4});
  for (const auto& epochs : {std::optional<double>(), std::optional<double>(0)}) {
    blank[1].epochs = epochs;
    CHECK(refusal(blank).names("epoch_num"));
  }
  for (const double size : {-1.0, 0.0, 0.5}) {
    CHECK(refusal(runs_of(size, {4, 4, 4, 4, 4})).names("global_batch_size"));
  }
}

TEST_CASE("a log tells of its run as a whole", "[mlperf]") {
  const auto run_of = [](const std::string& events) {
    return logged_run("a.log", parse_log(events, ":::MLLOG ", "a.log"));
  };
  const auto line = [](const char* key, const std::string& rest) {
    return ":::MLLOG {\"key\": \"" + std::string(key) + "\", " + rest + "}\n";
  };
  const std::string start = line("run_start", R"("value": null, "time_ms": "1000.5")");
  const std::string epoch = line("eval_accuracy", R"("metadata": {"epoch_num": 3.99961})");
  const std::string stop =
      line("run_stop", R"("metadata": {"status": "success"}, "time_ms": 61000.5)");
  const LoggedRun whole = run_of(line("submission_benchmark", R"("value": "retinanet")") +
                                 line("global_batch_size", R"("value": 8)") +
                                 line("global_batch_size", R"("value": 16)") + start + epoch +
                                 stop + line("eval_accuracy", R"("metadata": {"epoch_num": 9})"));
  CHECK(whole.benchmark == "retinanet");
  CHECK(whole.stand_in.empty());
  CHECK(run_of(line("harness_workload",
                    R"("value": "null", "metadata": {"mlperf_equivalent": false})"))
            .stand_in == "null");
  CHECK(whole.batch_size == 16);
  CHECK(whole.converged);
  CHECK(whole.epochs == 4);
  CHECK(whole.milliseconds == 60000);
  // What is missing, or of another type, is not there.
  const LoggedRun other = run_of(line("submission_benchmark", R"("value": 7)") +
                                 line("global_batch_size", R"("value": "16")") +
                                 line("eval_accuracy", R"("metadata": null)") + stop);
  CHECK(other.benchmark.empty());
  CHECK_FALSE(other.batch_size);
  CHECK(other.converged);
  CHECK_FALSE(other.epochs);
  CHECK_FALSE(other.milliseconds);
  const LoggedRun aborted =
      run_of(start + epoch + line("run_stop", R"("metadata": {"status": 1})"));
  CHECK_FALSE(aborted.converged);
  CHECK_FALSE(aborted.epochs);
  CHECK_FALSE(aborted.milliseconds);
}

TEST_CASE("a check of convergence says what is held against what", "[mlperf]") {
  const auto text = [](double batch_size, const std::vector<double>& epochs) {
    return convergence_text(check(batch_size, epochs));
  };
  CHECK_THAT(text(320, {4, 4, 4, 4, 9}), Catch::Contains("4.00 epochs") &&
                                             Catch::Contains("takes 4.11") &&
                                             Catch::EndsWith("multiplied by 1.0278"));
  std::vector<LoggedRun> of_null = runs_of(8, {9, 9, 9, 9, 9});
  of_null.front().stand_in = "null";
  CHECK_THAT(convergence_text(check_convergence(standard(), of_null)),
             Catch::Contains("the runs are of null"));
  CHECK_THAT(text(8, {9, 9, 9, 9, 9}), Catch::Contains("at its smallest, 256"));
  CHECK_THAT(text(5000, {20, 20, 20, 20, 20}), Catch::Contains("no batch so large"));
  CHECK_THAT(text(256, {4, 4, 0, 0, 0}), Catch::Contains("more than one run"));
}

TEST_CASE("the score drops the fastest and the slowest run", "[mlperf]") {
  CHECK(score_minutes(runs_of(8, {9, 8, 10, 9, 12}), 1).value() == Approx(28.0 / 3));
  CHECK(score_minutes(runs_of(8, {9, 8, 10, 9, 12}), 1.5).value() == Approx(14));
  // One that missed its target is the slowest, however long it took.
  CHECK(score_minutes(runs_of(8, {9, 8, 10, 9, 0}), 1).value() == Approx(28.0 / 3));
  CHECK_FALSE(score_minutes(runs_of(8, {9, 8, 10, 0, 0}), 1));
  std::vector<LoggedRun> untimed = runs_of(8, {9, 8, 10, 9, 12});
  untimed[0].milliseconds.reset();
  CHECK_FALSE(score_minutes(untimed, 1));
}

TEST_CASE("files of points are bounded and have each size once", "[mlperf]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::pair<int, std::vector<double>>>& points) {
    return refusal_of([&] { load_convergence_points(home_folder(), points_file(folder, points)); });
  };
  CHECK(refused({{8, {3, 4, 5}}, {8, {3, 4, 5}}}).names("twice"));
  CHECK(refused({{8, {3, 4}}}).place() == "/points/0/epochs");
  CHECK(refused({{0, {3, 4, 5}}}).place() == "/points/0/global_batch_size");
  CHECK(refused({}).place() == "/points");
  // In any order; those of a smaller batch that take longer are left out.
  const ConvergencePoints kept = load_convergence_points(
      home_folder(), points_file(folder, {{16, {5, 5, 5}}, {64, {9, 9, 9}}, {8, {7, 7, 7}}}));
  REQUIRE(kept.points.size() == 2);
  CHECK(kept.points[0].batch_size == 16);
}

TEST_CASE("check-log --rcp judges five logs as a set", "[mlperf][cli]") {
  const TemporaryFolder folder;
  const auto command = [&](int epochs, std::vector<std::string> options) {
    options.insert(options.begin(), {"check-log", "--rcp"});
    for (int i = 0; i < 5; ++i) {
      const fs::path file = folder / (std::to_string(epochs) + "-" + std::to_string(i) + ".log");
      ScriptedTraining training;
      training.qualities.assign(static_cast<std::size_t>(epochs), 0.25);
      training.qualities.back() = 0.36;
      fs::remove(file);
      TrainingLog log(file, closed_facts(), training, ticking_clock());
      train_to_target(training, log, 0.34, epochs);
      options.push_back(file.string());
    }
    return options;
  };
  const Outcome passed = run_harness(command(4, {}));
  CAPTURE(passed.out, passed.err);
  CHECK(passed.code == 0);
  CHECK_THAT(passed.out, Catch::Contains("5 runs pass MLPerf's check of convergence"));
  const Outcome failed = run_harness(command(3, {"--json"}));
  CHECK(failed.code == 3);
  const json set = json::parse(failed.out).at("convergence");
  CHECK(set.at("verdict") == "failed");
  CHECK(set.at("global_batch_size") == 16);
  CHECK(set.at("epochs") == 3);
  CHECK(set.at("reference_epochs") == 4);
  // Points of one's own.
  const fs::path own = points_file(folder, {{16, {3, 3, 3}}});
  CHECK(run_harness(command(3, {"--rcp-file", own.string()})).code == 0);
  std::vector<std::string> four = command(4, {});
  four.pop_back();
  const Outcome refused = run_harness(four);
  CHECK(refused.code == 3);
  CHECK_THAT(refused.err, Catch::StartsWith("harness: check of convergence: 4 logs given"));
  check_one_error(run_harness({"check-log", "--rcp", four.back(), four.back()}), 1,
                  "is given twice");
  // Each log was judged all the same.
  four.insert(four.begin() + 1, "--json");
  const json answer = json::parse(run_harness(four).out);
  CHECK(answer.at("logs").size() == 4);
  CHECK(answer.at("convergence").at("verdict") == "no set");
}

TEST_CASE("check-log --rcp says that a set with an unreadable log was not judged",
          "[mlperf][cli]") {
  const TemporaryFolder folder;
  const Outcome text = run_harness({"check-log", "--rcp", (folder / "none.log").string()});
  CHECK(text.code == 1);
  CHECK_THAT(text.err, HasLines({"harness: " + (folder / "none.log").string() + ": *",
                                 "harness: check of convergence: not judged: *"}));
  const json answer = json::parse(
      run_harness({"check-log", "--rcp", "--json", (folder / "none.log").string()}).out);
  CHECK(answer.at("logs").at(0).at("verdict") == "unreadable");
  CHECK(answer.at("convergence").at("verdict") == "no set");
}
