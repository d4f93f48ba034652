// COCO's twelve numbers: what must not change them, and random bits.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "harness/base/error.hpp"
#include "tests/support/coco_boxes.hpp"
#include "workloads/coco_map/coco_map.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

// The same draws on every standard library.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) {}
  std::uint32_t bits() { return static_cast<std::uint32_t>(random_()); }
  std::uint32_t below(std::uint32_t n) { return bits() % n; }
  double uniform() { return bits() / 4294967296.0; }
  double any_double() {
    return std::bit_cast<double>(std::uint64_t{bits()} << 32U | std::uint64_t{bits()});
  }

 private:
  std::mt19937 random_;
};

struct Scene {
  Truths truths{};
  Detections detections{};
};

Scene random_scene(std::uint32_t seed) {
  Draw draw(seed);
  Scene scene;
  for (int i = 0; i < 60; ++i) {
    const CocoBox box = {100 * draw.uniform(), 100 * draw.uniform(), 1 + 150 * draw.uniform(),
                         1 + 150 * draw.uniform()};
    CocoGroundTruth target = truth(box, 1 + draw.below(5));
    target.category_id = draw.below(3);
    target.crowd = draw.below(10) == 0;
    if (draw.below(3) != 0) scene.truths.push_back(target);
    for (std::uint32_t k = draw.below(4); k > 0; --k) {
      CocoDetection found = detection(draw.uniform(), box, target.image_id);
      found.category_id = target.category_id;
      found.box.x += 10 * draw.uniform();
      found.box.width *= 0.8 + 0.4 * draw.uniform();
      scene.detections.push_back(found);
    }
  }
  return scene;
}

}  // namespace

TEST_CASE("COCO metrics do not hang on what must not matter", "[coco]") {
  const std::uint32_t seed = GENERATE(1U, 2U, 3U, 4U, 5U);
  const Scene scene = random_scene(seed);
  const CocoMetrics metrics = evaluate_coco_boxes(scene.truths, scene.detections);
  const std::vector<double> expected = values(metrics);
  CHECK(metrics.ap > 0.05);  // or the rest would say little
  CHECK(metrics.ap < 0.95);
  CHECK(metrics.ap_75 < metrics.ap_50);
  CHECK(metrics.ap < metrics.ap_50);
  CHECK(metrics.ar_1 < metrics.ar_10);
  CHECK(metrics.ar_10 <= metrics.ar_100);

  Scene other = scene;
  SECTION("the order of the elements") {
    std::reverse(other.truths.begin(), other.truths.end());
    std::rotate(other.detections.begin(), other.detections.begin() + 7, other.detections.end());
  }
  SECTION("the scores but for their order") {
    for (CocoDetection& d : other.detections) d.score = std::exp(3 * d.score) - 50;
  }
  SECTION("the ids") {
    const auto rename = [](auto& element) {
      element.image_id = (element.image_id - 3) * 1'000'000'007'000;
      element.category_id = 5 - 11 * element.category_id;
    };
    std::for_each(other.truths.begin(), other.truths.end(), rename);
    std::for_each(other.detections.begin(), other.detections.end(), rename);
  }
  SECTION("left and right") {
    // In quarters of a pixel, where nothing is rounded.
    const auto snap = [](CocoBox& box) {
      for (double* value : {&box.x, &box.y, &box.width, &box.height}) {
        *value = std::ceil(*value * 4) / 4;
      }
    };
    Scene snapped = scene;
    for (CocoGroundTruth& t : snapped.truths) snap(t.box);
    for (CocoDetection& d : snapped.detections) snap(d.box);
    other = snapped;
    for (CocoGroundTruth& t : other.truths) t.box.x = 1000 - t.box.x - t.box.width;
    for (CocoDetection& d : other.detections) d.box.x = 1000 - d.box.x - d.box.width;
    CHECK(values(evaluate_coco_boxes(other.truths, other.detections)) ==
          values(evaluate_coco_boxes(snapped.truths, snapped.detections)));
    return;
  }
  SECTION("detections of what has no ground truth") {
    for (int i = 0; i < 20; ++i) {
      other.detections.push_back(detection(0.99));
      other.detections.back().category_id = 1000 + i;
    }
  }
  SECTION("another crowd away from everything") {
    CocoGroundTruth group = crowd({5000, 5000, 10, 10});
    group.category_id = scene.truths.front().category_id;
    other.truths.push_back(group);
  }
  const std::vector<double> actual = values(evaluate_coco_boxes(other.truths, other.detections));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(actual[i] == Approx(expected[i]).margin(1e-12));
  }
}

TEST_CASE("COCO metrics of any bits are in range or refused", "[coco]") {
  Draw draw(11);
  int taken = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto number = [&]() -> double {
      switch (draw.below(6)) {
        case 0:
          return std::abs(draw.any_double());
        case 1:
          return std::ldexp(1.0, static_cast<int>(draw.below(2000)) - 1000);
        default:
          return draw.below(40);
      }
    };
    const auto box = [&] { return CocoBox{number(), number(), number(), number()}; };
    Scene scene;
    for (std::uint32_t i = draw.below(8); i > 0; --i) {
      scene.truths.push_back({draw.below(2), draw.below(2), box(), number(), draw.below(4) == 0});
    }
    for (std::uint32_t i = draw.below(8); i > 0; --i) {
      scene.detections.push_back({draw.below(2), draw.below(2), box(), number()});
    }
    try {
      for (const double value : values(evaluate_coco_boxes(scene.truths, scene.detections))) {
        if (!(value == -1 || (value >= 0 && value <= 1))) FAIL(value);
      }
      ++taken;
    } catch (const Error&) {
    }
  }
  CHECK(taken > 1000);
}
