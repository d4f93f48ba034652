// What changes between two profiles adds up to what changes of the step.
#include "harness/report/page/profile_difference.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>

#include "tests/support/sample_profile.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

double sum_of(const std::vector<DifferenceRow>& rows) {
  return std::accumulate(rows.begin(), rows.end(), 0.0,
                         [](double sum, const DifferenceRow& row) { return sum + row.change(); });
}

const DifferenceRow& row_named(const std::vector<DifferenceRow>& rows, const std::string& name,
                               const std::string& detail = "") {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const DifferenceRow& row) {
    return row.name == name && row.detail == detail;
  });
  REQUIRE(found != rows.end());
  return *found;
}

/// The sample with kernels of ours in the head: one operator instead of another, 0.8 s instead
/// of 2.
ProfileTables with_kernels() {
  ProfileTables tables = sample_tables();
  tables.operators[1].name = "conv-block.backward";
  tables.operators[1].self_seconds = 0.8;
  tables.operators[4].self_seconds = 0.75;
  tables.between_seconds = 0.25;
  tables.step_seconds = 10 - 1.2 + 0.25 - 0.25;
  tables.primitives[1].primitive.implementation = "brgconv:avx512_core";
  tables.primitives[1].seconds = 0.5;
  tables.primitives[2].primitive.direction = "forward_inference";
  return tables;
}

}  // namespace

TEST_CASE("changes add up to that of the step, the largest first", "[report][profile]") {
  const ProfileDifference difference = difference_of(sample_tables(), with_kernels());
  const double step = difference.other_step - difference.first_step;
  CHECK(step == Approx(-1.2));
  for (const auto* rows : {&difference.parts, &difference.modules, &difference.operators}) {
    CHECK(sum_of(*rows) == Approx(step));
    CHECK(std::is_sorted(rows->begin(), rows->end(),
                         [](const DifferenceRow& a, const DifferenceRow& b) {
                           return std::abs(a.change()) > std::abs(b.change());
                         }));
  }
  CHECK(difference.parts.front().name == "head.conv");
  CHECK(difference.parts.front().change() == Approx(-1.2));
  CHECK(row_named(difference.parts, "optimizer").change() == Approx(0.25));
  CHECK(row_named(difference.parts, "(between operators)").change() == Approx(-0.25));
  // The module is the same under either kernels, its operator is not.
  CHECK(row_named(difference.modules, "head.conv", "backward").change() == Approx(-1.2));
  CHECK(row_named(difference.modules, "head.conv", "forward").change() == 0);
  const DifferenceRow& added = row_named(difference.operators, "conv-block.backward");
  CHECK_FALSE(added.first_seconds.has_value());
  CHECK(added.other_seconds == 0.8);
  const DifferenceRow& kept = row_named(difference.operators, "aten::convolution_backward");
  CHECK(kept.first_seconds == 6);
  CHECK(kept.other_seconds == 4);
}

TEST_CASE("primitives are told by what they compute and by how", "[report][profile]") {
  const ProfileDifference difference = difference_of(sample_tables(), with_kernels());
  CHECK(difference.work.front().name == "convolution backward_weights f32");
  const DifferenceRow& data = row_named(difference.work, "convolution backward_data f32");
  CHECK(data.first_seconds == 1.5);
  CHECK(data.other_seconds == 0.5);
  CHECK(data.first_calls == 2);
  // Forward passes for training and for inference are the same work.
  CHECK(row_named(difference.work, "convolution forward f32").change() == 0);
  CHECK_FALSE(row_named(difference.primitives, "convolution backward_data f32", "ref:any")
                  .other_seconds.has_value());
  CHECK_FALSE(
      row_named(difference.primitives, "convolution backward_data f32", "brgconv:avx512_core")
          .first_seconds.has_value());
}

TEST_CASE("a profile does not differ from itself, nor nothing from nothing", "[report][profile]") {
  const ProfileDifference same = difference_of(sample_tables(), sample_tables());
  for (const auto* rows : {&same.parts, &same.modules, &same.operators, &same.primitives}) {
    CHECK(std::all_of(rows->begin(), rows->end(),
                      [](const DifferenceRow& row) { return row.change() == 0; }));
  }
  const ProfileDifference nothing = difference_of({}, {});
  CHECK(nothing.work.empty());
  CHECK(sum_of(nothing.operators) == 0);
}
