// Series side by side: statistics of unpaired sides, what is refused, what the text says.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

#include "harness/compare/comparison.hpp"
#include "harness/compare/convergence.hpp"
#include "harness/report/text/comparison_text.hpp"
#include "harness/stats/stats.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sample_result.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// A run whose quality went along `curve`, a hundred seconds an epoch.
Result trained(const std::vector<double>& curve, double step_seconds = 0.5) {
  Result run = sample_result();
  static int runs = 0;
  run.identity.uuid = std::to_string(++runs);
  run.identity.series_id = run.identity.uuid;
  run.identity.started_at = start_of_hour(runs);
  run.seeds.run = static_cast<std::uint32_t>(runs);
  std::vector<double> elapsed;
  for (std::size_t i = 1; i <= curve.size(); ++i) elapsed.push_back(100.0 * static_cast<double>(i));
  run.metrics = {
      sample_metric("time.step", "s", std::vector<double>(curve.size(), step_seconds), 0),
      sample_metric("time.epoch", "s", std::vector<double>(curve.size(), 90), 0),
      sample_metric("time.evaluation", "s", std::vector<double>(curve.size(), 10), 0),
      sample_metric("time.elapsed", "s", elapsed, 0), sample_metric("quality.mAP", "1", curve, 0)};
  for (Metric& metric : run.metrics) {
    if (metric.tag == "quality.mAP") metric.direction = Direction::kHigher;
  }
  run.quality->quality.metric = "mAP";
  run.quality->quality.value = curve.back();
  run.quality->target = 0.5;
  run.training = TrainingReport{};
  run.training->epochs = static_cast<std::int64_t>(curve.size());
  run.training->max_epochs = run.training->epochs;
  return run;
}

Side series(const std::string& name, const std::vector<std::vector<double>>& curves,
            double step_seconds = 0.5) {
  Side side{name, {}};
  for (const auto& curve : curves) side.runs.push_back(trained(curve, step_seconds));
  return side;
}

const ComparedRow& row(const std::vector<ComparedRow>& rows, const std::string& name) {
  for (const ComparedRow& one : rows) {
    if (one.name == name) return one;
  }
  throw std::runtime_error("no row " + name);
}

ErrorParts refusal(const std::vector<Side>& sides, ExitCode code = ExitCode::kInconclusive) {
  return refusal_of([&] { compare_sides(sides, std::nullopt); }, code);
}

}  // namespace

TEST_CASE("the shift between unpaired samples and its exact interval", "[stats]") {
  const std::vector<double> base = {1, 2, 3, 4, 5};
  const std::vector<double> above = {11, 12, 13, 14, 15};
  const Interval shift = unpaired_shift(base, above);
  CHECK(shift.center == 10);
  // P(U <= 2) = 4/252 for five a side: the third smallest of 25 differences.
  CHECK(shift.low == 7);
  CHECK(shift.high == 13);
  CHECK(shift.confidence == Approx(1 - 8.0 / 252));
  const std::vector<double> four = {1, 2, 3, 4};
  CHECK(unpaired_shift(four, four).low == -3);  // P(U = 0) = 1/70
  CHECK(unpaired_shift(four, four).confidence == Approx(1 - 2.0 / 70));
  const std::vector<double> three = {1, 2, 3};
  CHECK_FALSE(unpaired_shift(three, three).low);
  CHECK_FALSE(unpaired_shift(base, std::vector<double>{3}).low);
  CHECK(unpaired_shift(base, std::vector<double>{3}).center == 0);
  CHECK_THROWS_AS(unpaired_shift({}, base), std::invalid_argument);
  CHECK_THROWS_AS(unpaired_shift(base, base, 1), std::invalid_argument);
  CHECK_THROWS_AS(unpaired_shift(std::vector<double>(301, 1), base), std::invalid_argument);
}

