#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "harness/base/error.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "kernels/runtime/allocator.hpp"
#include "tests/support/tensors.hpp"
#include "workloads/retinanet/anchors.hpp"
#include "workloads/retinanet/cost.hpp"
#include "workloads/retinanet/model.hpp"
#include "workloads/retinanet/postprocess.hpp"
#include "workloads/retinanet/random.hpp"

using namespace harness;
using namespace harness::workloads;
using harness::tests::floats;
using harness::tests::longs;

namespace {

std::vector<float> to_floats(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.const_data_ptr<float>(), flat.const_data_ptr<float>() + flat.numel()};
}

std::vector<int64_t> to_longs(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

}  // namespace

TEST_CASE("base anchors of P3 are the reference's", "[retinanet][anchors]") {
  CHECK(to_floats(base_anchors(0)) ==
        std::vector<float>{-23, -11, 23, 11, -28, -14, 28, 14, -35, -18, 35, 18,
                           -16, -16, 16, 16, -20, -20, 20, 20, -25, -25, 25, 25,
                           -11, -23, 11, 23, -14, -28, 14, 28, -18, -35, 18, 35});
  // Sizes are cut to whole numbers: 812, not 813, for the largest of P7.
  CHECK(to_floats(base_anchors(4)[5]) == std::vector<float>{-406, -406, 406, 406});
}

TEST_CASE("800x800 has 120,087 anchors on strides 8, 16, 32, 61, 114", "[retinanet][anchors]") {
  const std::vector<at::Tensor> levels = level_anchors(800, 800);
  REQUIRE(levels.size() == 5);
  const int64_t maps[] = {100, 50, 25, 13, 7};
  const float strides[] = {8, 16, 32, 61, 114};
  int64_t total = 0;
  for (size_t i = 0; i < 5; ++i) {
    CHECK(levels[i].size(0) == maps[i] * maps[i] * 9);
    CHECK((levels[i][9] - levels[i][0])[0].item<float>() == strides[i]);
    CHECK((levels[i][9 * maps[i]] - levels[i][0])[1].item<float>() == strides[i]);
    total += levels[i].size(0);
  }
  CHECK(total == 120087);
  CHECK(anchor_count(800, 800) == 120087);
  const at::Tensor coarsest = level_anchors(320, 224)[4];
  const int64_t stride = 320 / 3;     // of three rows, rounded down
  constexpr int64_t second_row = 18;  // after two locations of 9 anchors
  CHECK(coarsest[second_row][1].item<float>() - coarsest[0][1].item<float>() ==
        static_cast<float>(stride));
}

TEST_CASE("parameter counts are those of the reference", "[retinanet][parameters]") {
  const RetinaNetParameters store(264);
  int64_t parameters = 0;
  int64_t trainable = 0;
  for (const Parameter& parameter : store.all()) {
    if (!parameter.buffer) parameters += parameter.tensor.numel();
    if (parameter.trainable) trainable += parameter.tensor.numel();
    CHECK(parameter.tensor.requires_grad() == parameter.trainable);
  }
  CHECK(parameters == 37060652);
  CHECK(trainable == 36849004);
  CHECK(store.all().size() == 301);
  CHECK(store.trainable().size() == 78);
  CHECK(store.get("head.classification_head.cls_logits.weight").sizes() ==
        at::IntArrayRef{2376, 256, 3, 3});
  CHECK(store.find("backbone.body.fc.weight") == nullptr);
  CHECK_THROWS_AS(store.get("nothing"), std::out_of_range);
}

TEST_CASE("initial values: the distributions of the reference, one seed one set of bits",
          "[retinanet][parameters]") {
  RetinaNetParameters store(4);
  store.set_initial_values(11);
  const auto deviation = [&](const char* name) {
    return store.get(name).detach().std().item<double>();
  };
  CHECK(deviation("backbone.body.layer3.0.conv3.weight") ==
        Approx(std::sqrt(2.0 / 1024)).epsilon(0.01));
  CHECK(deviation("backbone.fpn.inner_blocks.1.weight") ==
        Approx(std::sqrt(1.0 / 1024)).epsilon(0.01));
  CHECK(store.get("backbone.fpn.inner_blocks.1.weight").max().item<double>() <=
        std::sqrt(3.0 / 1024));
  CHECK(deviation("head.regression_head.conv.2.weight") == Approx(0.01).epsilon(0.01));
  CHECK(store.get("head.classification_head.cls_logits.bias")[0].item<float>() == -4.59511985F);
  CHECK(store.get("backbone.body.bn1.running_var").sum().item<float>() == 64);
  CHECK(store.get("backbone.body.bn1.running_mean").sum().item<float>() == 0);
  RetinaNetParameters again(4);
  again.set_initial_values(11);
  RetinaNetParameters other(4);
  other.set_initial_values(12);
  const char* name = "backbone.body.layer2.1.conv2.weight";
  CHECK(at::equal(store.get(name), again.get(name)));
  CHECK_FALSE(at::equal(store.get(name), other.get(name)));
  CHECK_THROWS_AS(store.set(name, at::zeros({3})), std::invalid_argument);
}

