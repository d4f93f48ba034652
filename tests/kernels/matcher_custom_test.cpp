// `matcher=custom` against the reference: every id the same, whatever the boxes.
#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/matcher/matcher.hpp"
#include "kernels/matcher/matcher_simd.hpp"
#include "tests/support/simd_targets.hpp"
#include "tests/support/tensors.hpp"

namespace kernels = harness::kernels;
using harness::tests::floats;
using harness::tests::ThreadScope;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

void check_same(const kernels::MatcherArguments& arguments) {
  const at::Tensor expected = kernels::matcher_operator().get("reference")(arguments);
  const at::Tensor actual = kernels::matcher_operator().get("custom")(arguments);
  REQUIRE(actual.scalar_type() == at::kLong);
  REQUIRE(actual.sizes() == expected.sizes());
  const at::Tensor wrong = (actual != expected).nonzero();
  if (wrong.size(0) == 0) return;
  const auto first = wrong[0].item<int64_t>();
  FAIL("anchor " << first << " of " << expected.size(0) << " has " << actual[first].item<int64_t>()
                 << ", not " << expected[first].item<int64_t>() << "; " << wrong.size(0)
                 << " differ");
}

/// A grid like that of a pyramid level: `per_location` boxes of several sizes around each point.
at::Tensor grid_anchors(int64_t height, int64_t width, float stride) {
  std::vector<float> values;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (const float half_width : {1.5F, 2.0F, 3.0F}) {
        for (const float half_height : {1.0F, 2.0F, 2.5F}) {
          const float centre_x = stride * static_cast<float>(x);
          const float centre_y = stride * static_cast<float>(y);
          values.insert(values.end(),
                        {centre_x - half_width * stride, centre_y - half_height * stride,
                         centre_x + half_width * stride, centre_y + half_height * stride});
        }
      }
    }
  }
  return floats({static_cast<int64_t>(values.size()) / 4, 4}, values);
}

/// Corners anywhere in `extent`; whole numbers make many ties.
at::Tensor random_boxes(int64_t count, float extent, bool whole_numbers) {
  at::Tensor corners = at::rand({count, 2, 2}) * extent;
  if (whole_numbers) corners = corners.round();
  const at::Tensor low = std::get<0>(corners.min(1));
  const at::Tensor high = std::get<0>(corners.max(1));
  return at::cat({low, high}, 1);
}

/// Each coordinate from `values`, so that every way in which two boxes can lie occurs.
at::Tensor boxes_from(const std::vector<float>& values, int64_t count, uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<float> drawn;
  for (int64_t i = 0; i < 4 * count; ++i) drawn.push_back(values[engine() % values.size()]);
  return floats({count, 4}, drawn);
}

}  // namespace

TEST_CASE("matcher=custom equals the reference on random boxes", "[kernels][matcher]") {
  at::manual_seed(11);
  for (const int64_t anchors : {1, 15, 16, 511, 512, 513, 1024, 3000}) {
    for (const int64_t boxes : {1, 2, 10, 300}) {
      for (const bool whole_numbers : {false, true}) {
        INFO(anchors << " anchors, " << boxes << " boxes, whole numbers " << whole_numbers);
        check_same({.boxes = random_boxes(boxes, 40, whole_numbers),
                    .anchors = random_boxes(anchors, 40, whole_numbers)});
      }
    }
  }
}

TEST_CASE("matcher=custom equals the reference on an anchor grid", "[kernels][matcher]") {
  at::manual_seed(12);
  const at::Tensor anchors = at::cat({grid_anchors(40, 50, 8), grid_anchors(20, 25, 16)});
  check_same({.boxes = random_boxes(20, 400, false), .anchors = anchors});
  check_same({.boxes = random_boxes(20, 400, true), .anchors = anchors});
  // Boxes that are anchors, twice; boxes around whole groups of anchors; boxes inside of one.
  const at::Tensor chosen = anchors.index_select(0, at::randint(anchors.size(0), {12}, at::kLong));
  check_same({.boxes = at::cat({chosen, chosen}), .anchors = anchors});
  const at::Tensor margin = floats({1, 4}, {-30, -30, 30, 30});
  check_same({.boxes = chosen + margin, .anchors = anchors});
  check_same({.boxes = chosen - margin / 20, .anchors = anchors});
  // Outside of the image, in part and as a whole: the latter turn all anchors positive.
  check_same({.boxes = chosen - 200, .anchors = anchors});
  check_same({.boxes = chosen + 1e4, .anchors = anchors});
  for (const auto& [high, low] : {std::pair{0.7, 0.3}, {0.5, 0.5}, {0.1, 0.0}, {0.3, 0.6}}) {
    INFO("thresholds " << high << " and " << low);
    check_same(
        {.boxes = random_boxes(20, 400, true), .anchors = anchors, .high = high, .low = low});
  }
}

