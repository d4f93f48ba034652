// `box-loss=custom` against the reference, against a scalar reading in double precision, and
// against finite differences.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "kernels/box_loss/box_loss.hpp"
#include "kernels/head_layout.hpp"
#include "kernels/matcher/matcher.hpp"
#include "kernels/runtime/autocast.hpp"
#include "tests/support/tensors.hpp"

namespace kernels = harness::kernels;
using harness::tests::ThreadScope;

namespace {

constexpr int64_t kPerLocation = 3;

struct Shape {
  int64_t images = 2;
  std::vector<std::pair<int64_t, int64_t>> maps{{5, 4}, {3, 2}, {1, 1}};
  at::ScalarType type = at::kFloat;
  at::MemoryFormat format = at::MemoryFormat::ChannelsLast;
  double matched_share = 0.3;
};

at::Tensor proper_boxes(int64_t count) {
  const at::Tensor corner = at::rand({count, 2}) * 50;
  return at::cat({corner, corner + 1 + at::rand({count, 2}) * 40}, 1);
}

kernels::BoxLossArguments make_case(const Shape& shape) {
  at::manual_seed(21);
  kernels::BoxLossArguments c;
  int64_t anchors = 0;
  for (const auto& [height, width] : shape.maps) {
    c.levels.push_back(at::randn({shape.images, kPerLocation * 4, height, width}, at::kFloat)
                           .to(shape.type)
                           .contiguous(shape.format)
                           .set_requires_grad(true));
    anchors += kPerLocation * height * width;
  }
  c.anchors = proper_boxes(anchors);
  for (int64_t i = 0; i < shape.images; ++i) {
    constexpr int64_t kBoxes = 5;
    c.boxes.push_back(proper_boxes(kBoxes));
    const at::Tensor box = at::randint(kBoxes, {anchors}, at::kLong);
    const at::Tensor other = at::randint(-2, 0, {anchors}, at::kLong);
    c.matched.push_back(at::where(at::rand({anchors}) < shape.matched_share, box, other));
  }
  return c;
}

at::Tensor loss_of(const kernels::BoxLossArguments& arguments, const std::string& name = "custom") {
  return kernels::box_loss_operator().get(name)(arguments);
}

/// The levels' gradients, taken away from them.
std::vector<at::Tensor> take_gradients(const kernels::BoxLossArguments& arguments) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& level : arguments.levels) {
    gradients.push_back(level.grad());
    level.mutable_grad() = at::Tensor();
  }
  return gradients;
}

std::vector<at::Tensor> gradients_of(const kernels::BoxLossArguments& arguments,
                                     const std::string& name = "custom") {
  loss_of(arguments, name).backward();
  return take_gradients(arguments);
}

/// The formulas of the paper's box codes, one number after another.
double scalar_loss(const kernels::BoxLossArguments& c) {
  double total = 0;
  for (size_t n = 0; n < c.matched.size(); ++n) {
    double sum = 0;
    int64_t count = 0;
    int64_t anchor = 0;
    for (const at::Tensor& level : c.levels) {
      for (int64_t place = 0; place < level.size(2) * level.size(3); ++place) {
        for (int64_t a = 0; a < level.size(1) / 4; ++a, ++anchor) {
          const auto id = c.matched[n][anchor].item<int64_t>();
          if (id < 0) continue;
          ++count;
          double extent[4];
          double code[4];
          for (int64_t k = 0; k < 4; ++k) {
            const int64_t axis = k % 2;
            const auto box = [&](int64_t column) { return c.boxes[n][id][column].item<double>(); };
            const auto around = [&](int64_t column) {
              return c.anchors[anchor][column].item<double>();
            };
            extent[k] = around(axis + 2) - around(axis);
            const double box_extent = box(axis + 2) - box(axis);
            code[k] = k < 2
                          ? (box(axis) + box_extent / 2 - around(axis) - extent[k] / 2) / extent[k]
                          : std::log(box_extent / extent[k]);
            const double is = level[static_cast<int64_t>(n)][a * 4 + k][place / level.size(3)]
                                   [place % level.size(3)]
                                       .item<double>();
            sum += std::abs(is - code[k]);
          }
        }
      }
    }
    total += sum / static_cast<double>(std::max<int64_t>(1, count));
  }
  return total / static_cast<double>(c.matched.size());
}

