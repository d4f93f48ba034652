// Whose checks of the quality count: the gate's, and never a side's own.
#include "harness/gate/differences.hpp"

#include <catch2/catch.hpp>

#include "tests/support/gate_sides.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a candidate that loosens its own tolerance is not comparable", "[gate][oracle]") {
  const Edit loosened = [](Result& run) { run.quality->quality.checks.at(0).tolerance *= 10; };
  const GateReport report =
      judged(of_campaign("baseline", 20, 0.5), of_campaign("candidate", 20, 0.4, loosened));
  REQUIRE(report.forbidding.size() == 1);
  CHECK(report.forbidding[0].name == kChecksDiffer);
  CHECK(report.forbidding[0].baseline == "loss within 1e-05");
  CHECK(report.forbidding[0].candidate == "loss within 0.0001");
  CHECK(exit_code(report, true) == ExitCode::kInconclusive);
  // The way out is a person's.
  CHECK(rules_alone_forbid(report));
  // Each precision has tolerances of its own, which the gate's rules know.
  const Edit bf16 = [&](Result& run) {
    loosened(run);
    run.settings.effective["precision"] = "bf16";
  };
  CHECK(judged(of_campaign("baseline", 20, 0.5), of_campaign("candidate", 20, 0.5, bf16))
            .forbidding.empty());
}

TEST_CASE("sides whose checks are not what the gate asks for are not comparable",
          "[gate][oracle]") {
  const Edit foreign = [](Result& run) { run.quality->foreign_checks = "other golden data"; };
  for (const bool both : {false, true}) {
    CAPTURE(both);
    const GateReport report = judged(of_campaign("baseline", 20, 0.5, both ? foreign : Edit{}),
                                     of_campaign("candidate", 20, 0.5, foreign));
    REQUIRE(report.forbidding.size() == 1);
    CHECK(report.forbidding[0].name == kChecksDiffer);
    CHECK(report.forbidding[0].candidate == "other golden data");
  }
}
