#include "kernels/focal_loss/focal_loss.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <malloc.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "kernels/focal_loss/focal_loss_simd.hpp"
#include "kernels/head_layout.hpp"
#include "kernels/matcher/matcher.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/threads.hpp"
#include "tests/support/simd_targets.hpp"

namespace kernels = harness::kernels;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Problem {
  int64_t classes = 3;
  int64_t images = 2;
  int64_t anchors = 2;  ///< per location
  std::vector<std::pair<int64_t, int64_t>> maps{{5, 7}, {3, 2}, {1, 1}};
  at::ScalarType type = at::kFloat;
  double scale = 3;
};

/// Logits as the heads write them; one row in 16 matched, one ignored.
kernels::FocalLossArguments make_arguments(const Problem& problem) {
  at::manual_seed(problem.classes * 31 + problem.images);
  kernels::FocalLossArguments arguments;
  arguments.classes = problem.classes;
  int64_t rows = 0;
  for (const auto& [height, width] : problem.maps) {
    arguments.levels.push_back(
        (at::randn({problem.images, problem.anchors * problem.classes, height, width}) *
             problem.scale -
         1)
            .to(problem.type)
            .contiguous(at::MemoryFormat::ChannelsLast)
            .set_requires_grad(true));
    rows += problem.anchors * height * width;
  }
  for (int64_t i = 0; i < problem.images; ++i) {
    at::Tensor matched = at::randint(-14, 2, {rows}, at::kLong).clamp_min(kernels::kBackground);
    matched.masked_fill_(at::rand({rows}) < 1.0 / 16, kernels::kIgnored);
    arguments.matched.push_back(matched);
    arguments.labels.push_back(at::randint(0, problem.classes, {2}, at::kLong));
  }
  return arguments;
}

struct Outcome {
  double loss = 0;
  std::vector<at::Tensor> gradients{};
};

Outcome run(const std::string& implementation, const kernels::FocalLossArguments& arguments,
            at::ScalarType type, double upstream = 1) {
  kernels::FocalLossArguments copy = arguments;
  for (at::Tensor& level : copy.levels) {
    // Not to(): a tensor of the right type already keeps its strides and its alignment.
    level = level.detach();
    if (level.scalar_type() != type) level = level.to(type);
    level.set_requires_grad(true);
  }
  const at::Tensor loss = kernels::focal_loss_operator().get(implementation)(copy);
  (upstream == 1 ? loss : loss * upstream).backward();
  Outcome outcome{loss.item<double>(), {}};
  for (const at::Tensor& level : copy.levels) outcome.gradients.push_back(level.grad());
  return outcome;
}

Outcome run_custom(const kernels::FocalLossArguments& arguments, double upstream = 1) {
  return run("custom", arguments, arguments.levels.front().scalar_type(), upstream);
}

/// The reference composition in double precision, on the same (perhaps bf16) values.
Outcome run_double(const kernels::FocalLossArguments& arguments, double upstream = 1) {
  return run("reference", arguments, at::kDouble, upstream);
}

/// Largest |a - b| / (|b| + floor) over all levels.
double largest_error(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b,
                     double floor) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const at::Tensor error = (a[i].to(at::kDouble) - b[i]).abs() / (b[i].abs() + floor);
    largest = std::max(largest, error.max().item<double>());
  }
  return largest;
}

// The loss: float terms are a few ulp off in both directions, their sums are double. A derivative:
// a few ulp of float, or half an ulp of bf16 (2^-8).
void check_agrees(const kernels::FocalLossArguments& arguments, double upstream = 1) {
  const Outcome expected = run_double(arguments, upstream);
  const Outcome actual = run_custom(arguments, upstream);
  CHECK(actual.loss == Approx(expected.loss).epsilon(5e-7).margin(1e-30));
  const bool bf16 = arguments.levels.front().scalar_type() == at::kBFloat16;
  // Twice rounded where the upstream gradient is not one.
  const double tolerance = bf16 ? (upstream == 1 ? 1.01 : 2.02) / 256 : 2e-6;
  CHECK(largest_error(actual.gradients, expected.gradients, 1e-12) < tolerance);
}