void check_like_reference(const kernels::BoxLossArguments& c) {
  const at::Tensor expected = loss_of(c, "reference");
  const at::Tensor actual = loss_of(c);
  CHECK(actual.dim() == 0);
  CHECK(actual.scalar_type() == expected.scalar_type());
  CHECK(actual.item<double>() == Approx(expected.item<double>()).epsilon(1e-6));
  const std::vector<at::Tensor> expected_gradients = gradients_of(c, "reference");
  const std::vector<at::Tensor> actual_gradients = gradients_of(c);
  for (size_t i = 0; i < c.levels.size(); ++i) {
    INFO("level " << i);
    REQUIRE(actual_gradients[i].defined());
    CHECK(actual_gradients[i].scalar_type() == c.levels[i].scalar_type());
    CHECK(actual_gradients[i].strides() == c.levels[i].strides());
    CHECK(at::equal(actual_gradients[i], expected_gradients[i]));
  }
}

}  // namespace

TEST_CASE("box-loss=custom equals the reference, gradients bit for bit", "[kernels][box-loss]") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf, at::kDouble}) {
    for (const auto format : {at::MemoryFormat::ChannelsLast, at::MemoryFormat::Contiguous}) {
      for (const double share : {0.0, 0.02, 0.5, 1.0}) {
        for (const int64_t images : {1, 3}) {
          INFO(type << ' ' << format << ", " << share << " matched, " << images << " images");
          const auto c =
              make_case({.images = images, .type = type, .format = format, .matched_share = share});
          check_like_reference(c);
          if (type == at::kHalf) continue;  // not under autocast to bf16
          const kernels::AutocastScope autocast(true);
          check_like_reference(c);
        }
      }
    }
  }
  // Several chunks of anchors in a level.
  check_like_reference(make_case({.maps = {{60, 50}, {30, 25}}}));
}

TEST_CASE("box-loss=custom agrees with the formula in double precision", "[kernels][box-loss]") {
  for (const double share : {0.0, 0.1, 1.0}) {
    const auto c = make_case({.matched_share = share});
    CHECK(loss_of(c).item<double>() == Approx(scalar_loss(c)).epsilon(1e-6));
  }
}

TEST_CASE("box-loss=custom's gradient agrees with finite differences", "[kernels][box-loss]") {
  const auto c = make_case({.type = at::kDouble});
  const std::vector<at::Tensor> gradients = gradients_of(c);
  constexpr double kStep = 1e-6;
  for (size_t l = 0; l < c.levels.size(); ++l) {
    const at::Tensor codes = c.levels[l].detach().permute({0, 2, 3, 1}).view(-1);
    const at::Tensor slopes = gradients[l].permute({0, 2, 3, 1}).view(-1);
    for (int64_t i = 0; i < codes.numel(); i += 3) {
      const double x = codes[i].item<double>();
      codes[i].fill_(x + kStep);
      const double above = loss_of(c).item<double>();
      codes[i].fill_(x - kStep);
      const double below = loss_of(c).item<double>();
      codes[i].fill_(x);
      CHECK(slopes[i].item<double>() ==
            Approx((above - below) / (2 * kStep)).epsilon(1e-5).margin(1e-8));
    }
  }
}

TEST_CASE("box-loss=custom passes on what comes in", "[kernels][box-loss]") {
  const auto c = make_case({});
  const std::vector<at::Tensor> once = gradients_of(c);
  (loss_of(c) * 3).backward();
  const std::vector<at::Tensor> thrice = take_gradients(c);
  const at::Tensor loss = loss_of(c);
  loss.backward({}, /*retain_graph=*/true);
  loss.backward();
  const std::vector<at::Tensor> twice = take_gradients(c);
  for (size_t i = 0; i < c.levels.size(); ++i) {
    CHECK(at::allclose(thrice[i], once[i] * 3));
    CHECK(at::equal(twice[i], once[i] * 2));
  }
  // Levels that are results of other operators, and one that needs no gradient.
  auto derived = c;
  derived.levels[0] = c.levels[0] * 2;
  derived.levels[1] = c.levels[1].detach();
  loss_of(derived).backward();
  CHECK(c.levels[0].grad().abs().sum().item<double>() > 0);
  CHECK_FALSE(c.levels[1].grad().defined());
  take_gradients(c);
  const at::NoGradGuard no_grad;
  CHECK_FALSE(loss_of(c).requires_grad());
}

