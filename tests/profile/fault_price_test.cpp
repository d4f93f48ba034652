// What page faults are worth: priced from the step's own time in the operating system where the
// profile tells it; and what no advice explains.
#include <catch2/catch.hpp>
#include <vector>

#include "harness/profile/views.hpp"
#include "harness/report/text/advice_text.hpp"
#include "tests/support/profiled_step.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("memory is worth what the step's own thread spent in the operating system", "[advice]") {
  // 3 s for 600 k faults of the thread that runs the step: half of the time in the convolution,
  // whose output is new each time, 1 s in the loss, the rest between operators.
  ProfileTables made = ten_second_step();
  made.steps = 3;
  made.system = SystemTime{3, 600'000};
  made.operators.push_back(operator_row("loss", "net.loss", "aten::mul", 2));
  made.operators.back().bytes = 1e10;  // the other second
  AdviceFacts known = pooled_facts();
  known.allocator = "system";
  known.possible = {{"allocator", "pooled"}};
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    // A second thread has as many in the same time: it makes no fault dearer for the step.
    made.operators[0].system_seconds = 1.5;
    made.operators[0].page_faults = 300'000.0 * threads;
    made.operators.back().system_seconds = 1;
    made.operators.back().page_faults = 200'000.0 * threads;
    // Nor does it matter what a fault would cost in a loop here.
    for (const double loop : {0.0, 0.9e-6, 1.0}) {
      known.fault_seconds = loop;
      const auto all = advise(made, known);
      CHECK(expected_gain(all, "memory") == Approx(3));
      CHECK(find_advice(all, "memory")->primitive_seconds == Approx(1.5));
      CHECK_THAT(find_advice(all, "memory")->basis, Catch::Contains("5.00 us for each"));
    }
  }
  // With huge pages a fault costs much, and all of them little.
  made.system = SystemTime{0.15, 500};
  CHECK(expected_gain(advise(made, known), "memory") == Approx(0.15));
  made.system = SystemTime{0.05, 500};
  CHECK(advise(made, known).empty());
  // What the system took for something else is not memory's.
  made.system = SystemTime{3, 0};
  CHECK(advise(made, known).empty());
}