bool equal(const Outcome& a, const Outcome& b) {
  bool same = a.loss == b.loss && a.gradients.size() == b.gradients.size();
  for (size_t i = 0; same && i < a.gradients.size(); ++i) {
    same = at::equal(a.gradients[i], b.gradients[i]);
  }
  return same;
}

at::Tensor with_value(const at::Tensor& level, int64_t row, int64_t column, int64_t classes,
                      double value) {
  at::Tensor copy = level.detach().clone(at::MemoryFormat::ChannelsLast);
  kernels::flatten_level(copy, classes).view({-1, classes})[row][column].fill_(value);
  return copy.set_requires_grad(true);
}

}  // namespace

TEST_CASE("custom focal loss agrees with double precision for any number of classes",
          "[focal-loss]") {
  for (const int64_t classes : {1, 3, 15, 16, 17, 91, 264, 1203}) {
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
      INFO(classes << " classes, " << at::toString(type));
      check_agrees(make_arguments({.classes = classes, .type = type}));
    }
  }
}

TEST_CASE("custom focal loss agrees with double precision for any alpha and gamma",
          "[focal-loss]") {
  for (const double gamma : {0.0, 0.5, 1.0, 2.0, 3.7}) {
    for (const double alpha : {0.25, 0.0, 1.0, -1.0}) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        INFO("gamma " << gamma << " alpha " << alpha << " " << at::toString(type));
        kernels::FocalLossArguments arguments = make_arguments({.classes = 17, .type = type});
        arguments.alpha = alpha;
        arguments.gamma = gamma;
        check_agrees(arguments);
      }
    }
  }
}

TEST_CASE("custom focal loss agrees with double precision on every instruction set",
          "[focal-loss]") {
  harness::tests::for_each_simd_target([](const std::string& name) {
    REQUIRE(kernels::focal::instruction_set() == name);
    for (const int64_t classes : {1, 15, 264}) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        for (const double gamma : {2.0, 1.5}) {
          INFO(name << ", " << classes << " classes, " << at::toString(type) << ", gamma "
                    << gamma);
          kernels::FocalLossArguments arguments =
              make_arguments({.classes = classes, .type = type});
          arguments.gamma = gamma;
          check_agrees(arguments);
        }
      }
    }
  });
}

TEST_CASE("custom focal loss's gradient agrees with finite differences", "[focal-loss]") {
  const kernels::FocalLossArguments arguments = make_arguments({.classes = 5});
  const Outcome actual = run_custom(arguments);
  kernels::FocalLossArguments moved = arguments;
  for (at::Tensor& level : moved.levels) level = level.detach().to(at::kDouble);
  constexpr double kStep = 1e-5;
  const auto loss = [&] {
    return kernels::focal_loss_operator().get("reference")(moved).item<double>();
  };
  for (size_t i = 0; i < moved.levels.size(); ++i) {
    const at::Tensor flat = kernels::flatten_level(moved.levels[i], 5).view(-1);
    const at::Tensor gradient = kernels::flatten_level(actual.gradients[i], 5).view(-1);
    for (int64_t at = 0; at < flat.numel(); at += 13) {
      const double x = flat[at].item<double>();
      flat[at].fill_(x + kStep);
      const double above = loss();
      flat[at].fill_(x - kStep);
      const double below = loss();
      flat[at].fill_(x);
      CHECK(gradient[at].item<double>() ==
            Approx((above - below) / (2 * kStep)).epsilon(1e-5).margin(1e-8));
    }
  }
}

TEST_CASE("custom focal loss without boxes, and with nothing but ignored anchors", "[focal-loss]") {
  kernels::FocalLossArguments arguments = make_arguments({.classes = 9});
  for (size_t i = 0; i < arguments.matched.size(); ++i) {
    arguments.matched[i].fill_(kernels::kBackground);
    arguments.labels[i] = at::empty({0}, at::kLong);
  }
  check_agrees(arguments);
  for (const at::Tensor& matched : arguments.matched) matched.fill_(kernels::kIgnored);
  for (at::Tensor& level : arguments.levels) {
    level.detach().fill_(std::numeric_limits<float>::quiet_NaN());
  }
  const Outcome outcome = run_custom(arguments);
  CHECK(outcome.loss == 0);
  for (const at::Tensor& gradient : outcome.gradients) {
    CHECK(gradient.abs().max().item<double>() == 0);
  }
}

