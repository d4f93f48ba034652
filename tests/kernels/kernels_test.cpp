#include <ATen/ATen.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include "kernels/box_loss/box_loss.hpp"
#include "kernels/boxes.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "kernels/focal_loss/focal_loss.hpp"
#include "kernels/head_layout.hpp"
#include "kernels/matcher/matcher.hpp"
#include "kernels/optimizer/optimizer.hpp"
#include "kernels/registry.hpp"
#include "tests/support/tensors.hpp"

namespace kernels = harness::kernels;
using harness::tests::floats;
using harness::tests::longs;

namespace {

std::vector<int64_t> to_vector(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.contiguous();
  return {flat.const_data_ptr<int64_t>(), flat.const_data_ptr<int64_t>() + flat.numel()};
}

/// What all implementations say; they must agree.
std::vector<int64_t> matches(const at::Tensor& boxes, const at::Tensor& anchors) {
  const auto& op = kernels::matcher_operator();
  const auto result = [&](const std::string& implementation) {
    return to_vector(op.get(implementation)({.boxes = boxes, .anchors = anchors}));
  };
  for (const auto& other : op.implementations()) CHECK(result(other.name) == result("reference"));
  return result("reference");
}

// A second, scalar reading of the focal loss in double precision, from the paper's formulas.
double focal_term(double x, bool is_target, double alpha, double gamma) {
  const double signed_x = is_target ? x : -x;
  const double log_p =
      signed_x < 0 ? signed_x - std::log1p(std::exp(signed_x)) : -std::log1p(std::exp(-signed_x));
  const double one_minus_p = 1 / (1 + std::exp(signed_x));
  return -(is_target ? alpha : 1 - alpha) * std::pow(one_minus_p, gamma) * log_p;
}

struct FocalCase {
  int64_t classes = 3;
  std::vector<at::Tensor> levels{};
  std::vector<at::Tensor> matched{};
  std::vector<at::Tensor> labels{};
};

// Two images, two levels (2x3 and 1x1 locations, 2 anchors each: 14 anchors), 3 classes.
FocalCase small_focal_case(double scale, at::ScalarType type = at::kFloat) {
  at::manual_seed(7);
  FocalCase c;
  c.levels = {at::randn({2, 6, 2, 3}, type) * scale, at::randn({2, 6, 1, 1}, type) * scale};
  for (at::Tensor& level : c.levels) {
    level = level.contiguous(at::MemoryFormat::ChannelsLast).set_requires_grad(true);
  }
  c.matched = {longs({-1, 0, -2, 1, -1, -1, -1, -2, 0, -1, -1, -1, 1, -1}),
               at::full({14}, kernels::kBackground, at::kLong)};
  c.labels = {longs({2, 0}), longs({})};
  return c;
}

at::Tensor focal_loss(const FocalCase& c, double alpha = 0.25, double gamma = 2) {
  return kernels::focal_loss_operator().get("reference")({.levels = c.levels,
                                                          .classes = c.classes,
                                                          .matched = c.matched,
                                                          .labels = c.labels,
                                                          .alpha = alpha,
                                                          .gamma = gamma});
}

double scalar_focal_loss(const FocalCase& c, double alpha, double gamma) {
  double total = 0;
  const int64_t anchors_per_location = c.levels[0].size(1) / c.classes;
  for (int64_t n = 0; n < c.levels[0].size(0); ++n) {
    const auto& matched = c.matched[static_cast<size_t>(n)];
    double sum = 0;
    int64_t foreground = 0;
    int64_t anchor = 0;
    for (const at::Tensor& level : c.levels) {
      for (int64_t y = 0; y < level.size(2); ++y) {
        for (int64_t x = 0; x < level.size(3); ++x) {
          for (int64_t a = 0; a < anchors_per_location; ++a, ++anchor) {
            const auto id = matched[anchor].item<int64_t>();
            if (id == kernels::kIgnored) continue;
            foreground += id >= 0 ? 1 : 0;
            const int64_t target =
                id < 0 ? -1 : c.labels[static_cast<size_t>(n)][id].item<int64_t>();
            for (int64_t k = 0; k < c.classes; ++k) {
              const double logit = level[n][a * c.classes + k][y][x].item<double>();
              sum += focal_term(logit, k == target, alpha, gamma);
            }
          }
        }
      }
    }
    total += sum / static_cast<double>(std::max<int64_t>(1, foreground));
  }
  return total / static_cast<double>(c.levels[0].size(0));
}

}  // namespace