TEST_CASE("matcher=custom equals the reference on degenerate boxes", "[kernels][matcher]") {
  const std::vector<std::vector<float>> palettes = {
      {0, 1, 2, 3},                                  // zero areas, inverted boxes, 0/0
      {0, -0.0F, 1, 5, kNan},                        // one box in a few holds a NaN
      {0, 1, 1e-30F, -1e-30F, 1e-38F, 1e-45F},       // areas that underflow
      {0, 1, 1e20F, -1e20F, 3e38F, -3e38F},          // areas that overflow
      {0, 1, 2, kInfinity, -kInfinity},              // infinite
      {0, 1, 2, kInfinity, -kInfinity, kNan, 3e38F}  // all of it
  };
  for (size_t palette = 0; palette < palettes.size(); ++palette) {
    for (uint32_t seed = 0; seed < 30; ++seed) {
      INFO("palette " << palette << ", seed " << seed);
      const at::Tensor anchors = boxes_from(palettes[palette], 700, 2 * seed + 1);
      check_same({.boxes = boxes_from(palettes[palette], 1 + seed, 2 * seed), .anchors = anchors});
      // Broken boxes among sound anchors, and the other way round.
      at::manual_seed(seed);
      check_same({.boxes = boxes_from(palettes[palette], 3, 2 * seed),
                  .anchors = random_boxes(700, 5, true) + floats({1, 4}, {0, 0, 1, 1})});
      check_same({.boxes = random_boxes(10, 5, true), .anchors = anchors});
    }
  }
}

TEST_CASE("matcher=custom: no boxes, no anchors, other layouts, wrong input",
          "[kernels][matcher]") {
  const auto custom = kernels::matcher_operator().get("custom");
  const at::Tensor anchors = grid_anchors(10, 10, 8);
  check_same({.boxes = at::empty({0, 4}), .anchors = anchors});
  CHECK(custom({.boxes = at::ones({2, 4}), .anchors = at::empty({0, 4})}).numel() == 0);
  at::manual_seed(13);
  const at::Tensor boxes = random_boxes(7, 80, true);
  check_same({.boxes = boxes.t().contiguous().t(), .anchors = anchors.t().contiguous().t()});
  check_same({.boxes = boxes.slice(0, 0, 7, 2), .anchors = anchors.slice(0, 1, 900, 3)});
  CHECK_THROWS_WITH(custom({.boxes = boxes.to(at::kDouble), .anchors = anchors}),
                    Catch::Contains("boxes as (rows, 4) float32"));
  CHECK_THROWS_WITH(custom({.boxes = boxes, .anchors = anchors.view({-1, 2, 2})}),
                    Catch::Contains("anchors as (rows, 4) float32"));
}

TEST_CASE("matcher=custom gives the same with every number of threads and instruction set",
          "[kernels][matcher]") {
  at::manual_seed(14);
  const at::Tensor anchors = grid_anchors(30, 30, 8);
  const at::Tensor boxes =
      at::cat({random_boxes(30, 240, true), floats({2, 4}, {0, 0, 9, kNan, 900, 900, 950, 950})});
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    check_same({.boxes = boxes, .anchors = anchors});
    check_same({.boxes = boxes.slice(0, 0, 30), .anchors = anchors});
  }
  harness::tests::for_each_simd_target([&](const std::string& target) {
    INFO(target);
    check_same({.boxes = boxes, .anchors = anchors});
    check_same({.boxes = boxes.slice(0, 0, 30), .anchors = anchors});
    check_same({.boxes = boxes_from({0, 1, kInfinity, kNan}, 20, 5),
                .anchors = boxes_from({0, 1, 2, kInfinity, kNan}, 700, 6)});
  });
}
