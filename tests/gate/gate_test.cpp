// Results to a gate's report: what may be compared, what is missing, what the forms say.
#include "harness/gate/gate.hpp"

#include <catch2/catch.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/gate/forms.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/gate_clusters.hpp"
#include "tests/support/gate_sides.hpp"
#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("runs of one campaign are judged as pairs", "[gate]") {
  const GateReport report =
      judged(of_campaign("baseline", 20, 0.5), of_campaign("candidate", 20, 0.55));
  CHECK(report.campaign == kCampaign);
  CHECK(row(report, "time.step").verdict == Verdict::kRegressed);
  CHECK(row(report, "time.step").n >= 10);
  CHECK(row(report, "time.step").improvement->center == Approx(1 / 1.1));
  CHECK(exit_code(report, false) == ExitCode::kRegression);
  CHECK(exit_code(report, true) == ExitCode::kRegression);
}

TEST_CASE("exit codes follow the heaviest verdict", "[gate]") {
  const auto code = [](double seconds, bool passes) {
    return exit_code(
        judged(of_campaign("baseline", 20, 0.5), of_campaign("candidate", 20, seconds)), passes);
  };
  CHECK(code(0.5, false) == ExitCode::kOk);
  CHECK(code(0.4, false) == ExitCode::kOk);
  CHECK(code(0.6, true) == ExitCode::kRegression);
  const GateReport few = judged(series("a", 3, 0.5), series("b", 3, 0.5));
  CHECK(exit_code(few, false) == ExitCode::kInconclusive);
  CHECK(exit_code(few, true) == ExitCode::kOk);
  CHECK_THAT(row(few, "time.step").note, Catch::Contains("runs from 6 hours"));
  // Nothing compared is never a success.
  CHECK(exit_code(GateReport{}, true) == ExitCode::kUsage);
}

TEST_CASE("files by themselves are judged by the spread between hours", "[gate]") {
  const Side a = series("a", 6, 0.5);
  const GateReport report = judged(a, series("b", 7, 0.6));
  CHECK(report.campaign.empty());
  CHECK(row(report, "time.step").verdict == Verdict::kRegressed);
  CHECK(row(report, "time.step").n == 6);
  REQUIRE(report.notes.size() == 1);
  CHECK_THAT(report.notes[0], Catch::Contains("all runs of a began before all of b"));
  // Six runs of one series are one series: they share the machine's state of that hour.
  const Edit same_series = [](Result& run) { run.identity.series_id = "one"; };
  const GateReport one = judged(series("a", 6, 0.5, same_series), series("b", 6, 0.6));
  CHECK(row(one, "time.step").verdict == Verdict::kInconclusive);
  CHECK(row(one, "time.step").n == 1);
  // So are six series of one hour; those of the next are another observation.
  const Edit same_hour = [](Result& run) {
    run.identity.started_at.replace(0, 13, "2026-02-01T03");
  };
  Side hour = series("a", 6, 0.5, same_hour);
  const GateReport alike = judged(hour, series("b", 6, 0.6));
  CHECK(row(alike, "time.step").verdict == Verdict::kInconclusive);
  CHECK(row(alike, "time.step").n == 1);
  CHECK_THAT(row(alike, "time.step").note,
             Catch::Contains("the baseline has 6 runs of 6 series in 1 hour"));
  CHECK(exit_code(alike, false) == ExitCode::kInconclusive);
  hour.runs[5].identity.started_at = "2026-02-01T04:00:00.000Z";
  CHECK(row(judged(hour, series("b", 6, 0.6)), "time.step").n == 2);
}

