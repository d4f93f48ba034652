// A suite on the report's page: its score is as good as its file, itself and its runs.
#include "harness/kinds/suite/section.hpp"

#include <algorithm>
#include <catch2/catch.hpp>

#include "harness/check/judgement.hpp"
#include "harness/report/page/html_page.hpp"
#include "harness/report/shown_kind.hpp"
#include "tests/support/sample_suite.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// What is said of the score: at the page's head, and in the suite's own section.
struct Shown {
  PageFact tile{};
  PageFact fact{};
};

Shown shown(const ReportData& data) {
  const ReportPage page = make_page(data);
  Shown shown;
  for (const PageFact& tile : page.tiles) {
    if (tile.name.starts_with("suite score")) shown.tile = tile;
  }
  for (const PageSection& section : page.sections) {
    if (section.id == "suites") shown.fact = section.parts.at(0).facts.at(0);
  }
  REQUIRE(shown.fact.name == "score");
  REQUIRE_FALSE(shown.tile.name.empty());
  return shown;
}

/// Both have `tone` and say `reason`.
void check_doubt(const ReportData& data, Tone tone, const std::string& reason) {
  CAPTURE(reason);
  const Shown seen = shown(data);
  CHECK(seen.tile.tone == tone);
  CHECK(seen.fact.tone == tone);
  CHECK_THAT(seen.tile.name, Catch::Contains(reason));
  CHECK_THAT(seen.fact.value, Catch::Contains(reason));
}

PageSection section_of(const Suite& suite, const std::vector<Result>& runs) {
  const ReportData data = report_of(suite, runs);
  const ReportItem& item = data.of("suite").at(0);
  PageSection section = suite_section(item, "suites-1", data.runs());
  add_task_cards(section, as<Suite>(item), data.runs());
  return section;
}

std::vector<std::string> facts_named(const PageSection& section, const std::string& name) {
  std::vector<std::string> values;
  for (const PageFact& fact : section.facts) {
    if (fact.name == name) values.push_back(fact.value);
  }
  return values;
}

}  // namespace

TEST_CASE("the score of a sound, complete, closed suite of trusted runs is good", "[suite]") {
  const Shown seen = shown(report_of(sample_suite(), sample_suite_runs()));
  CHECK(seen.tile.name == "suite score, over 4 of 4");
  CHECK(seen.tile.value == "2.00");
  CHECK(seen.tile.tone == Tone::kGood);
  CHECK(seen.fact.value == "2.00 x the reference, over 4 of 4");
  CHECK(seen.fact.tone == Tone::kGood);
}

TEST_CASE("a score is no better than its file", "[suite]") {
  ReportCollector collector;
  ValidationReport report = validated(sample_suite());
  report.problems = {{"/digest", "is not that of the content"}};
  collector.add("suite.json", report, {});
  check_doubt(collector.finish(), Tone::kBad, "its file is not valid");
}

TEST_CASE("a score is no better than the files of its runs", "[suite]") {
  ReportCollector collector;
  collector.add("suite.json", validated(sample_suite()), {});
  ValidationReport report = validated(sample_suite_runs()[1]);
  report.problems = {{"/digest", "is not that of the content"}};
  collector.add("run-2.json", report, {});
  check_doubt(collector.finish(), Tone::kBad, "1 of 4 runs is in a file that is not valid");
}

TEST_CASE("a score is no better than its runs", "[suite]") {
  Suite suite = sample_suite();
  SECTION("mistrusted, by the suite's file") {
    suite.tasks[0].run->mistrusted = suite.tasks[2].run->mistrusted = true;
    check_doubt(report_of(suite, {}), Tone::kDoubt, "2 of 4 runs are mistrusted");
  }
  SECTION("mistrusted, by the run's file") {
    std::vector<Result> runs = sample_suite_runs();
    runs[3].status.mistrusted = true;
    check_doubt(report_of(suite, runs), Tone::kDoubt, "1 of 4 runs is mistrusted");
  }
  SECTION("invalid") {
    suite.tasks[1].run->state = RunState::kInvalid;
    score_again(suite);
    check_doubt(report_of(suite, {}), Tone::kDoubt, "over 3 of 4; 1 of 4 runs is invalid");
  }
  SECTION("stopped, and never begun") {
    suite.tasks[2].run->state = RunState::kAborted;
    suite.tasks[3].run.reset();
    suite.tasks[3].figure.reset();
    suite.tasks[3].no_run = "the suite was stopped before it";
    mark_aborted(suite.status, "stopped when 2 of 4 runs had ended", "go on");
    score_again(suite);
    check_doubt(report_of(suite, {}), Tone::kDoubt, "2 of 4 runs are not complete");
  }
}