TEST_CASE("the interval of a shift covers it as often as it says", "[stats]") {
  std::mt19937 random(7);
  std::exponential_distribution<double> skewed(1);
  for (const auto& [n, m] : {std::pair{5, 5}, {6, 9}, {20, 12}}) {
    int missed = 0;
    double confidence = 0;
    const int rounds = 4000;
    for (int i = 0; i < rounds; ++i) {
      std::vector<double> base;
      std::vector<double> candidate;
      for (int k = 0; k < n; ++k) base.push_back(skewed(random));
      for (int k = 0; k < m; ++k) candidate.push_back(2 + skewed(random));
      const Interval shift = unpaired_shift(base, candidate);
      REQUIRE(shift.low);
      confidence = shift.confidence;
      if (*shift.low > 2 || *shift.high < 2) ++missed;
    }
    CHECK(confidence >= 0.95);
    // Within four deviations of what is claimed.
    const double expected = (1 - confidence) * rounds;
    CHECK(std::abs(missed - expected) < 4 * std::sqrt(expected));
  }
}

TEST_CASE("series that converge alike and differ in speed", "[compare]") {
  const std::vector<std::vector<double>> curves = {
      {0.2, 0.40, 0.52, 0.55}, {0.2, 0.41, 0.51, 0.54}, {0.2, 0.39, 0.50, 0.56},
      {0.2, 0.40, 0.49, 0.55}, {0.2, 0.42, 0.53, 0.54}, {0.2, 0.40, 0.51, 0.55}};
  const std::vector<Side> sides = {series("before", curves, 0.5), series("after", curves, 0.25)};
  const Comparison comparison = compare_sides(sides, std::nullopt);
  CHECK(comparison.runs == std::vector<std::size_t>{6, 6});
  CHECK(comparison.hours == comparison.runs);
  CHECK(comparison.missing.empty());
  CHECK(comparison.differences.empty());
  const ComparedRow& step = row(comparison.rows, "time.step");
  CHECK(step.values[0]->center == 0.5);
  CHECK(step.changes[1]->center == Approx(0.5));
  CHECK(*step.changes[1]->high == Approx(0.5));
  const ComparedRow& epochs = row(comparison.convergence, "epochs to 0.5");
  CHECK(epochs.values[0]->center == 3);
  CHECK(epochs.changes[1]->center == 0);
  const ComparedRow& quality = row(comparison.convergence, "quality after epoch 4");
  CHECK(quality.values[1]->center == 0.55);
  CHECK(row(comparison.convergence, "time to 0.5").values[0]->center == 300);
  const std::string text = render_comparison(comparison);
  CHECK_THAT(text, Catch::Contains("nothing but the seeds"));
  CHECK_THAT(text, HasLines({"*B/A 0.5 [0.5, 0.5]: differs"}));
  CHECK_THAT(text, HasLines({"*B-A 0 [*no difference seen"}));
  CHECK(to_json(comparison)["convergence"][0]["name"] == "epochs to 0.5");
}

TEST_CASE("a kernel that harms convergence is seen", "[compare]") {
  const std::vector<Side> sides = {
      series("reference", {{0.3, 0.50}, {0.3, 0.51}, {0.3, 0.52}, {0.3, 0.505}, {0.3, 0.515}}),
      series("broken", {{0.3, 0.44}, {0.3, 0.45}, {0.3, 0.43}, {0.3, 0.46}, {0.3, 0.44}})};
  const Comparison comparison = compare_sides(sides, std::nullopt);
  const ComparedRow& quality = row(comparison.convergence, "quality after epoch 2");
  REQUIRE(quality.changes[1]->high);
  CHECK(*quality.changes[1]->high < 0);
  const ComparedRow& epochs = row(comparison.convergence, "epochs to 0.5");
  CHECK(epochs.notes.at(1) == "5 of 5 never reached it");
  CHECK(*epochs.changes[1]->low > 0);
  CHECK_FALSE(row(comparison.convergence, "time to 0.5").values[1]);
  CHECK_THAT(render_comparison(comparison), Catch::Contains("differs"));
}

