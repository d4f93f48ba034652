// Pairs of one campaign to a gate's report: the plan, slow starts, what is exact.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "harness/gate/forms.hpp"
#include "harness/gate/gate.hpp"
#include "tests/support/gate_clusters.hpp"
#include "tests/support/gate_sides.hpp"
#include "tests/support/sample_result.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("pairs are looked at as their campaign planned", "[gate]") {
  const Side baseline = of_campaign("baseline", 20, 0.5);
  const Side candidate = of_campaign("candidate", 20, 0.505);
  // Of 96 planned pairs the first look is not reached; of 20 all are.
  const auto with = [&](const std::optional<Night>& night) {
    const auto plan = night ? std::optional(GatePlan{{*night}}) : std::nullopt;
    return gate_results(baseline, candidate, rules_for_steps(), plan);
  };
  CHECK(row(with(Night{96, {}}), "time.step").verdict == Verdict::kInconclusive);
  CHECK_THAT(row(with(Night{96, {}}), "time.step").note, Catch::Contains("24"));
  CHECK(row(with(Night{96, 20}), "time.step").verdict == Verdict::kSame);
  CHECK(row(with(Night{20, {}}), "time.step").verdict == Verdict::kSame);
  // Files from before plans were kept: what is there counts as planned, and that is said.
  CHECK(row(with(std::nullopt), "time.step").verdict == Verdict::kSame);
  CHECK(with(std::nullopt).notes.size() == with(Night{20, {}}).notes.size() + 1);
}

TEST_CASE("a candidate that is slow in some starts is named so", "[gate]") {
  Side candidate = of_campaign("candidate", 48, 0.5);
  for (std::size_t i = 0; i < 48; i += 3) {
    candidate.runs[i].metrics = {sample_metric("time.step", "s", std::vector<double>(8, 0.56), 0)};
  }
  const GateReport report = judged(of_campaign("baseline", 48, 0.5), candidate);
  const GateRow& step = row(report, "time.step");
  CHECK(step.verdict == Verdict::kRegressed);
  CHECK_THAT(step.note, Catch::Contains("slow in some starts"));
  REQUIRE(step.slow);
  CHECK(step.slow->candidate * 3 == step.n);
  CHECK(step.slow->baseline == 0);
  // Both errors, and what "same" would rest on, are in what programs read.
  const auto printed = nlohmann::json::parse(render_gate(report, "json", false));
  CHECK(printed["errors"]["false_alarm"] == 0.05);
  CHECK(printed["errors"]["false_same"] == 0.05);
  CHECK(printed["rows"][0]["slow_starts"]["candidate"] == step.slow->candidate);
  CHECK(printed["rows"][0]["same_interval"]["high"] >= printed["rows"][0]["same_interval"]["low"]);
  CHECK(printed["rows"][0]["improvement"]["confidence"] >= 0.95);
}

TEST_CASE("memory that differs from run to run is not taken for clear", "[gate]") {
  const auto bytes = [](Side side, double odd) {
    for (Result& run : side.runs) run.memory.peak_bytes = 1e9;
    side.runs.front().memory.peak_bytes = odd;
    return side;
  };
  const Side baseline = bytes(of_campaign("baseline", 20, 0.5), 1e9);
  const auto verdict = [&](double odd) {
    const GateReport report = judged(baseline, bytes(of_campaign("candidate", 20, 0.5), odd));
    return row(report, "memory.peak").verdict;
  };
  CHECK(verdict(1e9) == Verdict::kSame);
  CHECK(verdict(1.0001e9) == Verdict::kSame);
  CHECK(verdict(1.5e9) == Verdict::kInconclusive);
}