TEST_CASE("box-loss=custom: NaN and infinity reach the loss", "[kernels][box-loss]") {
  for (const double broken : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    auto c = make_case({.matched_share = 1});
    c.levels[1].detach()[1][2][1][1] = broken;
    CHECK(std::isnan(loss_of(c).item<double>()) == std::isnan(broken));
    CHECK_FALSE(std::isfinite(loss_of(c).item<double>()));
    const std::vector<at::Tensor> expected = gradients_of(c, "reference");
    CHECK(at::equal(gradients_of(c)[1], expected[1]));
  }
  auto c = make_case({.matched_share = 1});
  c.boxes[0][0][2] = std::nan("");
  CHECK(std::isnan(loss_of(c).item<double>()));
  // An unmatched anchor may hold anything.
  auto unmatched = make_case({.matched_share = 0});
  unmatched.levels[0].detach().fill_(std::nan(""));
  CHECK(loss_of(unmatched).item<double>() == 0);
  CHECK(gradients_of(unmatched)[0].abs().sum().item<double>() == 0);
}

TEST_CASE("box-loss=custom gives the same bits with every number of threads",
          "[kernels][box-loss]") {
  const auto c = make_case({.maps = {{90, 80}, {45, 40}}, .matched_share = 0.7});
  const at::Tensor expected = loss_of(c);
  const std::vector<at::Tensor> expected_gradients = gradients_of(c);
  for (const int threads : {1, 2, 3, 2, 3}) {
    const ThreadScope scope(threads);
    CHECK(at::equal(loss_of(c), expected));
    const std::vector<at::Tensor> gradients = gradients_of(c);
    for (size_t i = 0; i < gradients.size(); ++i) {
      CHECK(at::equal(gradients[i], expected_gradients[i]));
    }
  }
}

TEST_CASE("box-loss=custom takes views and refuses what does not fit", "[kernels][box-loss]") {
  auto c = make_case({});
  const at::Tensor wide = at::randn({2, 24, 5, 8});
  c.levels[0] = wide.slice(1, 3, 15).slice(3, 0, 8, 2).set_requires_grad(true);
  c.anchors = at::cat({c.anchors + 1, c.anchors}, 1).slice(1, 4, 8);
  c.boxes[1] = c.boxes[1].t().contiguous().t();
  CHECK(loss_of(c).item<double>() == Approx(scalar_loss(c)).epsilon(1e-6));
  CHECK(gradients_of(c)[0].ne(0).sum().item<int64_t>() > 0);

  const std::vector<std::pair<std::function<void(kernels::BoxLossArguments&)>, const char*>> cases =
      {{[](auto& b) { b.matched.pop_back(); }, "for each image"},
       {[](auto& b) { b.matched[1][7] = 5; }, "matched to box 5 of 5"},
       {[](auto& b) {
          b.boxes[0] = at::empty({0, 4});
        },
        "of 0"},
       {[](auto& b) { b.anchors = b.anchors.slice(0, 1); }, "an anchor for each"},
       {[](auto& b) { b.matched[0] = b.matched[0].slice(0, 1); }, "one int64 id for each anchor"},
       {[](auto& b) { b.levels[0] = b.levels[0].slice(1, 1); }, "(N, A*4, H, W)"},
       {[](auto& b) { b.levels.clear(); }, "box-loss"},
       {[](auto& b) { b.anchors = b.anchors.to(at::kDouble); }, "float32"}};
  for (const auto& [change, what] : cases) {
    auto changed = make_case({});
    change(changed);
    CHECK_THROWS_WITH(loss_of(changed), Catch::Contains(what));
  }
}
