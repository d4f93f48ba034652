// Sides of several tasks: whole suites, each workload in each scenario judged by itself and all of
// them together.
#include "harness/gate/tasks.hpp"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/gate/forms.hpp"
#include "harness/gate/values.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/gate_sides.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

const std::vector<std::string> kTasks = {"classify/offline", "classify/single-stream",
                                         "embed/offline"};

GateRules rules_for_queries() {
  GateRules rules = rules_for_steps();
  rules.options.most_clusters = 48;
  rules.scenarios = load_gate_rules(home_folder()).scenarios;
  return rules;
}

void make_task(const std::string& task, double value, Result& run) {
  const std::size_t slash = task.find('/');
  run.rules.workload = task.substr(0, slash);
  run.rules.scenario = task.substr(slash + 1);
  const FigureOfScenario& figure = *figure_of_scenario(run.rules.scenario);
  run.loadgen.emplace();
  run.loadgen->figure = {std::string(figure.tag), std::string(figure.unit), value};
  run.memory.peak_bytes = 1e9;
}

using TaskEdit = std::function<void(const std::string& task, Result& run)>;

/// `count` suites a side, an hour or a pair each, whose figures are all 100.
Side suites(const std::string& name, int count, bool campaign, const TaskEdit& edit = {},
            const std::vector<std::string>& tasks = kTasks) {
  Side side{name, {}};
  for (int i = 1; i <= count; ++i) {
    for (const std::string& task : tasks) {
      Result run = run_of(1);
      make_task(task, 100 * (1 + 0.0001 * i), run);
      run.identity.started_at = start_of_hour(2 * i + (name == "candidate" ? 1 : 0));
      if (campaign) run.identity.campaign = CampaignPlace{kCampaign, name, i};
      if (edit) edit(task, run);
      side.runs.push_back(std::move(run));
    }
  }
  return side;
}

GateReport judged_suites(const Side& baseline, const Side& candidate) {
  return gate_results(baseline, candidate, rules_for_queries());
}

/// Of one task alone.
TaskEdit in(const std::string& only, const Edit& edit) {
  return [only, edit](const std::string& task, Result& run) {
    if (task == only) edit(run);
  };
}

void miss(Result& run) {
  run.status.state = RunState::kInvalid;
  run.status.violations = {{"quality-target", "/quality/value", "", "", ""}};
  run.quality->passed = false;
}

}  // namespace

TEST_CASE("suites are judged task by task, with one decision over all metrics", "[gate][tasks]") {
  const bool campaign = GENERATE(true, false);
  const int count = campaign ? 40 : 8;
  const GateReport same =
      judged_suites(suites("baseline", count, campaign), suites("candidate", count, campaign));
  CHECK(exit_code(same, false) == ExitCode::kOk);
  // Figure, memory and quality of each, and whether it met its target.
  CHECK(same.rows.size() == 4 * kTasks.size());
  CHECK(row(same, "classify/offline throughput.offline").direction == Direction::kHigher);
  CHECK(row(same, "classify/single-stream latency.p90").direction == Direction::kLower);
  CHECK(row(same, "embed/offline memory.peak").verdict == Verdict::kSame);
  CHECK(row(same, "embed/offline quality.value").group == GateGroup::kQuality);
  CHECK(row(same, "embed/offline quality target").n == static_cast<std::size_t>(count));
  CHECK(same.workload.empty());
  CHECK(same.subject == "classify/offline, classify/single-stream, embed/offline, tier quick");
  CHECK_THAT(same.method, Catch::Contains("9 metrics"));

  const TaskEdit slower =
      in("embed/offline", [](Result& run) { run.loadgen->figure.value /= 1.1; });
  const GateReport slow = judged_suites(suites("baseline", count, campaign),
                                        suites("candidate", count, campaign, slower));
  CHECK(exit_code(slow, false) == ExitCode::kRegression);
  CHECK(rows_by_weight(slow).front().tag == "embed/offline throughput.offline");
  CHECK(row(slow, "embed/offline throughput.offline").improvement->center == Approx(1 / 1.1));
  CHECK(row(slow, "classify/offline throughput.offline").verdict == Verdict::kSame);
  // What one task alone would be told by is told by less where several share the error.
  const auto first_look = [&](const std::vector<std::string>& tasks) {
    const GateReport report = judged_suites(suites("baseline", 40, true, slower, tasks),
                                            suites("candidate", 40, true, {}, tasks));
    return rows_by_weight(report).front().n;
  };
  CHECK(first_look(kTasks) >= first_look({"embed/offline"}));
}