TEST_CASE("pairs need both sides", "[gate]") {
  Side baseline = of_campaign("baseline", 25, 0.5);
  Side candidate = of_campaign("candidate", 25, 0.5);
  SECTION("an end that is not whole is left out") {
    candidate.runs.pop_back();
    const GateReport report = judged(baseline, candidate);
    CHECK(row(report, "time.step").verdict == Verdict::kSame);
    REQUIRE_FALSE(report.notes.empty());
    CHECK_THAT(report.notes[0], Catch::Contains("pair 25 is incomplete"));
  }
  SECTION("a hole is a failure") {
    candidate.runs.erase(candidate.runs.begin() + 4);
    const Refusal refused = refusal(baseline, candidate);
    CHECK(refused.code == ExitCode::kUsage);
    CHECK_THAT(refused.text, Catch::Contains("pair 5: is incomplete"));
  }
  SECTION("sides of two campaigns are no pairs") {
    for (Result& run : candidate.runs) {
      run.identity.campaign->id = "99999999-2222-4333-8444-555555555555";
    }
    CHECK(judged(baseline, candidate).campaign.empty());
  }
  SECTION("sides that were mixed up are refused") {
    const Refusal refused = refusal(candidate, baseline);
    CHECK(refused.code == ExitCode::kInconclusive);
    CHECK_THAT(refused.text, Catch::Contains("was the baseline of the same campaign"));
  }
  SECTION("a campaign that ended early says what it wanted") {
    const GateReport report =
        judged(of_campaign("baseline", 9, 0.5), of_campaign("candidate", 9, 0.5));
    CHECK(row(report, "time.step").verdict == Verdict::kInconclusive);
    CHECK_THAT(row(report, "time.step").note, Catch::Contains("no fewer than 14"));
  }
}

TEST_CASE("what makes two results not comparable is named", "[gate]") {
  struct Case {
    const char* name;
    Edit edit;
    bool also_interleaved;
  };
  for (const Case& one : {
           Case{"rules file", [](Result& run) { run.rules.sha256[0] = 'b'; }, true},
           Case{"workload", [](Result& run) { run.rules.workload = "other"; }, true},
           Case{"machine", [](Result& run) { run.system["fingerprint"] = "other"; }, true},
           Case{"batch_size", [](Result& run) { run.settings.effective["batch_size"] = 2; }, true},
           Case{"tier", [](Result& run) { run.settings.effective["tier"] = "standard"; }, true},
           Case{"quality_target",
                [](Result& run) { run.settings.effective["quality_target"] = 0.4; }, true},
           Case{"set pace", [](Result& run) { run.settings.effective["set"]["pace"] = "fast"; },
                true},
           Case{"data", [](Result& run) { run.dataset->sha256 = std::string(64, 'c'); }, true},
           Case{"kernels", [](Result& run) { run.kernels["focal-loss"] = "custom"; }, false},
           Case{"precision", [](Result& run) { run.settings.effective["precision"] = "bf16"; },
                false},
           Case{"allocator", [](Result& run) { run.settings.effective["allocator"] = "pooled"; },
                false},
           Case{"threads", [](Result& run) { run.settings.effective["threads"] = 1; }, false},
           Case{"cpus", [](Result& run) { run.settings.effective["cpus"] = "0"; }, false},
       }) {
    CAPTURE(one.name);
    const GateReport files = judged(series("a", 6, 0.5), series("b", 6, 0.5, one.edit));
    REQUIRE(files.forbidding.size() == 1);
    CHECK(files.forbidding[0].name == one.name);
    CHECK(files.rows.empty());
    CHECK(exit_code(files, true) == ExitCode::kInconclusive);
    const GateReport pairs =
        judged(of_campaign("baseline", 16, 0.5), of_campaign("candidate", 16, 0.5, one.edit));
    CHECK(pairs.forbidding.empty() == !one.also_interleaved);
    if (one.also_interleaved) continue;
    REQUIRE(pairs.differences.size() == 1);
    CHECK(pairs.differences[0].name == one.name);
  }
  // What a person gates: other software, another commit.
  const GateReport builds = judged(series("a", 6, 0.5), series("b", 6, 0.5, [](Result& run) {
                                     run.identity.git_commit = std::string(40, 'f');
                                     run.system["build"]["compiler"] = "another";
                                   }));
  CHECK(builds.forbidding.empty());
  CHECK(builds.differences.size() == 2);
}

TEST_CASE("a run against itself is not comparable", "[gate]") {
  const Side side = series("a", 6, 0.5);
  const Refusal refused = refusal(side, side);
  CHECK(refused.code == ExitCode::kInconclusive);
  CHECK_THAT(refused.text, Catch::Contains("is there twice"));
}