TEST_CASE("every operator is registered with a reference", "[kernels]") {
  std::vector<std::string> names;
  for (const kernels::OperatorBase* op : kernels::operators()) {
    names.push_back(op->name());
    CHECK_FALSE(op->summary().empty());
    REQUIRE_FALSE(op->implementations().empty());
    CHECK(op->implementations().front().name == "reference");
    CHECK(op->implementations().front().support.ok);
    CHECK_FALSE(op->implementations().front().summary.empty());
  }
  CHECK(names == std::vector<std::string>{"box-loss", "conv-block", "conv-chain", "encoder",
                                          "focal-loss", "matcher", "optimizer"});
}

TEST_CASE("a selection names operators and implementations that exist", "[kernels]") {
  CHECK_NOTHROW(kernels::check_selection({{"focal-loss", "reference"}}));
  CHECK_THROWS_WITH(kernels::check_selection({{"focal-los", "reference"}}),
                    Catch::Contains("no operator 'focal-los'") && Catch::Contains("matcher"));
  CHECK_THROWS_WITH(kernels::check_selection({{"focal-loss", "fast"}}),
                    Catch::Contains("no implementation 'fast'") && Catch::Contains("reference"));
  CHECK_THROWS_AS(kernels::matcher_operator().get("fast"), std::invalid_argument);
  CHECK(kernels::matcher_operator().select({}) == kernels::matcher_operator().get("reference"));
}

TEST_CASE("an implementation that cannot run here says why", "[kernels]") {
  kernels::Operator<int(int)> op{"test-operator", "Only here."};
  op.add({"reference", "Doubles.", [](int x) { return 2 * x; }});
  op.add({"custom", "Never runs.", [](int x) { return x + x; },
          [] {
            return kernels::Support{false, "no such processor"};
          }});
  CHECK(op.get("reference")(21) == 42);
  CHECK_THROWS_WITH(op.get("custom"), Catch::Contains("no such processor"));
  CHECK_THROWS_AS(op.add({"custom", "Again.", [](int x) { return x; }}), std::logic_error);
  CHECK_THROWS_AS(kernels::Operator<int(int)>("test-operator", "Twice."), std::logic_error);
}

TEST_CASE("the IoU of boxes", "[kernels][boxes]") {
  const at::Tensor iou =
      kernels::box_iou(floats({2, 4}, {0, 0, 10, 10, 20, 20, 30, 40}),
                       floats({3, 4}, {0, 0, 10, 10, 5, 0, 15, 10, 50, 50, 60, 60}));
  CHECK(iou[0][0].item<float>() == 1);
  CHECK(iou[0][1].item<float>() == Approx(50.0 / 150));
  CHECK(iou[0][2].item<float>() == 0);
  CHECK(iou[1].sum().item<float>() == 0);
}

TEST_CASE("box codes are decoded to the boxes they came from, and clamped", "[kernels][boxes]") {
  const at::Tensor anchors = floats({2, 4}, {-16, -16, 16, 16, 100, 50, 200, 80});
  const at::Tensor boxes = floats({2, 4}, {3, 4, 30, 60, 90, 40, 400, 90});
  const at::Tensor codes = kernels::encode_boxes(boxes, anchors);
  CHECK(codes[0][0].item<float>() == Approx(16.5 / 32));
  CHECK(codes[0][2].item<float>() == Approx(std::log(27.0 / 32)));
  CHECK(at::allclose(kernels::decode_boxes(codes, anchors), boxes, 1e-5, 1e-4));
  const at::Tensor wide =
      kernels::decode_boxes(floats({1, 4}, {0, 0, 50, 0}), floats({1, 4}, {0, 0, 16, 16}));
  CHECK((wide[0][2] - wide[0][0]).item<float>() == Approx(1000).epsilon(1e-5));
  CHECK((wide[0][3] - wide[0][1]).item<float>() == Approx(16));
}

TEST_CASE("the matcher: thresholds, ties, low-quality restoration", "[kernels][matcher]") {
  const at::Tensor box = floats({1, 4}, {0, 0, 10, 10});
  // IoU with the box: 1, 0.6, 0.45 (ignored), 0.3 (background), 0.
  const at::Tensor anchors =
      floats({5, 4}, {0, 0, 10, 10, 0, 0, 10, 6, 0, 0, 10, 4.5, 0, 0, 10, 3, 50, 50, 60, 60});
  CHECK(matches(box, anchors) == std::vector<int64_t>{0, 0, -2, -1, -1});
  // Exactly at the thresholds: 0.5 is matched, 0.4 ignored.
  CHECK(matches(box, floats({3, 4}, {0, 0, 10, 10, 0, 0, 10, 5, 0, 0, 10, 4})) ==
        std::vector<int64_t>{0, 0, -2});
  // The best this box gets is 0.25, twice: both anchors are given back to it.
  CHECK(matches(floats({1, 4}, {0, 0, 20, 20}),
                floats({3, 4}, {0, 0, 10, 10, 10, 10, 20, 20, 0, 0, 5, 5})) ==
        std::vector<int64_t>{0, 0, -1});
  // A restored anchor goes to its own best box (1), not to the one whose best anchor it is (0).
  CHECK(matches(floats({2, 4}, {0, 0, 40, 40, 0, 0, 10, 12}),
                floats({2, 4}, {0, 0, 10, 10, 0, 0, 1, 1})) == std::vector<int64_t>{1, -1});
}