TEST_CASE("one task on each side is called as ever", "[gate][tasks]") {
  const std::vector<std::string> one = {"classify/offline"};
  const GateReport report =
      judged_suites(suites("baseline", 40, true, {}, one), suites("candidate", 40, true, {}, one));
  CHECK(row(report, "throughput.offline").verdict == Verdict::kSame);
  CHECK(row(report, "quality target").verdict == Verdict::kSame);
  CHECK(report.workload == "classify");
}

TEST_CASE("few hours of suites are counted task by task", "[gate][tasks]") {
  const GateReport few = judged_suites(suites("baseline", 2, false), suites("candidate", 3, false));
  CHECK(exit_code(few, false) == ExitCode::kInconclusive);
  CHECK_THAT(row(few, "embed/offline throughput.offline").note,
             Catch::Contains("runs from 6 hours; the baseline has 2 runs of 2 series in 2 hours, "
                             "the candidate 3 runs"));
}

TEST_CASE("a task that the candidate lacks is never green", "[gate][tasks]") {
  const std::vector<std::string> fewer = {"classify/offline", "classify/single-stream"};
  const GateReport missing =
      judged_suites(suites("baseline", 40, true), suites("candidate", 40, true, {}, fewer));
  CHECK(exit_code(missing, true) == ExitCode::kInconclusive);
  CHECK(missing.rows.empty());
  REQUIRE(missing.forbidding.size() == 1);
  CHECK(missing.forbidding[0] == GateDifference{"embed/offline", "40 runs", "missing"});
  CHECK_FALSE(rules_alone_forbid(missing));
  // Also where one is left, and where nothing is.
  const GateReport other =
      judged_suites(suites("baseline", 40, true), suites("candidate", 40, true, {}, {"x/offline"}));
  CHECK(other.forbidding.size() == 3);

  // A new one has nothing to be held to; its target it has to meet.
  const GateReport added =
      judged_suites(suites("baseline", 40, true, {}, fewer), suites("candidate", 40, true));
  CHECK(exit_code(added, false) == ExitCode::kOk);
  REQUIRE_FALSE(added.notes.empty());
  CHECK(added.notes[0] == "embed/offline is not judged: the baseline has no such runs");
  CHECK_THROWS(row(added, "embed/offline throughput.offline"));
  const GateReport bad = judged_suites(suites("baseline", 40, true, {}, fewer),
                                       suites("candidate", 40, true, in("embed/offline", miss)));
  CHECK(exit_code(bad, true) == ExitCode::kRegression);
  CHECK(row(bad, "embed/offline quality target").verdict == Verdict::kRegressed);
}

TEST_CASE("a pair without one of its tasks is no pair", "[gate][tasks]") {
  Side candidate = suites("candidate", 40, true);
  candidate.runs.pop_back();
  const GateReport report = judged_suites(suites("baseline", 40, true), candidate);
  REQUIRE_FALSE(report.notes.empty());
  CHECK_THAT(report.notes[0], Catch::Contains("pair 40 is incomplete"));
  candidate = suites("candidate", 40, true);
  candidate.runs.erase(candidate.runs.begin() + 4);
  CHECK_THROWS_WITH(judged_suites(suites("baseline", 40, true), candidate),
                    Catch::Contains("pair 2: is incomplete"));
}

TEST_CASE("a quality that one task misses is a regression", "[gate][tasks]") {
  const Side baseline = suites("baseline", 40, true);
  const Side missed = suites("candidate", 40, true, in("classify/offline", miss));
  const GateReport report = judged_suites(baseline, missed);
  CHECK(exit_code(report, true) == ExitCode::kRegression);
  CHECK(row(report, "classify/offline quality target").verdict == Verdict::kRegressed);
  CHECK(row(report, "embed/offline quality target").verdict == Verdict::kSame);
  const Side bad = suites("baseline", 40, true, in("classify/offline", miss));
  CHECK_THROWS_WITH(judged_suites(bad, suites("candidate", 40, true)),
                    Catch::Contains("baseline, classify/offline, run") &&
                        Catch::Contains("missed its quality target"));
  const Edit invalid = [](Result& run) {
    run.status.state = RunState::kInvalid;
    run.status.violations = {{"loadgen-valid", "", "", "", ""}};
  };
  CHECK_THROWS_WITH(
      judged_suites(baseline, suites("candidate", 40, true, in("embed/offline", invalid))),
      Catch::Contains("candidate, embed/offline, run") && Catch::Contains("is invalid"));
  // What nobody compares has to be sound all the same.
  CHECK_THROWS(judged_suites(suites("baseline", 40, true, {}, {kTasks[0]}),
                             suites("candidate", 40, true, in("embed/offline", invalid))));
}

