// What a profile says should be done next: each rule on a profile that calls for it, and on one
// that does not.
#include "harness/profile/advice.hpp"

#include <catch2/catch.hpp>
#include <optional>
#include <vector>

#include "harness/profile/views.hpp"
#include "harness/report/text/advice_text.hpp"
#include "harness/system/page_faults.hpp"
#include "tests/support/profiled_step.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("nothing is advised that cannot be had", "[advice]") {
  CHECK(advise(ten_second_step(), pooled_facts()).empty());
}

TEST_CASE("memory that is asked for anew is worth its page faults", "[advice]") {
  ProfileTables made = ten_second_step();
  made.operators.push_back(operator_row("forward", "body", "aten::mul", 2));
  OperatorRow& one = made.operators.back();
  one.bytes = 3 * 300'000 * 4096.0;
  one.page_faults = 300'000;
  AdviceFacts known = pooled_facts();
  known.allocator = "system";
  known.possible = {{"allocator", "pooled"}};
  const auto all = advise(made, known);
  CHECK(expected_gain(all, "memory") == Approx(0.3));
  CHECK(find_advice(all, "memory")->change == AdvisedChange{"allocator", "pooled"});
  // No more than it took beyond moving its bytes, however much a fault costs.
  known.fault_seconds = 1;
  CHECK(expected_gain(advise(made, known), "memory") ==
        Approx(2 - 4 * 300'000 * 4096.0 / known.copy_bandwidth));
  // Less than one percent of the step is not worth a word.
  known.fault_seconds = pooled_facts().fault_seconds;
  one.page_faults = 99'000;
  CHECK(advise(made, known).empty());
}

TEST_CASE("with memory that is asked for anew the rest is counted without page faults",
          "[advice]") {
  OperatorRow one = operator_row("loss", "net.loss", "aten::mul", 2);
  // Few faults: each at its price.
  one.bytes = 1e12;
  one.page_faults = 1000;
  CHECK(gap_without_faults(one, 10e9, 1e-4) == Approx(2 - 0.1));
  CHECK(gap_without_faults(one, 10e9, 1) == 0);
  // A third of the bytes was faulted in: the traffic, with the lines written read before.
  one.bytes = 3 * 4096e5;
  one.page_faults = 1e5;
  CHECK(gap_without_faults(one, 10e9, 1e-4) == Approx(4 * 4096e5 / 10e9));
  // Bytes not known: as much read as written.
  one.bytes = 0;
  CHECK(gap_without_faults(one, 10e9, 1e-4) == Approx(3 * 4096e5 / 10e9));
  // Never more than it took.
  CHECK(gap_without_faults(one, 1, 1e-4) == 2);
  CHECK(gap_without_faults(one, 0, 1e-5) == Approx(1));
}

TEST_CASE("slow implementations, misses of the cache and threads are named", "[advice]") {
  ProfileTables made = ten_second_step();
  made.primitives[0].flops = 6e12;
  made.primitives.push_back(primitive_row("convolution", "mb1_ic8oc8_ih4oh4kh3sh1dh0ph1", 0, 1.5));
  made.primitives.back().primitive.implementation = "ref:any";
  made.primitives.back().flops = 1e11;
  made.primitives.back().created = 3;
  AdviceFacts known = pooled_facts();
  known.threads = 1;
  known.usable_cores = 4;
  const auto all = advise(made, known);
  CHECK(expected_gain(all, "slow implementations") == Approx(1.4));
  CHECK(find_advice(all, "primitive cache") != nullptr);
  REQUIRE(find_advice(all, "threads") != nullptr);
  CHECK(option_of(*find_advice(all, "threads")->change) == "--threads 4");
}

TEST_CASE("a remedy is asked for where its change is possible", "[advice]") {
  const std::vector<AdvisedChange> changes = {{"an-operator", "fast"}, {"an-operator", "custom"}};
  const auto nothing = [](const PricedStep&) { return std::optional<Advice>(); };
  // Kept as long as the program runs, as those of kernels are.
  static const RegisterRemedy second({changes[1], nothing});
  static const RegisterRemedy first({changes[0], nothing});
  CHECK(remedies_of({}).empty());
  CHECK(remedies_of({{"another-operator", "fast"}}).empty());
  REQUIRE(remedies_of({changes[0]}).size() == 1);
  CHECK(remedies_of({changes[0]})[0].change == changes[0]);
  const std::vector<Remedy> both = remedies_of(changes);
  REQUIRE(both.size() == 2);
  CHECK(both[0].change == changes[1]);  // by name
}

TEST_CASE("a remedy prices itself from the step and from its replays", "[advice]") {
  ProfileTables made = ten_second_step();
  made.operators[1].page_faults = 1000;
  made.operators[1].bytes = 1e12;
  AdviceFacts known = pooled_facts();
  known.fault_seconds = 1e-4;
  std::vector<bool> without_faults;
  std::vector<double> gaps;
  const Remedy remedy{
      {"an-operator", "fast"}, [&](const PricedStep& step) -> std::optional<Advice> {
        without_faults.push_back(step.without_faults);
        gaps.push_back(step.gap(step.tables.operators[1]));
        if (!step.recorded) return std::nullopt;
        return Advice{.topic = "an operator",
                      .expected_seconds = *step.recorded - step.replayed.value_or(0)};
      }};
  known.remedies = {{remedy, {}, {}}};
  CHECK(advise(made, known).empty());
  known.remedies = {{remedy, 3, 1}};
  known.allocator = "system";
  const auto all = advise(made, known);
  REQUIRE(all.size() == 1);
  CHECK(all[0].expected_seconds.value_or(0) == Approx(2));
  CHECK(all[0].change == AdvisedChange{"an-operator", "fast"});
  // Where memory is kept, faults are part of what there is to gain.
  CHECK(without_faults == std::vector<bool>{false, true});
  CHECK(gaps[0] == Approx(0.5));
  CHECK(gaps[1] == Approx(0.4));
}

TEST_CASE("what changes the arithmetic stands last, however much it brings", "[advice]") {
  AdviceFacts known = pooled_facts();
  known.possible = {{"precision", "bf16"}};
  known.projected_bf16 = 4;
  const auto price = [](const PricedStep&) {
    return std::optional(Advice{.topic = "an operator", .expected_seconds = 1});
  };
  known.remedies = {{{{"an-operator", "fast"}, price}, {}, {}}};
  const auto all = advise(ten_second_step(), known);
  REQUIRE(all.size() == 2);
  CHECK(all[0].topic == "an operator");
  CHECK(all[1].topic == "precision");
  CHECK(all[1].changes_numbers);
  CHECK(all[1].expected_seconds.value_or(0) == Approx(6));
}

TEST_CASE("a page fault costs something, and less than a millisecond", "[advice]") {
  for (const int threads : {1, 2}) {
    const double seconds = page_fault_seconds(threads);
    CHECK(seconds > 0);
    CHECK(seconds < 1e-3);
  }
}