TEST_CASE("the matcher: no boxes, and a box that overlaps nothing", "[kernels][matcher]") {
  const at::Tensor anchors = floats({3, 4}, {0, 0, 10, 10, 20, 20, 30, 30, 40, 40, 50, 50});
  CHECK(matches(at::empty({0, 4}), anchors) == std::vector<int64_t>{-1, -1, -1});
  // Best IoU 0: as in the reference every anchor reaches it, and all turn positive.
  CHECK(matches(floats({1, 4}, {900, 900, 910, 910}), anchors) == std::vector<int64_t>{0, 0, 0});
  CHECK(matches(floats({2, 4}, {900, 900, 910, 910, 0, 0, 10, 10}), anchors) ==
        std::vector<int64_t>{1, 0, 0});
}

TEST_CASE("head maps are flattened location by location", "[kernels][layout]") {
  const at::Tensor level = at::arange(2 * 6 * 2 * 3, at::kFloat).view({2, 6, 2, 3});
  const at::Tensor flat = kernels::flatten_level(level, 3);
  REQUIRE(flat.sizes() == at::IntArrayRef{2, 12, 3});
  // Anchor 1 of location (y=1, x=2), column 2 of image 1.
  CHECK(flat[1][(1 * 3 + 2) * 2 + 1][2].item<float>() == level[1][1 * 3 + 2][1][2].item<float>());
  const at::Tensor last = level.contiguous(at::MemoryFormat::ChannelsLast);
  CHECK(kernels::flatten_level(last, 3).data_ptr() == last.data_ptr());
  CHECK_THROWS_AS(kernels::flatten_level(level, 4), std::invalid_argument);
}

TEST_CASE("focal loss agrees with a scalar double-precision reading", "[kernels][focal-loss]") {
  for (const double scale : {1.0, 10.0, 100.0}) {
    for (const double gamma : {0.0, 1.0, 1.5, 2.0}) {
      const FocalCase c = small_focal_case(scale);
      INFO("scale " << scale << " gamma " << gamma);
      CHECK(focal_loss(c, 0.25, gamma).item<double>() ==
            Approx(scalar_focal_loss(c, 0.25, gamma)).epsilon(1e-5));
    }
  }
}

TEST_CASE("focal loss at extreme logits", "[kernels][focal-loss]") {
  FocalCase c = small_focal_case(1);
  c.levels[0].detach().fill_(1e4);
  c.levels[1].detach().fill_(-1e4);
  CHECK(focal_loss(c).item<double>() == Approx(scalar_focal_loss(c, 0.25, 2)).epsilon(1e-6));
  c.levels[1].detach()[0][0][0][0] = std::nan("");
  CHECK(std::isnan(focal_loss(c).item<double>()));
}

TEST_CASE("focal loss counts no ignored anchor, and divides by one without matches",
          "[kernels][focal-loss]") {
  FocalCase c = small_focal_case(1);
  for (at::Tensor& matched : c.matched) matched.fill_(kernels::kIgnored);
  CHECK(focal_loss(c).item<double>() == 0);
  c.matched.pop_back();
  CHECK_THROWS_AS(focal_loss(c), std::invalid_argument);
}

TEST_CASE("focal loss's gradient agrees with finite differences", "[kernels][focal-loss]") {
  const FocalCase c = small_focal_case(2, at::kDouble);
  focal_loss(c).backward();
  constexpr double kStep = 1e-6;
  for (const at::Tensor& level : c.levels) {
    const at::Tensor values = level.detach();
    for (int64_t i = 0; i < level.numel(); i += 5) {
      const at::Tensor place = values.permute({0, 2, 3, 1}).view(-1)[i];
      const double x = place.item<double>();
      place.fill_(x + kStep);
      const double above = scalar_focal_loss(c, 0.25, 2);
      place.fill_(x - kStep);
      const double below = scalar_focal_loss(c, 0.25, 2);
      place.fill_(x);
      const double gradient = level.grad().permute({0, 2, 3, 1}).reshape(-1)[i].item<double>();
      CHECK(gradient == Approx((above - below) / (2 * kStep)).epsilon(1e-5).margin(1e-9));
    }
  }
}

