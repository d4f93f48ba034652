// COCO's numbers of a model on a split of pictures.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/tensors.hpp"
#include "workloads/retinanet/calibration.hpp"
#include "workloads/retinanet/detection_batches.hpp"
#include "workloads/retinanet/detection_evaluation.hpp"

namespace fs = std::filesystem;
using namespace harness;
using namespace harness::workloads;
using Catch::Contains;
using harness::tests::floats;
using harness::tests::longs;

namespace {

RetinaNetConfig tiny(bool bf16 = false) {
  return {.num_classes = 3,
          .height = 64,
          .width = 64,
          .bf16 = bf16,
          .architecture = {.stem_channels = 16,
                           .blocks = {1, 1, 1, 1},
                           .groups = 8,
                           .pyramid_channels = 32,
                           .pyramid_levels = 3,
                           .head_depth = 1,
                           .smallest_anchor = 16,
                           .trains_whole_body = true}};
}

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Grey noise with a bright rectangle at (x, y), `side` pixels wide and high.
void write_picture(const fs::path& path, int width, int height, int x, int y, int side) {
  Image image{width, height, {}};
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const bool bright = row >= y && row < y + side && column >= x && column < x + side;
      for (int channel = 0; channel < 3; ++channel) {
        const int value = bright ? 230 - 60 * channel : (row * 7 + column * 5) % 60;
        image.pixels.push_back(static_cast<std::uint8_t>(value));
      }
    }
  }
  const std::string png = encode_png(image);
  std::ofstream(path, std::ios::binary).write(png.data(), static_cast<std::streamsize>(png.size()));
}

AnnotationSet read_set(const fs::path& folder, const std::string& annotations,
                       const std::string& images) {
  write_text(folder / "eval.json",
             "{\"images\": " + images + ", \"annotations\": " + annotations +
                 R"(, "categories": [{"id": 4, "name": "a"}, {"id": 6, "name": "b"},
                                     {"id": 9, "name": "c"}]})");
  // The COCO policy: training would drop the crowd and the picture without boxes.
  return read_annotations(
      folder / "eval.json", folder,
      {.num_classes = 3, .keep_crowd = false, .keep_empty_images = false, .for_evaluation = true},
      {});
}

const char* const kImages =
    R"([{"id": 30, "file_name": "0.png", "width": 64, "height": 64},
        {"id": 10, "file_name": "1.png", "width": 96, "height": 48},
        {"id": 20, "file_name": "2.png", "width": 64, "height": 64}])";
// Image 20 has no box. The crowd reaches beyond its image, one box has an area of its own.
const char* const kAnnotations =
    R"([{"id": 1, "image_id": 30, "category_id": 4, "bbox": [15, 17, 32.5, 32.25], "area": 500},
        {"id": 2, "image_id": 10, "category_id": 9, "bbox": [40, 8, 32, 32], "iscrowd": 0},
        {"id": 3, "image_id": 10, "category_id": 6, "bbox": [-5, 0, 200, 90], "iscrowd": 1},
        {"id": 4, "image_id": 10, "category_id": 6, "bbox": [1, 2, -3, 4]},
        {"id": 5, "image_id": 10, "category_id": 6, "bbox": [1, null, 3, 4]}])";

AnnotationSet make_set(const fs::path& folder, const std::string& annotations = kAnnotations) {
  write_picture(folder / "0.png", 64, 64, 15, 17, 32);
  write_picture(folder / "1.png", 96, 48, 40, 8, 32);
  write_picture(folder / "2.png", 64, 64, 0, 0, 0);
  return read_set(folder, annotations, kImages);
}

std::vector<double> numbers(const CocoMetrics& metrics) {
  std::vector<double> values;
  for (const CocoMetric& metric : list_metrics(metrics)) values.push_back(metric.value);
  return values;
}

// Random weights that find much: scores above the threshold nearly everywhere.
void make_talkative(RetinaNet& model) {
  model.parameters().set_initial_values(3);
  at::manual_seed(4);
  calibrate_norms(model, at::randn({2, 3, 64, 64}));
  const at::NoGradGuard no_grad;
  model.parameters().get("head.classification_head.cls_logits.bias").zero_();
  model.parameters().get("head.classification_head.cls_logits.weight").normal_(0, 0.5);
  model.parameters().get("head.regression_head.bbox_reg.weight").normal_(0, 0.02);
}

}  // namespace

TEST_CASE("ground truth for evaluation is the file's own", "[evaluation]") {
  const TemporaryFolder folder;
  const AnnotationSet set = make_set(folder.path());
  CHECK(set.images.size() == 3);  // those without boxes count
  CHECK(set.boxes.size() == 2);   // what training takes is as before
  CHECK(set.report.dropped_crowd == 1);
  const std::vector<CocoGroundTruth> truth = coco_ground_truth(set);
  REQUIRE(truth.size() == 3);
  CHECK(truth[0].image_id == 30);
  CHECK(truth[0].category_id == 0);
  CHECK(truth[0].area == 500);
  CHECK(truth[0].box.width == 32.5);
  CHECK_FALSE(truth[0].crowd);
  CHECK(truth[1].image_id == 10);
  CHECK(truth[1].category_id == 2);
  CHECK(truth[1].area == 1024);
  CHECK(truth[2].crowd);
  CHECK(truth[2].category_id == 1);
  CHECK(truth[2].box.x == -5);
  CHECK(truth[2].box.width == 200);
}