TEST_CASE("runs that are no measurement are refused", "[gate]") {
  const auto with = [](const Edit& edit) {
    Side side = series("b", 6, 0.5);
    edit(side.runs[3]);
    return side;
  };
  const Side good = series("a", 6, 0.5);
  const Edit dry = [](Result& run) { run.status.state = RunState::kDryRun; };
  CHECK(refusal(good, with(dry)).code == ExitCode::kInconclusive);
  const Edit stopped = [](Result& run) { run.status.state = RunState::kAborted; };
  CHECK(refusal(good, with(stopped)).code == ExitCode::kUsage);
  const Edit broken = [](Result& run) {
    run.status.state = RunState::kInvalid;
    run.status.violations = {{"minimum-steps", "", "", "", ""}};
  };
  CHECK_THAT(refusal(good, with(broken)).text, Catch::Contains("broke the rule minimum-steps"));
  const Edit debug = [](Result& run) { run.system["build"]["type"] = "Debug"; };
  CHECK(refusal(good, with(debug)).code == ExitCode::kUsage);
  CHECK_THAT(refusal(with(debug), good).text, Catch::Contains("a debug build"));
  const Edit sanitized = [](Result& run) { run.system["build"]["sanitizers"] = "address"; };
  CHECK_THAT(refusal(with(sanitized), good).text, Catch::Contains("address"));
  GateRules lenient = load_gate_rules(home_folder());
  lenient.allow_debug = true;
  CHECK_NOTHROW(gate_results(with(debug), good, lenient));
  const Edit other = [](Result& run) { run.settings.effective["threads"] = 7; };
  const GateReport changed = judged(good, with(other));
  REQUIRE(changed.forbidding.size() == 1);
  CHECK(changed.forbidding[0].name == "threads, among the runs of b");
  CHECK(exit_code(changed, true) == ExitCode::kInconclusive);
  CHECK(refusal(good, {"empty", {}}).code == ExitCode::kUsage);
}

TEST_CASE("a candidate that misses its quality target has regressed", "[gate]") {
  const Edit missed = [](Result& run) {
    run.status.state = RunState::kInvalid;
    run.status.violations = {{"quality-target", "/quality/value", "", "", ""}};
    run.quality->passed = false;
  };
  Side candidate = of_campaign("candidate", 20, 0.4);
  missed(candidate.runs[7]);
  const GateReport report = judged(of_campaign("baseline", 20, 0.5), candidate);
  CHECK(row(report, "time.step").verdict == Verdict::kFaster);
  CHECK(row(report, "quality target").verdict == Verdict::kRegressed);
  CHECK_THAT(row(report, "quality target").note, Catch::Contains("19 of 20"));
  CHECK(exit_code(report, true) == ExitCode::kRegression);
  // A wrong model cannot be the baseline.
  Side baseline = of_campaign("baseline", 20, 0.5);
  missed(baseline.runs[0]);
  CHECK(refusal(baseline, of_campaign("candidate", 20, 0.5)).code == ExitCode::kUsage);
  // Training that ended without its target counts as a miss, too.
  Side aborted = of_campaign("candidate", 20, 0.5);
  aborted.runs[2].status.state = RunState::kAborted;
  aborted.runs[2].status.violations = {{kConvergedRule, "", "", "", ""}};
  CHECK(row(judged(of_campaign("baseline", 20, 0.5), aborted), "quality target").verdict ==
        Verdict::kRegressed);
}

