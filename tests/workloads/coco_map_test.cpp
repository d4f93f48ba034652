// COCO's twelve numbers: cases worked by hand, and bad input. The comparison with pycocotools is
// tests/oracle/coco_map_oracle.py.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/coco_boxes.hpp"
#include "tests/support/refusal.hpp"
#include "workloads/coco_map/coco_map.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

void check_values(const Truths& truths, const Detections& detections,
                  const std::vector<double>& expected) {
  const auto actual = list_metrics(evaluate_coco_boxes(truths, detections));
  REQUIRE(expected.size() == actual.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    INFO(actual[i].name);
    CHECK(actual[i].value == Approx(expected[i]).margin(1e-12));
  }
}

}  // namespace

TEST_CASE("COCO metrics of nothing are absent", "[coco]") {
  const std::vector<double> absent(12, -1.0);
  check_values({}, {}, absent);
  check_values({}, {detection(0.5)}, absent);
  check_values({crowd(kBox)}, {detection(0.5)}, absent);
  // Ground truth without detections: of its size, and of any.
  check_values({truth()}, {}, {0, 0, 0, 0, -1, -1, 0, 0, 0, 0, -1, -1});
}

TEST_CASE("COCO metrics are listed by name, in pycocotools' order", "[coco]") {
  const auto list = list_metrics({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const std::vector<std::string> names = {"ap",        "ap_50",    "ap_75",     "ap_small",
                                          "ap_medium", "ap_large", "ar_1",      "ar_10",
                                          "ar_100",    "ar_small", "ar_medium", "ar_large"};
  for (std::size_t i = 0; i < list.size(); ++i) {
    CHECK(list[i].name == names[i]);
    CHECK(list[i].value == static_cast<double>(i + 1));
  }
}

TEST_CASE("COCO metrics worked by hand", "[coco]") {
  SECTION("found exactly") {
    check_values({truth()}, {detection(0.1)}, {1, 1, 1, 1, -1, -1, 1, 1, 1, 1, -1, -1});
  }
  SECTION("IoU exactly on the third threshold") {  // 60 / 100
    check_values({truth({0, 0, 10, 10})}, {detection(0.1, {0, 0, 10, 6})},
                 {0.3, 1, 0, 0.3, -1, -1, 0.3, 0.3, 0.3, 0.3, -1, -1});
  }
  SECTION("a wrong one between two right ones") {  // precision 1 up to recall 0.5, then 2/3
    const double ap = (51 * 1 + 50 * 2 / 3.0) / 101;
    check_values({truth(kBox), truth({50, 50, 20, 20})},
                 {detection(0.7, {50, 50, 20, 20}), detection(0.8, kElsewhere), detection(0.9)},
                 {ap, ap, ap, ap, -1, -1, 0.5, 1, 1, 1, -1, -1});
  }
  SECTION("the second on the same box is wrong, the third is behind it") {
    const double ap = (51 * 1 + 50 * 2 / 3.0) / 101;
    check_values({truth(kBox), truth(kBox, 2)},
                 {detection(0.9), detection(0.8), detection(0.7, kBox, 2)},
                 {ap, ap, ap, ap, -1, -1, 1, 1, 1, 1, -1, -1});
  }
  SECTION("precision rises again: the curve takes the best to its right") {
    // Wrong, right, right of 2: precisions 1/2 and 2/3, so 2/3 everywhere.
    check_values({truth(kBox), truth(kBox, 2)},
                 {detection(0.9, kElsewhere), detection(0.8), detection(0.7, kBox, 2)},
                 {2 / 3.0, 2 / 3.0, 2 / 3.0, 2 / 3.0, -1, -1, 0.5, 1, 1, 1, -1, -1});
  }
  SECTION("categories are averaged, those without ground truth left out") {
    Truths truths = {truth(), truth()};
    truths[1].category_id = 7;
    Detections detections = {detection(0.5), detection(0.5)};
    detections[1].category_id = -3;
    check_values(truths, detections, {0.5, 0.5, 0.5, 0.5, -1, -1, 0.5, 0.5, 0.5, 0.5, -1, -1});
  }
  SECTION("found in another image or category only") {
    Detections detections = {detection(0.5, kBox, 2), detection(0.5)};
    detections[1].category_id = 2;
    check_values({truth()}, detections, {0, 0, 0, 0, -1, -1, 0, 0, 0, 0, -1, -1});
  }
}

TEST_CASE("COCO metrics by area", "[coco]") {
  SECTION("limits belong to both neighbours") {
    check_values({truth({0, 0, 32, 32})}, {detection(0.5, {0, 0, 32, 32})},
                 {1, 1, 1, 1, 1, -1, 1, 1, 1, 1, 1, -1});
    check_values({truth({0, 0, 96, 96})}, {detection(0.5, {0, 0, 96, 96})},
                 {1, 1, 1, -1, 1, 1, 1, 1, 1, -1, 1, 1});
  }
  SECTION("the area counts, not the box") {
    CocoGroundTruth target = truth();
    target.area = 5000;
    check_values({target}, {detection(0.5)}, {1, 1, 1, -1, 1, -1, 1, 1, 1, -1, 1, -1});
  }
  SECTION("beyond 1e5 squared nothing counts") {
    CocoGroundTruth target = truth();
    target.area = std::nextafter(1e10, 2e10);
    check_values({target}, {detection(0.5)}, std::vector<double>(12, -1.0));
  }
  SECTION("a wrong detection spoils its own size and any size") {
    check_values(
        {truth(), truth({300, 0, 100, 100})},
        {detection(0.9, {0, 300, 100, 100}), detection(0.8), detection(0.7, {300, 0, 100, 100})},
        {2 / 3.0, 2 / 3.0, 2 / 3.0, 1, -1, 0.5, 0, 1, 1, 1, -1, 1});
  }
  SECTION("of one box annotated in two sizes, each size finds its own") {
    CocoGroundTruth large = truth();
    large.area = 1e4;
    const double half = 51.0 / 101;
    check_values({truth(), large}, {detection(0.5)},
                 {half, half, half, 1, -1, 1, 0.5, 0.5, 0.5, 1, -1, 1});
  }
}

TEST_CASE("COCO metrics with crowds", "[coco]") {
  const CocoBox group = {100, 100, 90, 90};
  SECTION("any number of detections in a crowd is neither right nor wrong") {
    Detections detections = {detection(0.1)};
    for (int i = 0; i < 5; ++i) detections.push_back(detection(0.9, {110, 110, 20, 20}));
    check_values({truth(), crowd(group)}, detections, {1, 1, 1, 1, -1, -1, 0, 1, 1, 1, -1, -1});
  }
  SECTION("half in the crowd is enough at the lowest threshold only") {
    // At 0.50 it is left out, at the other nine it is wrong and comes first.
    check_values({truth(), crowd(group)}, {detection(0.1), detection(0.9, {90, 110, 20, 20})},
                 {0.55, 1, 0.5, 0.55, -1, -1, 0, 1, 1, 1, -1, -1});
  }
  SECTION("a box that counts goes before a crowd that fits better") {
    check_values({crowd(group), truth({100, 100, 20, 20})}, {detection(0.9, {100, 100, 20, 16})},
                 {0.7, 1, 1, 0.7, -1, -1, 0.7, 0.7, 0.7, 0.7, -1, -1});
  }
}

TEST_CASE("COCO metrics with equal scores and equal overlaps", "[coco]") {
  const auto ap = [](const Truths& truths, const Detections& detections) {
    return evaluate_coco_boxes(truths, detections).ap_50;
  };
  SECTION("equal scores go by image id") {
    CHECK(ap({truth(kBox, 2)}, {detection(0.5, kBox, 2), detection(0.5, kBox, -1)}) == Approx(0.5));
    CHECK(ap({truth(kBox, -1)}, {detection(0.5, kBox, 2), detection(0.5, kBox, -1)}) == Approx(1));
  }
  SECTION("within an image by the order given") {
    CHECK(ap({truth()}, {detection(0.5, kElsewhere), detection(0.5)}) == Approx(0.5));
    CHECK(ap({truth()}, {detection(0.5), detection(0.5, kElsewhere)}) == Approx(1));
    CHECK(ap({truth()}, {detection(0.0, kElsewhere), detection(-0.0)}) == Approx(0.5));
  }
  SECTION("of ground truths that fit equally the last is taken") {
    // The first detection lies between both, 0.6 each; the second is the right one of them.
    const CocoBox left = {0, 0, 10, 10};
    const CocoBox right = {5, 0, 10, 10};
    const Detections detections = {detection(0.9, {2.5, 0, 10, 10}), detection(0.8, right)};
    CHECK(ap({truth(left), truth(right)}, detections) == Approx(51.0 / 101));
    CHECK(ap({truth(right), truth(left)}, detections) == Approx(1));
  }
}

TEST_CASE("COCO metrics look at the surest hundred detections", "[coco]") {
  for (const int before : {0, 1, 9, 10, 99, 100}) {
    Detections detections(static_cast<std::size_t>(before), detection(0.9, kElsewhere));
    detections.push_back(detection(0.5));
    detections.push_back(detection(0.4, kElsewhere));
    std::reverse(detections.begin(), detections.end());
    INFO(before);
    const CocoMetrics metrics = evaluate_coco_boxes(Truths{truth()}, detections);
    CHECK(metrics.ar_1 == (before < 1 ? 1 : 0));
    CHECK(metrics.ar_10 == (before < 10 ? 1 : 0));
    CHECK(metrics.ar_100 == (before < 100 ? 1 : 0));
    CHECK(metrics.ap == Approx(before < 100 ? 1.0 / (before + 1) : 0));
  }
}

TEST_CASE("COCO metrics of boxes without area and beyond doubles", "[coco]") {
  for (const double side : {0.0, 1e-300, 1e-170, 1e160, 1e307}) {
    INFO(side);
    const CocoBox box = {0, 0, side, side};
    CocoGroundTruth target = truth(box);
    target.area = 1;
    // A second ground truth, which a NaN must not lead to.
    check_values({target, truth({50, 50, 20, 20})}, {detection(0.5, box)},
                 {0, 0, 0, 0, -1, -1, 0, 0, 0, 0, -1, -1});
  }
}

TEST_CASE("COCO metrics refuse what has no meaning, and name it", "[coco]") {
  const auto refused = [](const Truths& truths, const Detections& detections) -> std::string {
    const ErrorParts found = refusal_of([&] { evaluate_coco_boxes(truths, detections); });
    return found.about.empty() ? "taken" : found.about + ": " + found.why;
  };
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    CHECK(refused({truth()}, {detection(0.5), detection(bad)}) ==
          "detection 1: its score is not finite");
    for (double CocoBox::*member : {&CocoBox::x, &CocoBox::y, &CocoBox::width, &CocoBox::height}) {
      CocoBox box = kBox;
      box.*member = bad;
      CHECK(refused({truth()}, {detection(0.5, box)}) == "detection 0: its box is not finite");
      CHECK(refused({truth(box)}, {}) == "ground truth 0: its box is not finite");
    }
    CocoGroundTruth target = truth();
    target.area = bad;
    CHECK(refused({truth(), target}, {}) == "ground truth 1: its area is not finite");
  }
  for (const CocoBox& box : {CocoBox{0, 0, -1, 1}, CocoBox{0, 0, 1, -1}}) {
    CHECK(refused({truth()}, {detection(0.5, box)}) ==
          "detection 0: its box has a negative extent");
    CHECK(refused({truth(box)}, {}) == "ground truth 0: its box has a negative extent");
  }
  CocoGroundTruth target = truth();
  target.area = -1;
  CHECK(refused({target}, {}) == "ground truth 0: its area is negative");
  CHECK(refused({truth({-5, -5, 3, 0})}, {detection(-7)}) == "taken");
}