TEST_CASE("detections become COCO's boxes", "[evaluation]") {
  const std::vector<CocoDetection> found =
      coco_detections({.boxes = floats({2, 4}, {1, 2, 11.5, 22, 0, 0, 64, 64}),
                       .scores = floats({2}, {0.75F, 0.5F}),
                       .labels = longs({2, 0})},
                      77);
  REQUIRE(found.size() == 2);
  CHECK(found[0].image_id == 77);
  CHECK(found[0].category_id == 2);
  CHECK(found[0].box.x == 1);
  CHECK(found[0].box.y == 2);
  CHECK(found[0].box.width == 10.5);
  CHECK(found[0].box.height == 20);
  CHECK(found[0].score == 0.75);
  CHECK(found[1].category_id == 0);
  CHECK(coco_detections({at::empty({0, 4}), at::empty({0}), at::empty({0}, at::kLong)}, 1).empty());
}

TEST_CASE("the evaluation is that of each picture's detections", "[evaluation]") {
  const TemporaryFolder folder;
  const AnnotationSet set = make_set(folder.path());
  const std::vector<CocoGroundTruth> truth = {{30, 0, {15, 17, 32.5, 32.25}, 500, false},
                                              {10, 2, {40, 8, 32, 32}, 1024, false},
                                              {10, 1, {-5, 0, 200, 90}, 18000, true}};
  for (const bool bf16 : {false, true}) {
    RetinaNet model(tiny(bf16));
    make_talkative(model);
    std::vector<CocoDetection> detections;
    const std::int64_t ids[] = {30, 10, 20};
    for (std::size_t i = 0; i < 3; ++i) {
      const Detections found = model.detect({load_sample(set, i, false).image})[0];
      CHECK(found.scores.numel() > 20);
      for (std::int64_t k = 0; k < found.scores.numel(); ++k) {
        const auto at = [&](int corner) { return double{found.boxes[k][corner].item<float>()}; };
        detections.push_back({ids[i],
                              found.labels[k].item<std::int64_t>(),
                              {at(0), at(1), at(2) - at(0), at(3) - at(1)},
                              double{found.scores[k].item<float>()}});
      }
    }
    const CocoMetrics expected = evaluate_coco_boxes(truth, detections);
    std::vector<std::pair<std::int64_t, std::int64_t>> told;
    int asked = 0;
    WorkloadContext context;
    context.progress = [&](const std::string& what, std::int64_t done, std::int64_t total) {
      CHECK(what == "evaluating");
      told.emplace_back(done, total);
    };
    context.interrupted = [&] { ++asked; };
    const CocoMetrics one_by_one = evaluate_detections(model, set, {1, 2}, context);
    CHECK(numbers(one_by_one) == numbers(expected));
    INFO("ar_100 " << expected.ar_100 << " ap " << expected.ap);
    CHECK(expected.ap > 0);
    CHECK(told ==
          std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 3}, {1, 3}, {2, 3}, {3, 3}});
    CHECK(asked >= 3);
    // Batches of two, the last one smaller: the same up to rounding.
    const CocoMetrics in_twos = evaluate_detections(model, set, {2, 1}, {});
    CHECK(in_twos.ar_100 == Approx(expected.ar_100).margin(0.11));
    CHECK(in_twos.ap == Approx(expected.ap).margin(0.02));
  }
}

TEST_CASE("a model trained on the pictures finds what is on them", "[evaluation]") {
  const TemporaryFolder folder;
  const AnnotationSet set = make_set(folder.path());
  RetinaNet model(tiny());
  model.parameters().set_initial_values(1);
  std::vector<at::Tensor> images;
  for (std::size_t i = 0; i < 2; ++i) images.push_back(load_sample(set, i, false).image);
  const Batch batch = transform(images,
                                {{floats({1, 4}, {15, 17, 47.5F, 49.25F}), longs({0})},
                                 {floats({1, 4}, {40, 8, 72, 40}), longs({2})}},
                                64, 64);
  calibrate_norms(model, batch.images);
  const CocoMetrics untrained = evaluate_detections(model, set, {}, {});
  CHECK(untrained.ap == 0);
  kernels::AdamState adam = kernels::make_adam_state(model.parameters().trainable());
  for (int i = 0; i < 120; ++i) {
    model.loss(model.forward(batch.images), batch.targets).total().backward();
    kernels::optimizer_operator().get("reference")(adam, 2e-3);
    kernels::clear_gradients(adam);
  }
  const CocoMetrics trained = evaluate_detections(model, set, {}, {});
  CHECK(trained.ap_50 > 0.9);
  CHECK(trained.ap > 0.6);
  CHECK(trained.ar_1 > 0.6);
  RetinaNet same(tiny(true));
  for (const Parameter& parameter : model.parameters().all()) {
    same.parameters().set(parameter.name, parameter.tensor);
  }
  const CocoMetrics bf16 = evaluate_detections(same, set, {}, {});
  CHECK(bf16.ap_50 > 0.9);
  CHECK(bf16.ap == Approx(trained.ap).margin(0.2));
}

TEST_CASE("what cannot be evaluated is refused in one line", "[evaluation]") {
  const TemporaryFolder folder;
  const RetinaNet model(tiny());
  const auto refused = [&](const AnnotationSet& set, const std::string& why) {
    CHECK_THROWS_WITH(evaluate_detections(model, set, {}, {}), Contains(why));
    CHECK_THROWS_AS(evaluate_detections(model, set, {}, {}), Error);
  };
  refused(AnnotationSet{}, "has no images");
  refused(make_set(folder.path(), "[]"), "has no box that counts");
  refused(make_set(folder.path(), R"([{"id": 3, "image_id": 10, "category_id": 6,
                                       "bbox": [0, 0, 9, 9], "iscrowd": 1}])"),
          "has no box that counts");
  const AnnotationSet set = make_set(folder.path());
  write_text(folder / "1.png", "no picture");
  refused(set, "1.png");
  WorkloadContext context;
  context.interrupted = [] { throw Interrupted(); };
  CHECK_THROWS_AS(evaluate_detections(model, set, {}, context), Interrupted);
}