TEST_CASE("a profile that does not tell what its faults cost gets the price of a loop",
          "[advice]") {
  ProfileTables made = ten_second_step();
  made.steps = 3;
  made.operators.push_back(operator_row("forward", "body", "aten::mul", 2));
  made.operators.back().page_faults = 300'000;
  AdviceFacts known = pooled_facts();
  known.allocator = "system";
  known.possible = {{"allocator", "pooled"}};
  const auto older = advise(made, known);
  CHECK(expected_gain(older, "memory") == Approx(0.3));
  CHECK_THAT(find_advice(older, "memory")->basis, Catch::Contains("older than schema 1.5.0"));
  // A few ticks of the system's clock tell little.
  made.system = SystemTime{0.15, 300'000};
  made.step_seconds = known.step_seconds = 1;
  made.steps = 1;
  CHECK_THAT(find_advice(advise(made, known), "memory")->basis, Catch::Contains("more --steps"));
  made.steps = 2;
  CHECK_THAT(find_advice(advise(made, known), "memory")->basis, !Catch::Contains("more --steps"));
}

TEST_CASE("a remedy beside pooled memory is worth what is left without page faults", "[advice]") {
  ProfileTables made = ten_second_step();
  made.system = SystemTime{3, 600'000};
  OperatorRow one = operator_row("loss", "net.loss", "aten::mul", 2);
  one.bytes = 1e9;
  one.page_faults = 400'000;
  one.system_seconds = 1;
  // What a fault costs in a loop does not count.
  PricedStep step{made, 10e9, 1};
  CHECK(step.fault_cost(one) == 1);
  CHECK(step.gap(one) == Approx(1));
  // Its bytes have to move, whatever the system's clock says.
  one.system_seconds = 1.95;
  CHECK(step.gap(one) == Approx(0.1));
  one.system_seconds = 1e12;
  CHECK(step.fault_cost(one) == 2);
  CHECK(step.gap(one) == Approx(0.1));
  step.bandwidth = 0;
  CHECK(step.gap(one) == 0);
  step.bandwidth = 1;
  CHECK(step.gap(one) == 2);
  // Half of it is in primitives: so are half of the faults.
  one.primitive_seconds = 1;
  one.system_seconds = 1;
  step.bandwidth = 10e9;
  CHECK(step.gap(one) == Approx(0.5));
  // An operator that faults nowhere may give memory back: that takes its time, too.
  one.page_faults = 0;
  CHECK(step.fault_cost(one) == 1);
  CHECK(step.gap(one) == Approx(0.5));
  step.system_factor = 1.5;
  CHECK(step.fault_cost(one) == 1.5);
  CHECK(step.gap(one) == Approx(0.25));
  for (const double self : {0.0, -1.0}) {
    one.self_seconds = self;
    CHECK(step.fault_cost(one) == 0);
    CHECK(step.gap(one) == 0);
  }
  step.without_faults = false;
  one.self_seconds = 2;
  CHECK(step.gap(one) == 1);
}

TEST_CASE("what lies below the operating system is half of what is beyond the bytes", "[advice]") {
  ProfileTables made = ten_second_step();
  made.steps = 1;
  CHECK(system_factor(made, 10e9) == 1);
  made.system = SystemTime{1, 300'000};
  // 1 s in the system; 2 s in all, of which 0.4 s move the bytes: between 1 and 1.6 s.
  made.operators.push_back(operator_row("loss", "net.loss", "aten::mul", 2));
  OperatorRow& one = made.operators.back();
  one.page_faults = 250'000;
  one.bytes = 4e9 - 250'000 * 4096.0;
  one.system_seconds = 1;
  CHECK(system_factor(made, 10e9) == Approx(1.3));
  AdviceFacts known = pooled_facts();
  known.allocator = "system";
  known.possible = {{"allocator", "pooled"}};
  auto all = advise(made, known);
  CHECK(expected_gain(all, "memory") == Approx(1.3));
  CHECK_THAT(find_advice(all, "memory")->basis, Catch::Contains("times 1.30"));
  // Slow for another reason than memory: no more than twice.
  one.self_seconds = 9;
  CHECK(system_factor(made, 10e9) == 2);
  // All of it is in the system, or no bandwidth is known.
  one.self_seconds = 1;
  CHECK(system_factor(made, 10e9) == 1);
  one.self_seconds = 2;
  CHECK(system_factor(made, 0) == 1);
  // Huge pages: few faults, whose operators are slow for other reasons.
  one.page_faults = 1000;
  CHECK(system_factor(made, 10e9) == 1);
  // Never more than the step took.
  one.page_faults = 250'000;
  one.system_seconds = 8;
  one.self_seconds = 16;
  made.system->seconds = 9;
  CHECK(expected_gain(advise(made, known), "memory") == 10);
}

TEST_CASE("what no advice explains is said in a line", "[advice]") {
  // 6 of 10 s in primitives; of the other 4 s advice explains 1.5 + 0.5.
  ProfileTables made = ten_second_step();
  const std::vector<Advice> all = {
      {.topic = "memory", .expected_seconds = 2.5, .primitive_seconds = 1},
      {.topic = "an operator", .expected_seconds = 0.5},
      {.topic = "a primitive", .expected_seconds = 2, .primitive_seconds = 2},
      {.topic = "not known"},
      {.topic = "precision", .expected_seconds = 3, .changes_numbers = true}};
  CHECK(unexplained_seconds(made, 10, all) == Approx(2));
  CHECK(unexplained_seconds(made, 10, {}) == Approx(4));
  // A kernel of this project is at work, also where it is no primitive.
  made.operators.back().kernel = true;
  CHECK(unexplained_seconds(made, 10, {}) == Approx(3));
  // A plain step that is shorter than its parts were when recorded.
  CHECK(unexplained_seconds(made, 5, all) == 0);

  AdviceReport report;
  report.step_seconds = 10;
  report.unexplained_seconds = 3.9;
  report.advice = all;
  CHECK_THAT(render_advice(report, Profile()),
             Catch::Contains("\n3.900 s (39.0 %) of this step are explained by none of these"));
  CHECK(to_json(report)["unexplained_seconds"] == 3.9);
  report.advice.clear();
  CHECK_THAT(render_advice(report, Profile()), Catch::Contains("one percent.\n"));
  report.unexplained_seconds = 0.09;
  const std::string little = render_advice(report, Profile());
  CHECK_THAT(little, !Catch::Contains("explained"));
  CHECK_THAT(little, Catch::Contains("the primitives themselves"));
}