TEST_CASE("runs that diverge are slower than any that converge", "[compare]") {
  const std::vector<double> good = {0.3, 0.4, 0.5};
  Side diverged = series("diverged", std::vector<std::vector<double>>(6, {0.3}));
  for (Result& run : diverged.runs) run.training->max_epochs = 3;
  const Comparison comparison = compare_sides(
      {series("good", std::vector<std::vector<double>>(6, good)), diverged}, std::nullopt);
  const ComparedRow& epochs = row(comparison.convergence, "epochs to 0.5");
  CHECK(epochs.changes[1]->center == 1);  // four, behind all, against three
  CHECK(*epochs.changes[1]->low > 0);
  CHECK(epochs.notes.at(1) == "6 of 6 never reached it, 6 diverged");
  const ComparedRow& quality = row(comparison.convergence, "quality after epoch 3");
  CHECK(quality.values[0]->center == 0.5);
  CHECK_FALSE(quality.values[1]);
  CHECK(quality.notes.at(1) == "6 of 6 diverged and have none");
}

TEST_CASE("what runs did not train far enough for is not compared", "[compare]") {
  const std::vector<double> curve = {0.3, 0.4, 0.5};
  SECTION("they stopped at a target of their own") {
    Side stopped = series("stopped", std::vector<std::vector<double>>(6, curve));
    for (Result& run : stopped.runs) run.training->target_reached = true;
    const std::vector<double> longer = {0.3, 0.5, 0.6};
    const Comparison comparison =
        compare_sides({series("whole", std::vector<std::vector<double>>(6, longer)), stopped}, 0.6);
    const ComparedRow& epochs = row(comparison.convergence, "epochs to 0.6");
    CHECK_FALSE(epochs.changes[1]);
    CHECK_THAT(epochs.notes.at(1), HasLines({"*6 of 6 stopped at a target below*not comparable*"}));
  }
  SECTION("they had fewer epochs to go") {
    const std::vector<double> shorter = {0.3, 0.4};
    const Comparison comparison =
        compare_sides({series("whole", std::vector<std::vector<double>>(6, curve)),
                       series("short", std::vector<std::vector<double>>(6, shorter))},
                      0.5);
    CHECK_FALSE(row(comparison.convergence, "epochs to 0.5").changes[1]);
  }
}

TEST_CASE("epochs are counted to another target by each run's curve", "[compare]") {
  const std::vector<Side> sides = {series("a", {{0.1, 0.2, 0.3}}), series("b", {{0.2, 0.3, 0.4}})};
  const Comparison comparison = compare_sides(sides, 0.2);
  const ComparedRow& epochs = row(comparison.convergence, "epochs to 0.2");
  CHECK(epochs.values[0]->center == 2);
  CHECK(epochs.values[1]->center == 1);
  CHECK_THAT(render_comparison(comparison),
             Catch::Contains("no verdict") && Catch::Contains("No verdict on convergence"));
}

TEST_CASE("what differs between the sides is named", "[compare]") {
  Side other = series("bf16", {{0.3, 0.5}});
  other.runs[0].settings.effective["precision"] = "bf16";
  other.runs[0].system["cpu"]["model_name"] = "Another\x1b[31m";
  other.runs[0].settings.effective["min_steps"] = 1024;
  other.runs[0].rules.division = "open";
  const Comparison comparison = compare_sides({series("fp32", {{0.3, 0.5}}), other}, {});
  CHECK(comparison.differences.at("precision") == std::vector<std::string>{"fp32", "bf16"});
  CHECK(comparison.differences.at("processor")[0] == "Made-up 9000");
  // Of the same work, but percentiles and spreads depend on it.
  CHECK(comparison.differences.at("min_steps")[1] == "1024");
  CHECK(comparison.differences.at("division")[1] == "open");
  CHECK(render_comparison(comparison).find('\x1b') == std::string::npos);
  other.runs[0].settings.effective["set"]["new"] = "1";  // which the first side does not know
  other.runs[0].status.mistrusted = true;
  const Comparison again = compare_sides({series("fp32", {{0.3, 0.5}}), other}, {});
  CHECK(again.differences.at("set new") == std::vector<std::string>{"absent", "1"});
  CHECK_THAT(render_comparison(again), HasLines({"  B  bf16  (1 run in 1 hour: 1 mistrusted)"}));
}

