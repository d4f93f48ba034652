// Losses of sides in lockstep: when they have to agree to the last bit.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/support/gate_sides.hpp"
#include "tests/support/sample_clusters.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kClusters = 20;

/// Both sides with programs of these hashes; the candidate's losses are `apart` (a share) off, and
/// its model is another one than the baseline's, where there are models.
GateReport lockstep_of(const std::string& before, const std::string& now, double apart,
                       const std::vector<std::string>& models = {"", ""}) {
  const auto built = [](const std::string& sha256, const std::string& model) {
    return [sha256, model](Result& run) {
      run.rules.lockstep = true;
      if (!sha256.empty()) run.system["build"]["sha256"] = sha256;
      if (!model.empty()) run.settings.effective["model"] = model;
    };
  };
  LockstepNumbers numbers;
  for (int i = 1; i <= kClusters; ++i) {
    const std::vector<MadeUpStep> base(10, {1.0, 2.5});
    const std::vector<MadeUpStep> candidate(10, {1.0, 2.5 * (1 + apart)});
    numbers.to_baseline.add(made_up_cluster(i, made_up_side("baseline", 4, base),
                                            made_up_side("candidate", 4, candidate)));
  }
  GateRules rules = rules_for_steps();
  rules.lockstep.metrics = {{"time.unit", 0.015}};
  return gate_results(of_campaign("baseline", kClusters, 1, built(before, models[0])),
                      of_campaign("candidate", kClusters, 1, built(now, models[1])), rules,
                      std::nullopt, nullptr, &numbers);
}

}  // namespace

TEST_CASE("one program gives one loss, two programs may round", "[gate][lockstep]") {
  const std::string one(64, 'a');
  const std::string other(64, 'b');
  const auto verdict = [](const GateReport& report) { return row(report, "losses").verdict; };
  CHECK(verdict(lockstep_of(one, one, 0)) == Verdict::kSame);
  CHECK(verdict(lockstep_of(one, one, 1e-6)) == Verdict::kRegressed);
  CHECK_THAT(row(lockstep_of(one, one, 1e-6), "losses").note, Catch::Contains("the same program"));
  // Alike in compiler, flags and commit, and yet another file: another optimisation, say.
  CHECK(verdict(lockstep_of(one, other, 1e-6)) == Verdict::kSame);
  CHECK(verdict(lockstep_of(one, other, 0.02)) == Verdict::kRegressed);
  // Files before 1.8.0 do not say which program it was.
  CHECK(verdict(lockstep_of("", "", 1e-6)) == Verdict::kSame);
}

TEST_CASE("two models under one task are not held to each other's answers", "[gate][lockstep]") {
  const std::string program(64, 'a');
  const GateReport one = lockstep_of(program, program, 0.5, {"old", "new"});
  CHECK(std::none_of(one.rows.begin(), one.rows.end(),
                     [](const GateRow& row) { return row.tag == "losses"; }));
  CHECK(std::any_of(one.notes.begin(), one.notes.end(), [](const std::string& note) {
    return note.find("the sides run two models") != std::string::npos;
  }));
  CHECK(row(lockstep_of(program, program, 0.5, {"old", "old"}), "losses").verdict ==
        Verdict::kRegressed);
}