TEST_CASE("custom focal loss with every anchor matched", "[focal-loss]") {
  for (const int64_t classes : {1, 17}) {
    kernels::FocalLossArguments arguments = make_arguments({.classes = classes});
    for (const at::Tensor& matched : arguments.matched) matched.fill_(1);
    check_agrees(arguments);
  }
}

TEST_CASE("custom focal loss does not depend on alignment or layout", "[focal-loss]") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    const kernels::FocalLossArguments arguments = make_arguments({.classes = 19, .type = type});
    const Outcome expected = run_custom(arguments);
    kernels::FocalLossArguments unaligned = arguments;
    kernels::FocalLossArguments rows = arguments;
    kernels::FocalLossArguments strided = arguments;
    for (size_t i = 0; i < arguments.levels.size(); ++i) {
      const at::Tensor level = arguments.levels[i].detach();
      const at::Tensor longer = at::empty({level.numel() + 1}, level.options());
      unaligned.levels[i] = longer.as_strided(level.sizes(), level.strides(), 1).copy_(level);
      rows.levels[i] = level.contiguous();
      strided.levels[i] = at::stack({level, level}, 4).select(4, 1);
      REQUIRE_FALSE(strided.levels[i].is_contiguous(at::MemoryFormat::ChannelsLast));
    }
    for (size_t i = 0; i < arguments.matched.size(); ++i) {
      strided.matched[i] = at::stack({arguments.matched[i], arguments.matched[i]}, 1).select(1, 0);
    }
    CHECK(equal(run_custom(unaligned), expected));
    CHECK(equal(run_custom(rows), expected));
    CHECK(equal(run_custom(strided), expected));
  }
}

TEST_CASE("custom focal loss at extreme logits", "[focal-loss]") {
  for (const double gamma : {0.0, 2.0, 3.7}) {
    kernels::FocalLossArguments arguments = make_arguments({.classes = 7, .scale = 1e4});
    arguments.gamma = gamma;
    CHECK(run_custom(arguments).loss == Approx(run_double(arguments).loss).epsilon(1e-6));
    for (const at::Tensor& gradient : run_custom(arguments).gradients) {
      CHECK(gradient.isfinite().all().item<bool>());
    }
  }
}

TEST_CASE("NaN and infinity reach custom focal loss's value", "[focal-loss]") {
  for (const double gamma : {0.0, 0.5, 2.0}) {
    for (const double value : {std::nan(""), kInfinity, -kInfinity}) {
      for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
        // Row 1 is matched to the first box, row 3 background.
        for (const int64_t row : {1, 3}) {
          for (int64_t column = 0; column < 70; column += 23) {
            kernels::FocalLossArguments arguments = make_arguments({.classes = 70, .type = type});
            arguments.gamma = gamma;
            arguments.matched[0][1].fill_(0);
            arguments.matched[0][3].fill_(kernels::kBackground);
            arguments.labels[0][0].fill_(23);
            arguments.levels[0] = with_value(arguments.levels[0], row, column, 70, value);
            INFO("gamma " << gamma << ", " << value << " at row " << row << " column " << column);
            CHECK_FALSE(std::isfinite(run_custom(arguments).loss));
          }
        }
      }
    }
  }
}

TEST_CASE("custom focal loss is the same for any number of threads", "[focal-loss]") {
  const int before = kernels::threads();
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    // Enough for a dozen blocks, and for stores past the caches.
    const kernels::FocalLossArguments arguments =
        make_arguments({.classes = 91, .anchors = 9, .maps = {{40, 45}, {9, 9}}, .type = type});
    kernels::set_threads(1);
    const Outcome expected = run_custom(arguments);
    for (const int threads : {2, 3}) {
      kernels::set_threads(threads);
      for (int turn = 0; turn < 3; ++turn) CHECK(equal(run_custom(arguments), expected));
    }
    check_agrees(arguments);
  }
  kernels::set_threads(before);
}