TEST_CASE("runs of one hour are one observation of the speed", "[compare]") {
  std::vector<std::vector<double>> curves;
  for (int i = 0; i < 12; ++i) curves.push_back({0.3, 0.5 + 0.001 * i});
  const Side before = series("before", curves, 0.5);
  Side after = series("after", curves, 0.25);
  SECTION("as many hours as it takes") {
    CHECK(row(compare_sides({before, after}, {}).rows, "time.step").changes[1]->low);
  }
  SECTION("a series is one") {
    for (Result& run : after.runs) run.identity.series_id = "one";
  }
  SECTION("so are series of one hour") {
    for (std::size_t i = 0; i < after.runs.size(); ++i) {
      const std::string minute = std::to_string(100 + 4 * i).substr(1);
      after.runs[i].identity.started_at = "2026-05-01T12:" + minute + ":00.000Z";
    }
  }
  if (compare_sides({before, after}, {}).hours[1] == 12) return;
  const Comparison comparison = compare_sides({before, after}, {});
  CHECK(comparison.runs[1] == 12);
  CHECK(comparison.hours == std::vector<std::size_t>{12, 1});
  // The numbers stay; what they cannot tell is not told.
  const ComparedRow& step = row(comparison.rows, "time.step");
  CHECK(step.changes[1]->center == Approx(0.5));
  CHECK_FALSE(step.changes[1]->low);
  CHECK_FALSE(step.values[1]->low);
  CHECK_FALSE(row(comparison.convergence, "time to 0.5").changes[1]->low);
  // What no clock touches goes by its seeds.
  CHECK(row(comparison.convergence, "quality after epoch 2").changes[1]->low);
  const std::string text = render_comparison(comparison);
  CHECK_THAT(text, Catch::Contains("no verdict") && Catch::Contains("runs from 6 hours") &&
                       Catch::Contains("after has 12 runs of"));
  CHECK(to_json(comparison)["no_verdict"] == comparison.missing);
}

TEST_CASE("runs of one seed are one observation of the convergence", "[compare]") {
  const std::vector<std::vector<double>> curves(8, {0.3, 0.4, 0.5});
  Side again = series("again", curves);
  for (std::size_t i = 0; i < again.runs.size(); ++i) again.runs[i].seeds.run = i % 3 + 1;
  const Comparison comparison = compare_sides({series("seeds", curves), again}, {});
  CHECK(comparison.hours == std::vector<std::size_t>{8, 8});
  CHECK_FALSE(row(comparison.convergence, "epochs to 0.5").changes[1]->low);
  CHECK_FALSE(row(comparison.convergence, "quality after epoch 3").changes[1]->low);
  CHECK(row(comparison.rows, "time.step").changes[1]->low);
  CHECK_THAT(comparison.missing, Catch::Contains("again has 3"));
}

TEST_CASE("what cannot be compared is refused", "[compare]") {
  const Side good = series("good", {{0.3, 0.5}, {0.3, 0.6}});
  const Side sound = series("bad", {{0.3, 0.5}, {0.3, 0.6}});
  CHECK(refusal({good, sound}).about.empty());
  struct Case {
    std::function<void(Side&)> edit;
    std::string names;
  };
  // Of the whole side:
  for (const Case& one : std::vector<Case>{{[](Side& side) {
                                              for (Result& run : side.runs)
                                                run.rules.workload = "focal-loss";
                                            },
                                            "measures focal-loss"},
                                           {[](Side& side) {
                                              for (Result& run : side.runs)
                                                run.rules.sha256 = std::string(64, 'c');
                                            },
                                            "other rules"},
                                           {[](Side& side) {
                                              for (Result& run : side.runs)
                                                run.rules.scenario = "offline";
                                            },
                                            "scenario offline"}}) {
    Side bad = sound;
    one.edit(bad);
    CHECK_THAT(refusal({good, bad}), is_about("bad", {one.names}));
  }
  // Of its second run:
  for (const Case& one : std::vector<Case>{
           {[](Side& side) { side.runs[1].settings.effective["threads"] = 1; }, "another set-up"},
           {[](Side& side) { side.runs[1].status.state = RunState::kDryRun; }, "dry run"},
           {[](Side& side) { side.runs[1].status.state = RunState::kAborted; }, "was stopped"},
           {[&](Side& side) { side.runs[1].identity.uuid = good.runs[0].identity.uuid; },
            "twice"}}) {
    Side bad = sound;
    one.edit(bad);
    CHECK_THAT(refusal({good, bad}),
               is_about("bad, run " + bad.runs[1].identity.uuid.substr(0, 8), {one.names}));
  }
  // Of how many there are:
  for (const std::size_t runs : {std::size_t{301}, std::size_t{0}}) {
    Side bad = sound;
    bad.runs.resize(runs, sound.runs[0]);
    CHECK_THAT(refusal({good, bad}, ExitCode::kUsage),
               is_about("bad", {runs == 0 ? "no result" : "301 runs"}));
  }
}