TEST_CASE("differences of one task have its name, those of all have none", "[gate][tasks]") {
  const auto rename = [](Result& run) { run.rules.sha256[0] = 'b'; };
  const Side baseline = suites("baseline", 40, true);
  const GateReport one =
      judged_suites(baseline, suites("candidate", 40, true, in("embed/offline", rename)));
  REQUIRE(one.forbidding.size() == 1);
  CHECK(one.forbidding[0].name == "embed/offline rules file");
  CHECK(rules_alone_forbid(one));
  const GateReport all =
      judged_suites(baseline, suites("candidate", 40, true, [&](const std::string&, Result& run) {
                      rename(run);
                      run.settings.effective["threads"] = 1;
                    }));
  REQUIRE(all.forbidding.size() == 1);
  CHECK(all.forbidding[0].name == "rules file");
  REQUIRE(all.differences.size() == 1);
  CHECK(all.differences[0].name == "threads");
  // Runs of one side that are of two set-ups.
  Side mixed = suites("candidate", 40, true);
  mixed.runs[5].settings.effective["threads"] = 7;
  const GateReport two = judged_suites(baseline, mixed);
  REQUIRE(two.forbidding.size() == 1);
  CHECK(two.forbidding[0].name == "threads, among the runs of candidate, embed/offline");
}

TEST_CASE("mistrusted runs are named with their task", "[gate][tasks]") {
  const Edit doubtful = [](Result& run) {
    run.status.mistrusted = true;
    run.status.mistrust_reasons = {"the load was 9"};
  };
  const GateReport report = judged_suites(
      suites("baseline", 40, true), suites("candidate", 40, true, in("embed/offline", doubtful)));
  REQUIRE_FALSE(report.notes.empty());
  CHECK(report.notes.back() ==
        "candidate, embed/offline: 40 of 40 runs mistrusted: the load was 9");
}

TEST_CASE("rows are kept by a metric of one task, or of all", "[gate][tasks]") {
  const GateReport report =
      judged_suites(suites("baseline", 40, true), suites("candidate", 40, true));
  const auto kept = [&](const std::string& tag) {
    GateReport some = report;
    keep_rows(some, {tag});
    return some.rows.size() - kTasks.size();  // the targets stay
  };
  CHECK(kept("throughput.offline") == 2);
  CHECK(kept("embed/offline throughput.offline") == 1);
  CHECK_THROWS_WITH(kept("throughput"), Catch::Contains("was not judged"));
}

TEST_CASE("rows with long names fit a terminal, in all forms", "[gate][tasks]") {
  const std::vector<std::string> tasks = {"retinanet-mini-train/single-stream", "embed/offline"};
  GateReport report = judged_suites(suites("baseline", 40, true, {}, tasks),
                                    suites("candidate", 40, true, {}, tasks));
  const std::string text = render_gate(report, "text", false);
  CHECK(badly_set(text, 100).empty());
  CHECK_THAT(text, Catch::Contains("\nretinanet-mini-train/single-stream latency.p90\n"));
  CHECK_THAT(render_gate(report, "markdown", false),
             Catch::Contains("| retinanet-mini-train/single-stream latency.p90 | same |"));
  CHECK_THAT(render_gate(report, "junit", false),
             Catch::Contains("name=\"embed/offline throughput.offline\""));
}

TEST_CASE("the rules name a figure for each of LoadGen's scenarios", "[gate][tasks]") {
  const GateRules rules = load_gate_rules(home_folder());
  for (const char* scenario : {"single-stream", "multi-stream", "server", "offline"}) {
    CAPTURE(scenario);
    Result run = run_of(1);
    make_task(std::string("classify/") + scenario, 5, run);
    const std::vector<GatedMetric> metrics = rules.of(run);
    REQUIRE_FALSE(metrics.empty());
    CHECK(metrics.front().tag == figure_of_scenario(scenario)->tag);
    const Side baseline{"a", {run}};
    const std::vector<GateColumn> columns = gate_columns(baseline, baseline, metrics, false);
    CHECK(columns.size() == metrics.size());
    CHECK(in_order(columns.front().baseline) == std::vector<double>{5});
  }
}