TEST_CASE("a missing metric is a failure", "[gate]") {
  const Side good = series("a", 6, 0.5);
  Side without = series("b", 6, 0.5);
  without.runs[5].metrics.clear();
  CHECK_THAT(refusal(good, without).text, Catch::Contains("has no metric time.step in 1 of 6"));
  CHECK(refusal(without, good).code == ExitCode::kUsage);
  // Memory is judged where it was measured: on both sides, or not at all.
  Side with_memory = series("b", 6, 0.5, [](Result& run) { run.memory.peak_bytes = 1e9; });
  CHECK_THAT(refusal(good, with_memory).text, Catch::Contains("memory.peak"));
  Side more_memory = series("c", 6, 0.5, [](Result& run) { run.memory.peak_bytes = 2e9; });
  const GateReport report = judged(with_memory, more_memory);
  CHECK(row(report, "memory.peak").verdict == Verdict::kRegressed);
  CHECK(row(report, "memory.peak").group == GateGroup::kMemory);
  GateReport kept = report;
  keep_rows(kept, {"memory.peak"});
  REQUIRE(kept.rows.size() == 2);
  CHECK(kept.rows[0].tag == "memory.peak");
  CHECK(kept.rows[1].tag == "quality target");
  CHECK_THROWS_WITH(keep_rows(kept, {"memory.peek"}), Catch::Contains("did you mean memory.peak"));
}

TEST_CASE("values that are no measurement are a failure", "[gate]") {
  for (const double bad : {0.0, -1.0, 1e308, 1e-300}) {
    CAPTURE(bad);
    Side candidate = of_campaign("candidate", 20, 0.5);
    candidate.runs[3].metrics = {sample_metric("time.step", "s", {bad}, 0)};
    CHECK_THAT(refusal(of_campaign("baseline", 20, 0.5), candidate).text,
               Catch::Contains("is no measured value"));
  }
  Side other_unit = series("b", 6, 0.5);
  other_unit.runs[2].metrics[0].unit = "B";
  CHECK_THAT(refusal(series("a", 6, 0.5), other_unit).text, Catch::Contains("another unit"));
  Side no_side = series("b", 6, 0.5);
  for (Result& run : no_side.runs) run.metrics[0].direction = Direction::kNone;
  CHECK_THAT(refusal(series("a", 6, 0.5), no_side).text,
             Catch::Contains("no direction that is better"));
}

TEST_CASE("a quality that nobody judged is not taken for a good one", "[gate]") {
  const Side good = of_campaign("baseline", 20, 0.5);
  Side unjudged = of_campaign("candidate", 20, 0.5);
  unjudged.runs[4].quality->passed = std::nullopt;
  CHECK_THAT(refusal(good, unjudged).text, Catch::Contains("others did not"));
  unjudged.runs[4].quality = std::nullopt;
  CHECK_THAT(refusal(good, unjudged).text, Catch::Contains("others did not"));
}

TEST_CASE("mistrusted runs are named", "[gate]") {
  const Edit doubtful = [](Result& run) {
    run.status.mistrusted = true;
    run.status.mistrust_reasons = {"the load was 9"};
  };
  const GateReport report =
      judged(of_campaign("baseline", 20, 0.5), of_campaign("candidate", 20, 0.5, doubtful));
  REQUIRE_FALSE(report.notes.empty());
  CHECK_THAT(report.notes.back(), Catch::Contains("20 of 20 runs mistrusted: the load was 9"));
}

TEST_CASE("every form of the report tells the verdict and how to repeat it", "[gate]") {
  GateReport report = judged(of_campaign("baseline", 20, 0.5), of_campaign("candidate", 20, 0.55));
  report.repeat = "harness gate --baseline 'a' --candidate 'b'";
  for (GateRow& one : report.rows) one.repeat = report.repeat;
  const std::string text = render_gate(report, "text", false);
  CHECK_THAT(text, Catch::Contains("verdict   regressed"));
  CHECK_THAT(text, Catch::Contains("harness gate --baseline"));
  CHECK(badly_set(text, 100).empty());
  const std::string markdown = render_gate(report, "markdown", false);
  CHECK_THAT(markdown, Catch::Contains("### Gate: regressed"));
  CHECK_THAT(markdown, Catch::Contains("| time.step |"));
  const std::string junit = render_gate(report, "junit", false);
  CHECK_THAT(junit, Catch::Contains("tests=\"2\" failures=\"1\""));
  CHECK_THAT(junit, Catch::Contains("<failure type=\"regressed\""));
  const auto document = nlohmann::json::parse(render_gate(report, "json", false));
  CHECK(document["verdict"] == "regressed");
  CHECK(document["exit_code"] == 4);
  CHECK(document["rows"][0]["metric"] == "time.step");
  CHECK(document["rows"][0]["repeat"] == "harness gate --baseline 'a' --candidate 'b'");
}

