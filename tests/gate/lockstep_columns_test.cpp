// What the gate takes from sides in lockstep.
#include "harness/gate/lockstep_columns.hpp"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "tests/support/sample_clusters.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

GateColumn column(const LockstepColumns& columns, const char* tag) {
  GatedMetric metric;
  metric.tag = tag;
  return columns.columns({metric}).front();
}

}  // namespace

TEST_CASE("a cluster gives one improvement for each metric", "[gate][lockstep]") {
  LockstepColumns columns(0, 1);
  // Every fifth step of the candidate stalls: the median does not see it, the total does.
  const std::vector<MadeUpStep> even(10, {1.0});
  std::vector<MadeUpStep> stalling = even;
  stalling[3].seconds = stalling[8].seconds = 1.5;
  columns.add(made_up_cluster(1, made_up_side("baseline", 4, even),
                              made_up_side("candidate", 5, stalling)));
  columns.add(
      made_up_cluster(2, made_up_side("baseline", 4, even), made_up_side("candidate", 4, even)));

  const GateColumn unit = column(columns, "time.unit");
  CHECK(unit.metric.tag == "time.step");
  CHECK(unit.improvements.at(1) == Approx(1));
  CHECK(unit.baseline.at(1) == Approx(1));
  const GateColumn total = column(columns, "time.total");
  CHECK(total.improvements.at(1) == Approx(1 / 1.1));
  CHECK(total.candidate.at(1) == Approx(1.1));
  CHECK(total.improvements.at(2) == Approx(1));
  CHECK(column(columns, "time.start").improvements.at(1) == Approx(4 / 4.9));
  CHECK(columns.baseline() == "a baseline");
  for (const char* tag : {"time.unit", "time.total", "time.start"})
    CHECK(LockstepColumns::has(tag));
  CHECK_FALSE(LockstepColumns::has("memory.peak"));
}

TEST_CASE("a start that is later by less than a tenth of a second is none", "[gate][lockstep]") {
  const auto improvement = [](double baseline, double candidate) {
    LockstepColumns columns(0, 1);
    const std::vector<MadeUpStep> steps = {{1}};
    columns.add(made_up_cluster(1, made_up_side("baseline", baseline, steps),
                                made_up_side("candidate", candidate, steps)));
    return column(columns, "time.start").improvements.at(1);
  };
  CHECK(improvement(0.003, 0.009) == 1);
  CHECK(improvement(0.009, 0.003) == 1);
  CHECK(improvement(0.003, 0.103) == Approx(1));
  CHECK(improvement(0.1, 0.4) == Approx(1.0 / 3));
  CHECK(improvement(0.4, 0.1) == Approx(2));
  CHECK(improvement(10, 11.2) == Approx(10 / 11.1));
}

TEST_CASE("a stall that a side does not tell is in its total", "[gate][lockstep]") {
  const std::vector<MadeUpStep> even(10, {0.1});
  SideTurns hiding = made_up_side("candidate", 1, even);
  for (const std::size_t turn : {2, 7}) hiding.turns[turn].timed.parent_seconds += 0.051;
  // The way of an answer is none: up to a millisecond.
  hiding.turns[4].timed.parent_seconds += 0.001;
  LockstepColumns columns(0, 1);
  columns.add(made_up_cluster(1, made_up_side("baseline", 1, even), hiding));
  CHECK(column(columns, "time.unit").improvements.at(1) == Approx(1));
  CHECK(column(columns, "time.total").improvements.at(1) == Approx(1 / 1.1));
}

TEST_CASE("what slows both sides of a round falls out", "[gate][lockstep]") {
  LockstepColumns columns(0, 1);
  std::vector<MadeUpStep> before;
  std::vector<MadeUpStep> now;
  double machine = 1;
  for (int i = 0; i < 20; ++i) {
    machine *= i % 7 == 0 ? 2.0 : 0.9;
    before.push_back({machine});
    now.push_back({machine * 1.03});
  }
  columns.add(
      made_up_cluster(1, made_up_side("baseline", 1, before), made_up_side("candidate", 1, now)));
  CHECK(column(columns, "time.unit").improvements.at(1) == Approx(1 / 1.03));
  CHECK(column(columns, "time.total").improvements.at(1) == Approx(1 / 1.03));
}

TEST_CASE("losses are compared step by step, to the last bit", "[gate][lockstep]") {
  const std::vector<MadeUpStep> steps = {{1, 3.0}, {1, 2.5}, {1, 2.25}};
  LockstepColumns same(0, 1);
  same.add(
      made_up_cluster(1, made_up_side("baseline", 1, steps), made_up_side("candidate", 1, steps)));
  CHECK(same.losses().steps == 3);
  CHECK(same.losses().equal == 3);
  CHECK(same.losses().first_step == 0);

  std::vector<MadeUpStep> rounded = steps;
  rounded[0].loss = std::nextafter(3.0, 4.0);
  rounded[2].loss = 2.0;  // rounding grows behind the first step
  LockstepColumns differ(0, 1);
  differ.add(made_up_cluster(1, made_up_side("baseline", 1, steps),
                             made_up_side("candidate", 1, rounded)));
  CHECK(differ.losses().equal == 1);
  CHECK(differ.losses().first_step > 0);
  CHECK(differ.losses().first_step < 1e-15);
  CHECK(differ.losses().any_step == Approx(0.25 / 2.25));

  std::vector<MadeUpStep> wrong = steps;
  wrong[0].loss = 3.3;
  differ.add(
      made_up_cluster(2, made_up_side("baseline", 1, steps), made_up_side("candidate", 1, wrong)));
  CHECK(differ.losses().steps == 6);
  CHECK(differ.losses().first_step == Approx(0.3 / 3.3));

  // One that tells none where the other does has something to hide.
  SideTurns silent = made_up_side("candidate", 1, steps);
  for (LockstepTurn& turn : silent.turns) turn.timed.answer.losses.clear();
  LockstepColumns none(0, 1);
  none.add(made_up_cluster(1, made_up_side("baseline", 1, steps), silent));
  CHECK(none.losses().steps == 0);
  CHECK_FALSE(none.losses().told_alike);
  CHECK(same.losses().told_alike);
}