TEST_CASE("box loss: L1 over matched anchors, per image by their number", "[kernels][box-loss]") {
  const at::Tensor anchors = floats({4, 4}, {0, 0, 10, 10, 0, 0, 20, 20, 5, 5, 9, 9, 1, 1, 2, 2});
  const at::Tensor boxes = floats({1, 4}, {1, 1, 12, 14});
  at::manual_seed(5);
  const at::Tensor level = at::randn({2, 8, 1, 2}).set_requires_grad(true);
  const at::Tensor loss = kernels::box_loss_operator().get("reference")(
      {.levels = {level},
       .matched = {longs({0, -1, 0, -2}), longs({-1, -1, -1, -1})},
       .boxes = {boxes, at::empty({0, 4})},
       .anchors = anchors});
  const at::Tensor codes = kernels::flatten_level(level, 4);
  double expected = 0;
  for (const int64_t anchor : {0, 2}) {
    const at::Tensor target = kernels::encode_boxes(boxes, anchors.slice(0, anchor, anchor + 1));
    expected += (codes[0][anchor] - target[0]).abs().sum().item<double>();
  }
  CHECK(loss.item<double>() == Approx(expected / 2 / 2));
  loss.backward();
  CHECK(level.grad()[1].abs().sum().item<double>() == 0);
  CHECK(level.grad()[0].abs().sum().item<double>() == Approx(8 * 0.25));
}

TEST_CASE("the conv block: norm, residual and ReLU in that order", "[kernels][conv-block]") {
  at::manual_seed(2);
  const auto block = kernels::conv_block_operator().get("reference");
  const at::Tensor input = at::randn({2, 4, 5, 6}).set_requires_grad(true);
  const at::Tensor weight = at::randn({8, 2, 3, 3}).set_requires_grad(true);
  const at::Tensor residual = at::randn({2, 8, 3, 3}).set_requires_grad(true);
  const kernels::FrozenBatchNorm norm{at::rand({8}) + 0.5, at::randn({8}), at::randn({8}),
                                      at::rand({8}) + 0.1};
  const at::Tensor out = block({.input = input,
                                .weight = weight,
                                .norm = &norm,
                                .stride = 2,
                                .padding = 1,
                                .groups = 2,
                                .relu = true,
                                .residual = residual});
  const at::Tensor plain =
      at::conv2d(input.detach(), weight.detach(), {}, {2, 2}, {1, 1}, {1, 1}, 2);
  const at::Tensor normed = at::batch_norm(plain, norm.weight, norm.bias, norm.running_mean,
                                           norm.running_var, false, 0, norm.eps, false);
  const at::Tensor expected = at::relu(normed + residual.detach());
  CHECK(at::allclose(out, expected, 1e-4, 1e-5));
  out.sum().backward();
  CHECK(at::equal(residual.grad(), (expected > 0).to(at::kFloat)));
  CHECK(weight.grad().defined());
  CHECK(input.grad().defined());

  const at::Tensor bias = at::randn({8});
  const at::Tensor biased = block(
      {.input = input, .weight = weight, .bias = bias, .stride = 2, .padding = 1, .groups = 2});
  CHECK(at::allclose(biased, plain + bias.view({1, 8, 1, 1}), 1e-4, 1e-5));
}

TEST_CASE("Adam follows its formula, and leaves parameters without a gradient alone",
          "[kernels][optimizer]") {
  at::Tensor parameter = floats({3}, {1, -2, 0.5}).set_requires_grad(true);
  at::Tensor idle = floats({1}, {4}).set_requires_grad(true);
  kernels::AdamState state = kernels::make_adam_state({parameter, idle});
  std::vector<double> w = {1, -2, 0.5};
  std::vector<double> m(3);
  std::vector<double> v(3);
  for (int step = 1; step <= 5; ++step) {
    const double rate = 0.1 / step;
    parameter.mutable_grad() = floats({3}, {0.1F * static_cast<float>(step), -3, 0});
    const std::vector<double> g = {0.1 * step, -3, 0};
    kernels::optimizer_operator().get("reference")(state, rate);
    for (size_t i = 0; i < 3; ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      w[i] -= rate * (m[i] / (1 - std::pow(0.9, step))) /
              (std::sqrt(v[i] / (1 - std::pow(0.999, step))) + 1e-8);
      CHECK(parameter[static_cast<int64_t>(i)].item<double>() == Approx(w[i]).epsilon(1e-5));
    }
    kernels::clear_gradients(state);
    CHECK_FALSE(parameter.grad().defined());
  }
  CHECK(state.steps == std::vector<int64_t>{5, 0});
  CHECK(idle.item<float>() == 4);
}