TEST_CASE("what LoadGen made of runs is their first row", "[compare]") {
  std::vector<Side> sides = {series("fast", {{0.3, 0.5}}), series("slow", {{0.3, 0.6}})};
  for (Side& side : sides) {
    Result& run = side.runs.front();
    run.training.reset();
    run.rules.scenario = "offline";
    run.loadgen = LoadGenReport{};
    run.loadgen->figure = {"throughput.offline", "samples/s", side.name == "fast" ? 80.0 : 40.0};
  }
  const Comparison comparison = compare_sides(sides, std::nullopt);
  const ComparedRow& figure = comparison.rows.front();
  CHECK(figure.name == "throughput.offline");
  CHECK(figure.unit == "samples/s");
  CHECK(figure.values.at(1)->center == 40);
  CHECK(figure.changes.at(1)->center == Approx(0.5));
  CHECK_THAT(render_comparison(comparison), HasLines({"throughput.offline", "  A *"}));
}

TEST_CASE("machines are compared by what they can do, too", "[comparison]") {
  const auto side = [](const char* name, double copy_bandwidth, double samples_per_second) {
    Result run = sample_result();
    run.identity.uuid = name;
    run.peaks = {
        {"copy.bandwidth", "B/s", "memcpy", 2, {}, Interval{copy_bandwidth, {}, {}, 0}, ""}};
    run.metrics = {sample_metric("time.step", "s", {1 / samples_per_second}, 0),
                   sample_metric("throughput.samples", "samples/s", {samples_per_second}, 0)};
    run.cost->cost.step_bytes = 1e9;
    run.cost->utilisation = 0.5;
    return Side{name, {run}};
  };
  const Comparison comparison =
      compare_sides({side("slow", 10e9, 2), side("fast", 40e9, 4)}, std::nullopt);
  const auto values = [&](const char* name) {
    const ComparedRow& one = row(comparison.rows, name);
    return std::pair(one.values[0]->center, one.values[1]->center);
  };
  CHECK(values("throughput.samples") == std::pair(2.0, 4.0));
  CHECK(values("throughput a thread") == std::pair(1.0, 2.0));
  CHECK(values("throughput a GB/s") == std::pair(0.2, 0.1));
  CHECK(values("share of the copying") == std::pair(0.2, 0.1));
  CHECK(values("share of the peak") == std::pair(0.5, 0.5));
  CHECK(values("quality") == std::pair(0.75, 0.75));
  CHECK_FALSE(row(comparison.rows, "quality").changes[1]);
}

TEST_CASE("why there is no verdict stands with the row that has none", "[compare]") {
  const std::vector<std::vector<double>> curves(7, {0.2, 0.5});
  std::vector<Side> sides = {series("before", curves), series("after", curves)};
  for (std::size_t i = 0; i < 2; ++i) sides[1].runs[i].metrics[0].summary.median.reset();
  const Comparison comparison = compare_sides(sides, std::nullopt);
  CHECK(comparison.missing.empty());
  CHECK(row(comparison.rows, "time.step").notes.at(1) ==
        "no verdict: 5 of 7 hours have it, 6 are the fewest");
  CHECK_FALSE(row(comparison.rows, "time.step").changes[1]->low);
  CHECK(row(comparison.rows, "time.epoch").notes.empty());
  // All of the one were measured before all of the other.
  REQUIRE(comparison.notes.size() == 1);
  const std::string text = render_comparison(comparison);
  CHECK_THAT(comparison.notes[0],
             Catch::StartsWith("all runs of before began before all of after"));
  CHECK_THAT(text, HasLines({"note: all runs of before began before all of after*"}));
  CHECK_THAT(text, Catch::Contains("no verdict: 5 of 7 hours"));
}
