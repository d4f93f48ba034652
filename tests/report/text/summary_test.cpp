// A run's result as text.
#include "harness/report/text/summary.hpp"

#include <catch2/catch.hpp>

#include "harness/check/judgement.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/sample_result.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a summary fits a terminal and no line ends in a blank", "[summary]") {
  Result result = sample_result();
  result.peaks[0].method = "AVX-512 multiply-add, 24 chains of 16 lanes in each of the threads";
  result.peaks[1].reason = "the samples spread by 43 %, over 10 %";
  result.peaks[1].method = "AVX2-multiply-add";
  result.metrics.push_back(sample_metric("throughput.samples", "samples/s", {1, 1, 0.1577, 0.167}));
  const std::string text = render_summary(result);
  CAPTURE(text, badly_set(text, 80));
  CHECK(badly_set(text, 80).empty());
  CHECK_THAT(text, HasLines({"peak*  1.02 TFLOP/s  usually 1.00 TFLOP/s;*"}));
  CHECK_THAT(text, HasLines({"peak*unknown: the samples spread by 43 %, over 10 %;",
                             "*AVX2-multiply-add"}));
}

TEST_CASE("the best burst is the bound, also of a file that does not say so", "[summary]") {
  Result result = sample_result();
  CHECK(peak_of(result.peaks, "fma.fp32") == 1.02e12);
  CHECK_FALSE(peak_of(result.peaks, "copy.bandwidth"));
  CHECK_FALSE(peak_of(result.peaks, "fma.bf16"));
  result.peaks[0].bound.reset();
  CHECK(peak_of(result.peaks, "fma.fp32") == 1.02e12);
  result.peaks[0].samples.clear();
  CHECK(peak_of(result.peaks, "fma.fp32") == 1.0e12);
}

TEST_CASE("the work of a step is told with the calls it is made of", "[summary]") {
  Result result = sample_result();
  const auto told = [&](const std::string& calls) {
    CHECK_THAT(render_summary(result),
               HasLines({"work per step *250 GFLOP  forward 100 GFLOP" + calls}));
  };
  told(", 111 convolutions");
  result.cost.value().cost.calls = {{"dot", 12}, {"sum", 1}};
  told(", 12 dot, 1 sum");
  result.cost.value().cost.calls.clear();
  told("");
}

TEST_CASE("quartiles name their unit once, and twice where they differ", "[summary]") {
  Result result = sample_result();
  // The bounds of an older file are no promise, and are not shown.
  result.metrics[0].summary.median = Interval{0.5, 0.11, 0.99, 0.95};
  result.metrics[0].summary.quartiles = Quartiles{0.25, 0.75};
  const auto row = [&](const std::string& quartiles) {
    CHECK_THAT(render_summary(result), HasLines({"time.step *500.00 ms  " + quartiles + " *"}));
  };
  row("250.00 .. 750.00 ms");
  result.metrics[0].summary.quartiles = Quartiles{0.25, 1.5};
  row("250.00 ms .. 1.500 s");
}

TEST_CASE("boxes that were dropped or clamped are told in one line", "[summary]") {
  Result result = sample_result();
  CHECK_THAT(render_summary(result), !Catch::Contains("boxes"));
  result.dataset->details = {{"train_boxes", "90"},
                             {"train_boxes_clamped", "12"},
                             {"train_boxes_dropped_degenerate", "0"},
                             {"eval_boxes_dropped_not_finite", "3"}};
  CHECK_THAT(render_summary(result),
             HasLines({"boxes changed: 3 dropped not finite in eval, 12 clamped in train"}));
}

TEST_CASE("behind mistrust the summary says what can still be used", "[summary]") {
  Result result = sample_result();
  result.status.recommendations.clear();
  result.system["build"] = {{"type", "Debug"}};
  judge_machine(result);
  REQUIRE(result.status.mistrusted);
  CHECK_THAT(result.status.recommendations.front(),
             Catch::StartsWith("neither seconds nor ratios"));
  const std::string text = render_summary(result);
  CAPTURE(text);
  const std::size_t mistrusted = text.find("MISTRUSTED");
  const std::size_t left = text.find("neither seconds nor ratios can be used");
  REQUIRE(left != std::string::npos);
  CHECK(mistrusted < left);
}

TEST_CASE("what is to be said against metrics is said once, and not without end", "[summary]") {
  Result result = sample_result();
  const Metric metric = result.metrics.at(0);
  result.metrics.assign(5, metric);
  for (std::size_t i = 0; i < 5; ++i) {
    result.metrics[i].tag = "time.phase." + std::to_string(i);
    result.metrics[i].warnings = {"drifts"};
  }
  result.metrics[4].summary.median.reset();
  result.metrics[4].warnings = {"nothing to summarise", "a", "b", "c", "d"};
  const std::string text = render_summary(result);
  CHECK_THAT(text, HasLines({"  note: time.phase.0, time.phase.1, time.phase.2 and 1 more: drifts",
                             "  note: time.phase.4: nothing to summarise",
                             "  note: time.phase.4: a", "  note: time.phase.4: b",
                             "  note: 2 more warnings: the result file has them all"}));
}

TEST_CASE("peaks that are unknown for one reason are told in one line", "[summary]") {
  Result result = sample_result();
  for (Peak& peak : result.peaks) {
    peak.value.reset();
    peak.bound.reset();
    peak.samples.clear();
    peak.reason = "the run was stopped";
  }
  REQUIRE(result.peaks.size() > 1);
  const HasLines together({"peaks of the machine       unknown: the run was stopped"});
  const std::string text = render_summary(result);
  CHECK_THAT(text, together);
  CHECK_THAT(text, !HasLines({"peak fma*"}));
  result.peaks[1].reason = "another";
  CHECK_THAT(render_summary(result), !together);
  CHECK_THAT(render_summary(result),
             HasLines({"peak fma*unknown: the run was stopped*", "peak *unknown: another*"}));
}

TEST_CASE("a run that was stopped broke no rule", "[summary]") {
  Result result = sample_result();
  mark_aborted(result.status, "interrupted", "run again for a valid result");
  const std::string text = render_summary(result);
  CHECK_THAT(text, HasLines({"status   aborted",
                             "  interrupted; what was measured until then is kept; run again*"}));
  CHECK_THAT(text, !Catch::Contains("expected"));
}

TEST_CASE("advice that a reason of mistrust has said is not said again", "[summary]") {
  Result result = sample_result();
  result.status.mistrusted = true;
  result.status.mistrust_reasons = {"two programs ran beside: stop them"};
  result.status.recommendations = {"stop them", "pin the threads"};
  const std::string text = render_summary(result);
  CHECK_THAT(text, HasLines({"*mistrusted: two programs ran beside: stop them"}));
  CHECK_THAT(text, HasLines({"*advice: pin the threads"}));
  CHECK_THAT(text, !Catch::Contains("advice: stop them"));
}