TEST_CASE("an inconclusive case is a failure of the JUnit file unless it passes", "[gate]") {
  const GateReport few = judged(series("a", 3, 0.5), series("b", 3, 0.5));
  CHECK_THAT(render_gate(few, "junit", false), Catch::Contains("<failure type=\"inconclusive\""));
  const std::string passed = render_gate(few, "junit", true);
  CHECK_THAT(passed, Catch::Contains("failures=\"0\" skipped=\"1\""));
  CHECK_THAT(passed, !Catch::Contains("<failure"));
  // Sides that cannot be compared have no rows, and must not look like success.
  const Edit other = [](Result& run) { run.system["fingerprint"] = "other"; };
  const GateReport none = judged(series("a", 6, 0.5), series("b", 6, 0.5, other));
  CHECK_THAT(render_gate(none, "junit", true), Catch::Contains("tests=\"1\" failures=\"1\""));
  // No alarm is no failure, as in the exit code.
  GateReport quiet = judged(of_campaign("baseline", 20, 0.5), of_campaign("candidate", 20, 0.5));
  quiet.rows.push_back(quiet.rows.front());
  quiet.rows.back().tag = "time.start";
  quiet.rows.back().verdict = Verdict::kInconclusive;
  quiet.rows.back().alarm_only = true;
  CHECK(exit_code(quiet, false) == ExitCode::kOk);
  CHECK_THAT(render_gate(quiet, "junit", false), Catch::Contains("failures=\"0\""));
}

TEST_CASE("text from files cannot drive what shows the report", "[gate]") {
  const std::string hostile = "<script>alert(1)</script>|\"&'`\x1b[31m\n### x";
  const auto name = [&](Result& run) { run.system["build"]["compiler"] = hostile; };
  GateReport report = judged(series(hostile, 6, 0.5), series("b", 6, 0.5, name));
  for (const std::string& text :
       {render_gate(report, "text", false), render_gate(report, "markdown", false),
        render_gate(report, "junit", false)}) {
    CHECK(text.find('\x1b') == std::string::npos);
  }
  CHECK(render_gate(report, "markdown", false).find("<script>") == std::string::npos);
  CHECK(render_gate(report, "junit", false).find("<script>") == std::string::npos);
}

TEST_CASE("the gate's rules are read and checked", "[gate]") {
  const GateRules rules = load_gate_rules(home_folder());
  CHECK(rules.options.alarm == 0.05);
  CHECK(rules.options.same == 0.05);
  const auto first_of = [&](const char* workload, const char* scenario) {
    Result run;
    run.rules.workload = workload;
    run.rules.scenario = scenario;
    return rules.of(run).front().tag;
  };
  CHECK(first_of("retinanet-train", "steps") == "time.step");
  CHECK(first_of("retinanet-mini-train", "epochs") == "time.epoch");
  CHECK(first_of("of tomorrow", "steps") == "time.step");
  CHECK(first_of("of tomorrow", "epochs") == "time.epoch");
  CHECK_THROWS_WITH(first_of("of tomorrow", "none"), Catch::Contains("scenario 'none': unknown"));
  CHECK(rules.command_metric.tag == "time.wall");
  CHECK(rules.suites.budget_minutes > 0);
  CHECK(rules.suites.lockstep_share < 1);
}

TEST_CASE("new rules are no way around a missed target", "[gate]") {
  Side candidate = of_campaign("candidate", 20, 0.5);
  for (Result& run : candidate.runs) run.rules.sha256[0] = 'b';
  const Side baseline = of_campaign("baseline", 20, 0.5);
  CHECK(rules_alone_forbid(judged(baseline, candidate)));
  for (Result& run : candidate.runs) {
    run.status.state = RunState::kInvalid;
    run.status.violations = {{"quality-target", "/quality/value", "", "", ""}};
    run.quality->passed = false;
  }
  Side judged_baseline = baseline;
  for (Result& run : judged_baseline.runs) run.quality->passed = true;
  CHECK_FALSE(rules_alone_forbid(judged(judged_baseline, candidate)));
}