TEST_CASE("custom focal loss scales its gradient by what comes from above", "[focal-loss]") {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    check_agrees(make_arguments({.classes = 11, .type = type}), -2.5);
  }
  const kernels::FocalLossArguments arguments = make_arguments({.classes = 11});
  const at::Tensor loss = kernels::focal_loss_operator().get("custom")(arguments) * 3;
  loss.backward({}, /*retain_graph=*/true);
  const at::Tensor once = arguments.levels[0].grad().clone();
  loss.backward({}, /*retain_graph=*/true);
  CHECK(at::equal(arguments.levels[0].grad(), once * 2));
  loss.backward();
  CHECK_THROWS(loss.backward());
}

TEST_CASE("custom focal loss computes gradients only where they are wanted", "[focal-loss]") {
  kernels::FocalLossArguments arguments = make_arguments({});
  arguments.levels[1].set_requires_grad(false);
  const at::Tensor loss = kernels::focal_loss_operator().get("custom")(arguments);
  loss.backward();
  CHECK(arguments.levels[0].grad().defined());
  CHECK_FALSE(arguments.levels[1].grad().defined());
  CHECK(arguments.levels[2].grad().defined());
  const at::NoGradGuard guard;
  const at::Tensor alone = kernels::focal_loss_operator().get("custom")(arguments);
  CHECK_FALSE(alone.requires_grad());
  CHECK(at::equal(alone, loss));
}

TEST_CASE("two hundred steps of custom focal loss leak no memory", "[focal-loss]") {
  kernels::use_allocator("system");
  const kernels::FocalLossArguments arguments = make_arguments({.classes = 91});
  const auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) (void)run_custom(arguments, i % 2 == 0 ? 1 : 2);
    return std::pair{kernels::memory_counters().current_bytes,
                     static_cast<int64_t>(mallinfo2().uordblks)};
  };
  const auto before = steps(5);
  const auto after = steps(200);
  CHECK(after.first == before.first);
  // The C library's own bookkeeping; a leaked node a step would be some 200 kB.
  CHECK(after.second - before.second < 16384);
}

TEST_CASE("custom focal loss refuses what does not belong together", "[focal-loss]") {
  const auto custom = kernels::focal_loss_operator().get("custom");
  const kernels::FocalLossArguments good = make_arguments({});
  const auto refuses = [&](const std::function<void(kernels::FocalLossArguments&)>& spoil,
                           const std::string& message) {
    kernels::FocalLossArguments arguments = good;
    for (at::Tensor& ids : arguments.matched) ids = ids.clone();
    for (at::Tensor& ids : arguments.labels) ids = ids.clone();
    spoil(arguments);
    CHECK_THROWS_WITH(custom(arguments), Catch::Contains(message));
  };
  refuses([](auto& a) { a.matched[0][0].fill_(2); }, "beyond the image's boxes");
  refuses([](auto& a) { a.labels[0].fill_(3); }, "a label is not from 0 to 2");
  refuses([](auto& a) { a.labels[1].fill_(-1); }, "a label is not from 0 to 2");
  refuses([](auto& a) { a.matched.pop_back(); }, "for each image");
  refuses([](auto& a) { a.matched[1] = a.matched[1].slice(0, 1); }, "a matched id an anchor");
  refuses([](auto& a) { a.matched[1] = a.matched[1].to(at::kInt); }, "int64");
  refuses([](auto& a) { a.classes = 4; }, "head output");
  refuses([](auto& a) { a.levels[0] = a.levels[0].to(at::kDouble); }, "not Double");
  refuses([](auto& a) { a.gamma = -1; }, "gamma");
  refuses([](auto& a) { a.alpha = std::nan(""); }, "alpha");
  refuses([](auto& a) { a.levels.clear(); }, "needs levels");
}