TEST_CASE("a score is no better than the suite", "[suite]") {
  Suite suite = sample_suite();
  SECTION("open") {
    suite.rules.division = "open";
    check_doubt(report_of(suite, {}), Tone::kPlain, "its division is open");
  }
  SECTION("mistrusted by itself") {
    suite.status.mistrusted = true;
    check_doubt(report_of(suite, {}), Tone::kDoubt, "the suite is mistrusted");
  }
  SECTION("stopped after its last run") {
    mark_aborted(suite.status, "stopped", "go on");
    check_doubt(report_of(suite, {}), Tone::kDoubt, "the suite is not complete");
  }
  SECTION("of less than all") {
    suite.tasks[0].figure->tag = "latency.p99";
    score_again(suite);
    check_doubt(report_of(suite, {}), Tone::kPlain, "over 3 of 4");
  }
}

TEST_CASE("tasks that are not in the score for one reason stand there together", "[suite]") {
  Suite suite = sample_suite();
  for (std::size_t i : {0U, 1U, 2U}) suite.tasks[i].run->rules_version = "2.0.0";
  suite.tasks[3].run->state = RunState::kInvalid;
  score_again(suite);
  CHECK(facts_named(section_of(suite, {}), "not in the score") ==
        std::vector<std::string>{"classify (single-stream, offline), embed/single-stream: the "
                                 "reference was measured under version 1.0.0 of its rules",
                                 "embed/offline: its run is invalid"});
  suite.tasks[3] = sample_suite().tasks[3];
  suite.tasks[3].run->rules_version = "2.0.0";
  score_again(suite);
  CHECK(facts_named(section_of(suite, {}), "not in the score") ==
        std::vector<std::string>{"all 4: the reference was measured under version 1.0.0 of its "
                                 "rules"});
}

TEST_CASE("a task's card says why its run is mistrusted, and the set-up", "[suite]") {
  Suite suite = sample_suite();
  std::vector<Result> runs = sample_suite_runs();
  suite.tasks[0].run->mistrusted = runs[0].status.mistrusted = true;
  runs[0].status.mistrust_reasons = {"load average 5.00 on 2 CPUs", "it swapped"};
  suite.tasks[3].run->mistrusted = true;
  runs.pop_back();
  const PageSection section = section_of(suite, runs);
  REQUIRE(section.parts.size() == 2);
  const PageFact& doubted = section.parts[0].facts.at(0);
  CHECK(doubted.value ==
        "latency.p90 2.00 ms · 2.00 x the reference · mistrusted: load average 5.00 on 2 CPUs and "
        "1 more · 2 threads, batches of 8, bf16");
  CHECK(doubted.tone == Tone::kDoubt);
  CHECK_THAT(section.parts[0].facts.at(1).value,
             Catch::EndsWith("2.00 x the reference · 2 threads, batches of 8, bf16"));
  // Of a run whose file is not at hand.
  CHECK_THAT(section.parts[1].facts.at(1).value,
             Catch::EndsWith("mistrusted, run-4.json says why"));
}

TEST_CASE("a stopped run of a suite is not complete", "[suite]") {
  Suite suite = sample_suite();
  suite.tasks[1].run->state = RunState::kAborted;
  score_again(suite);
  const PageSection section = section_of(suite, {});
  CHECK(section.tables.at(0).rows.at(1).back().text == "not complete");
  CHECK(section.tables.at(0).rows.at(1).back().tone == Tone::kDoubt);
  CHECK_THAT(section.parts[0].facts.at(1).value, Catch::EndsWith("not complete"));
}

TEST_CASE("the plot of a suite's ratios marks the reference, and the score with its value",
          "[suite]") {
  const PageSection section = section_of(sample_suite(), {});
  const std::vector<PlotMark>& marks = section.plots.at(0).marks;
  REQUIRE(marks.size() == 2);
  CHECK(marks[0].label == "reference");
  CHECK(marks[0].at == 1);
  CHECK(marks[1].label == "score 2.00");
  CHECK(marks[1].at == Approx(2));
}