TEST_CASE("random numbers are frozen", "[retinanet][random]") {
  CHECK(fnv1a64("") == 0xCBF29CE484222325ULL);
  CHECK(fnv1a64("a") == 0xAF63DC4C8601EC8CULL);
  CHECK(splitmix64(0, 0) == 0xE220A8397B1DCDAFULL);
  for (const double x : {1e-18, 0.1, 0.70710678, 0.999999, 1.0, 1.5, 3e10}) {
    CHECK(portable_log(x) == Approx(std::log(x)).epsilon(1e-15).margin(1e-300));
  }
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  constexpr int kCount = 200000;
  for (int i = 0; i < kCount; ++i) {
    const double x = standard_normal(42, static_cast<std::uint64_t>(i));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  CHECK(sum / kCount == Approx(0).margin(0.01));
  CHECK(squares / kCount == Approx(1).epsilon(0.01));
  CHECK(fourth / kCount == Approx(3).epsilon(0.05));
}

TEST_CASE("cost at batch 1, 800x800: 111 convolutions, 402 and 1161 GF", "[retinanet][cost]") {
  const Cost cost = retinanet_cost(1, 800, 800, 264, false);
  CHECK(cost.calls.at("convolutions") == 111);
  CHECK(cost.forward_flops / 1e9 == Approx(402).margin(0.5));
  CHECK(cost.step_flops / 1e9 == Approx(1161).margin(0.5));
  CHECK(retinanet_cost(4, 800, 800, 264, false).step_flops == 4 * cost.step_flops);
  CHECK(retinanet_cost(1, 800, 800, 264, true).step_bytes < cost.step_bytes);
  CHECK(retinanet_memory_bytes(1000000000, 800, 800, 264, 10) > 1e18);
}

TEST_CASE("the memory estimate is above the measured peak, and not far", "[retinanet][cost]") {
  kernels::use_allocator("system");
  RetinaNet model({.num_classes = 100, .height = 128, .width = 160});
  model.parameters().set_initial_values(1);
  kernels::AdamState optimizer = kernels::make_adam_state(model.parameters().trainable());
  const Batch batch = transform(
      {at::rand({3, 128, 160}), at::rand({3, 128, 160})},
      {{floats({1, 4}, {9, 9, 90, 90}), longs({1})}, {at::empty({0, 4}), longs({})}}, 128, 160);
  kernels::reset_peak_memory();
  const auto held = static_cast<double>(kernels::memory_counters().current_bytes);
  model.loss(model.forward(batch.images), batch.targets).total().backward();
  kernels::optimizer_operator().get("reference")(optimizer, 1e-4);
  const auto peak = static_cast<double>(kernels::memory_counters().peak_bytes);
  const double estimate = retinanet_memory_bytes(2, 128, 160, 100, 1);
  INFO("held " << held << " peak " << peak << " estimate " << estimate);
  CHECK(peak > held);
  CHECK(estimate > peak);
  CHECK(estimate < 1.5 * peak);
}

TEST_CASE("the table of calls has the shapes the model computes", "[retinanet][cost]") {
  const RetinaNet model({.num_classes = 3, .height = 200, .width = 136});
  const at::NoGradGuard no_grad;
  const HeadOutputs outputs = model.forward(at::zeros({1, 3, 200, 136}));
  const auto calls = retinanet_calls(1, 200, 136, 3);
  const auto sizes = pyramid_sizes(200, 136);
  size_t level = 0;
  for (const ConvolutionCall& call : calls) {
    if (call.layer.name != "head.classification_head.cls_logits") continue;
    CHECK(outputs.logits[level].sizes() ==
          at::IntArrayRef{1, call.layer.out_channels, call.out_height, call.out_width});
    CHECK(sizes[level].height == call.out_height);
    CHECK(sizes[level].width == call.out_width);
    ++level;
  }
  CHECK(level == 5);
  CHECK(outputs.logits[0].is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST_CASE("images are normalised, then resized; boxes follow per axis", "[retinanet][transform]") {
  const at::Tensor image = at::full({3, 4, 8}, 0.485F);
  const Batch batch = transform({image}, {{floats({1, 4}, {1, 1, 4, 3}), longs({0})}}, 8, 32);
  CHECK(batch.images.sizes() == at::IntArrayRef{1, 3, 8, 32});
  CHECK(batch.images[0][0].abs().max().item<float>() < 1e-6);
  CHECK(batch.images[0][1][0][0].item<float>() == Approx((0.485 - 0.456) / 0.224).epsilon(1e-4));
  CHECK(to_floats(batch.targets[0].boxes) == std::vector<float>{4, 2, 16, 6});
  CHECK(batch.images.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK_THROWS_AS(transform({image}, {{floats({1, 4}, {1, 1, 1, 3}), longs({0})}}, 8, 32), Error);
  CHECK_THROWS_AS(transform({at::zeros({1, 4, 8})}, {}, 8, 32), Error);
}

TEST_CASE("NMS drops what overlaps a better box by more than the threshold", "[retinanet][nms]") {
  const at::Tensor boxes = floats({4, 4}, {0, 0, 10, 10, 0, 0, 10, 5, 0, 0, 10, 6, 20, 20, 30, 30});
  const at::Tensor scores = floats({4}, {0.9F, 0.8F, 0.7F, 0.95F});
  // Box 1 overlaps box 0 by exactly 0.5: kept. Box 2 by 0.6: dropped.
  CHECK(to_longs(nms(boxes, scores, 0.5)) == std::vector<int64_t>{3, 0, 1});
  // Equal scores keep their order.
  CHECK(to_longs(nms(boxes, at::ones({4}), 0.5)) == std::vector<int64_t>{0, 1, 3});
  CHECK(nms(at::empty({0, 4}), at::empty({0}), 0.5).numel() == 0);
  CHECK(to_longs(batched_nms(boxes, scores, longs({0, 0, 1, 0}), 0.5)) ==
        std::vector<int64_t>{3, 0, 1, 2});
}

TEST_CASE("NMS keeps what a loop over pairs keeps", "[retinanet][nms]") {
  at::manual_seed(2);
  for (const int64_t count : {1, 7, 64, 333}) {
    // Whole numbers make overlaps of exactly one half and boxes of no area; scores repeat.
    const at::Tensor corners = at::randint(40, {count, 2}, at::kFloat);
    const at::Tensor boxes =
        at::cat({corners, corners + at::randint(24, {count, 2}, at::kFloat)}, 1);
    const at::Tensor scores = at::randint(50, {count}, at::kFloat) / 50;
    const std::vector<float> box = to_floats(boxes);
    const auto corner = [&](int64_t i, int64_t k) { return box[static_cast<size_t>(4 * i + k)]; };
    const auto area = [&](int64_t i) {
      return (corner(i, 2) - corner(i, 0)) * (corner(i, 3) - corner(i, 1));
    };
    std::vector<int64_t> expected;
    for (const int64_t i : to_longs(std::get<1>(scores.sort(true, 0, true)))) {
      const bool dropped = std::any_of(expected.begin(), expected.end(), [&](int64_t better) {
        const float width =
            std::min(corner(i, 2), corner(better, 2)) - std::max(corner(i, 0), corner(better, 0));
        const float height =
            std::min(corner(i, 3), corner(better, 3)) - std::max(corner(i, 1), corner(better, 1));
        const float both = std::max(width, 0.0F) * std::max(height, 0.0F);
        return both / (area(better) + area(i) - both) > 0.5F;
      });
      if (!dropped) expected.push_back(i);
    }
    CHECK(to_longs(nms(boxes, scores, 0.5)) == expected);
  }
}

TEST_CASE("detections do not hang on the number of threads", "[retinanet][detect]") {
  RetinaNet model({.num_classes = 2, .height = 64, .width = 64});
  model.parameters().set_initial_values(3);
  model.parameters().set("head.classification_head.cls_logits.bias", at::full({18}, 1.0F));
  const std::vector<at::Tensor> images = {at::rand({3, 32, 128}), at::rand({3, 64, 64}),
                                          at::rand({3, 50, 70})};
  const std::vector<Detections> one = model.detect(images);
  const tests::ThreadScope scope(2);
  const std::vector<Detections> two = model.detect(images);
  REQUIRE(one.size() == 3);
  REQUIRE(two.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    CHECK(one[i].scores.numel() > 0);
    CHECK(at::equal(one[i].labels, two[i].labels));
    CHECK(at::allclose(one[i].scores, two[i].scores, 1e-6));
    CHECK(at::allclose(one[i].boxes, two[i].boxes, 1e-5, 1e-4));
  }
}

TEST_CASE("both ways of NMS by class agree", "[retinanet][nms]") {
  at::manual_seed(9);
  const at::Tensor corners = at::rand({1200, 2}) * 100;
  const at::Tensor boxes = at::cat({corners, corners + at::rand({1200, 2}) * 40 + 5}, 1);
  const at::Tensor scores = at::rand({1200});
  const at::Tensor labels = at::randint(3, {1200}, at::kLong);
  const std::vector<int64_t> all = to_longs(batched_nms(boxes, scores, labels, 0.5));
  std::vector<int64_t> one_by_one;
  for (int64_t label = 0; label < 3; ++label) {
    const at::Tensor members = at::where(labels == label).at(0);
    const at::Tensor member_boxes = boxes.index_select(0, members);
    const at::Tensor member_scores = scores.index_select(0, members);
    // At most 1000 boxes a class, so the other way is taken here.
    const at::Tensor kept = batched_nms(member_boxes, member_scores, at::zeros_like(members), 0.5);
    for (const int64_t index : to_longs(members.index_select(0, kept))) one_by_one.push_back(index);
  }
  std::sort(one_by_one.begin(), one_by_one.end(), [&](int64_t a, int64_t b) {
    return scores[a].item<float>() > scores[b].item<float>();
  });
  CHECK(all == one_by_one);
  CHECK(all.size() < 1200);
}

TEST_CASE("detections: threshold, best 300, clipped, original pixels", "[retinanet][detect]") {
  RetinaNet model({.num_classes = 2, .height = 64, .width = 64});
  model.parameters().set_initial_values(3);
  const std::vector<at::Tensor> images = {at::rand({3, 32, 128})};
  CHECK(model.detect(images)[0].scores.numel() == 0);  // the prior keeps all scores at 0.01
  model.parameters().set("head.classification_head.cls_logits.bias", at::full({18}, 1.0F));
  const Detections found = model.detect(images)[0];
  REQUIRE(found.scores.numel() > 0);
  CHECK(found.scores.numel() <= kDetectionsPerImage);
  CHECK(found.boxes.select(1, 2).max().item<float>() <= 128);
  CHECK(found.boxes.select(1, 3).max().item<float>() <= 32);
  CHECK(found.boxes.min().item<float>() >= 0);
  CHECK(found.labels.max().item<int64_t>() <= 1);
  CHECK((found.scores.slice(0, 1) <= found.scores.slice(0, 0, -1)).all().item<bool>());
}

TEST_CASE("the same seed gives the same losses bit for bit, and training lowers them",
          "[retinanet][train]") {
  const auto train = [](std::uint32_t seed, int steps) {
    RetinaNet model({.num_classes = 3, .height = 64, .width = 96});
    model.parameters().set_initial_values(seed);
    kernels::AdamState optimizer = kernels::make_adam_state(model.parameters().trainable());
    at::manual_seed(1);
    const Batch batch = transform(
        {at::rand({3, 64, 96}), at::rand({3, 50, 40})},
        {{floats({1, 4}, {10, 10, 40, 50}), longs({1})}, {at::empty({0, 4}), longs({})}}, 64, 96);
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) {
      const Losses loss = model.loss(model.forward(batch.images), batch.targets);
      losses.push_back(loss.total().item<double>());
      loss.total().backward();
      kernels::optimizer_operator().get("reference")(optimizer, 1e-4);
      kernels::clear_gradients(optimizer);
    }
    return losses;
  };
  const std::vector<double> first = train(5, 4);
  CHECK(first == train(5, 4));
  CHECK(first != train(6, 4));
  CHECK(first.back() < first.front());
}

TEST_CASE("a model is not built with kernels that do not exist", "[retinanet]") {
  CHECK_THROWS_AS(
      RetinaNet({.num_classes = 2, .height = 64, .width = 64, .kernels = {{"focal-loss", "none"}}}),
      std::invalid_argument);
}
