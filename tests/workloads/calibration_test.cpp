// Norms set from a batch, for training from random weights.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <catch2/catch.hpp>
#include <limits>
#include <stdexcept>

#include "harness/base/error.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "tests/support/tensors.hpp"
#include "workloads/retinanet/body.hpp"
#include "workloads/retinanet/calibration.hpp"

using namespace harness;
using namespace harness::workloads;
using harness::tests::ThreadScope;

namespace {

constexpr const char* kStem = "backbone.body.conv1.weight";
constexpr const char* kStemNorm = "backbone.body.bn1";

RetinaNetConfig small(const kernels::Selection& selection = {}) {
  return {.num_classes = 3,
          .height = 64,
          .width = 96,
          .kernels = selection,
          .architecture = {.stem_channels = 32,
                           .blocks = {1, 2, 1, 1},
                           .pyramid_channels = 32,
                           .head_depth = 1,
                           .smallest_anchor = 16,
                           .trains_whole_body = true}};
}

at::Tensor make_images() {
  at::manual_seed(8);
  return at::randn({4, 3, 64, 96}).contiguous(at::MemoryFormat::ChannelsLast);
}

void check_same(const RetinaNet& one, const RetinaNet& other) {
  for (const Parameter& parameter : one.parameters().all()) {
    INFO(parameter.name);
    CHECK(at::equal(parameter.tensor, other.parameters().get(parameter.name)));
  }
}

struct Deviation {
  double mean = 0;
  double variance = 0;
};

// How far the norms' outputs over `images` are from mean 0 and variance 1; computed by the operator
// that the model uses, not by the calibration's own arithmetic.
Deviation deviation_of(const RetinaNet& model, const at::Tensor& images) {
  const at::NoGradGuard no_grad;
  const auto layers = retinanet_layers(model.config().num_classes, model.config().architecture);
  kernels::ConvBlockFn* conv_block = kernels::conv_block_operator().select(model.config().kernels);
  Deviation worst;
  run_body(
      model.config().architecture, images,
      [&](std::size_t place, const at::Tensor& input, bool relu,
          const std::optional<at::Tensor>& residual) {
        const ConvLayer& layer = layers[place];
        const auto part = [&](const char* name) {
          return model.parameters().get(layer.norm + name);
        };
        const kernels::FrozenBatchNorm norm{.weight = part(".weight"),
                                            .bias = part(".bias"),
                                            .running_mean = part(".running_mean"),
                                            .running_var = part(".running_var")};
        at::Tensor out = conv_block({.input = input,
                                     .weight = model.parameters().get(layer.name + ".weight"),
                                     .norm = &norm,
                                     .stride = layer.stride,
                                     .padding = layer.padding,
                                     .groups = layer.groups});
        const at::Tensor normalised =
            out.to(at::kDouble) / norm.weight.to(at::kDouble).reshape({1, -1, 1, 1});
        const auto [variance, mean] = at::var_mean(normalised, at::IntArrayRef{0, 2, 3}, false);
        worst.mean = std::max(worst.mean, mean.abs().max().item<double>());
        worst.variance = std::max(worst.variance, (variance - 1).abs().max().item<double>());
        out = residual ? out + *residual : out;
        return relu ? out.relu() : out;
      });
  return worst;
}

}  // namespace

TEST_CASE("after calibration each norm gives mean 0 and variance 1", "[retinanet][calibration]") {
  const at::Tensor images = make_images();
  for (const char* implementation : {"reference", "custom"}) {
    RetinaNet model(small({{"conv-block", implementation}}));
    model.parameters().set_initial_values(2);
    const Deviation before = deviation_of(model, images);
    CHECK(before.variance > 0.1);
    calibrate_norms(model, images);
    const Deviation after = deviation_of(model, images);
    INFO(implementation);
    CHECK(after.mean < 1e-3);
    CHECK(after.variance < 1e-3);
  }
}

TEST_CASE("calibration gives the same bits for all kernels, precisions and threads",
          "[retinanet][calibration]") {
  const at::Tensor images = make_images();
  RetinaNet first(small());
  first.parameters().set_initial_values(2);
  calibrate_norms(first, images);
  for (const int threads : {1, 2, 3}) {
    const ThreadScope scope(threads);
    RetinaNetConfig config = small({{"conv-block", "custom"}});
    config.bf16 = true;
    RetinaNet other(config);
    other.parameters().set_initial_values(2);
    calibrate_norms(other, images.contiguous());
    CHECK(kernels::threads() == threads);
    check_same(other, first);
  }
}

TEST_CASE("constant channels are not blown up by calibration", "[retinanet][calibration]") {
  const at::Tensor images = make_images();
  RetinaNet model(small());
  model.parameters().set_initial_values(2);
  {
    const at::NoGradGuard no_grad;
    model.parameters().get(kStem)[5].zero_();
  }
  calibrate_norms(model, images);
  const ParameterStore& parameters = model.parameters();
  const std::string norm = kStemNorm;
  CHECK(parameters.get(norm + ".running_mean")[5].item<float>() == 0);
  CHECK(parameters.get(norm + ".running_var")[5].item<float>() == 1);
  CHECK(parameters.get(norm + ".running_var")[4].item<float>() != 1);
  // A picture of one colour: all of the stem's channels vary at the borders only, deeper ones
  // hardly; nothing becomes infinite or negative.
  calibrate_norms(model, at::full({2, 3, 64, 96}, 0.5));
  for (const Parameter& parameter : parameters.all()) {
    INFO(parameter.name);
    CHECK(parameter.tensor.isfinite().all().item<bool>());
    if (parameter.name.ends_with("running_var")) {
      CHECK(parameter.tensor.min().item<float>() >= 0);
    }
  }
  const at::NoGradGuard no_grad;
  for (const at::Tensor& logits : model.forward(images).logits) {
    CHECK(logits.isfinite().all().item<bool>());
  }
}

TEST_CASE("the residual gain goes to the last norm of each branch", "[retinanet][calibration]") {
  const at::Tensor images = make_images();
  RetinaNet model(small());
  model.parameters().set_initial_values(2);
  calibrate_norms(model, images, 0.25);
  int last_norms = 0;
  for (const Parameter& parameter : model.parameters().all()) {
    if (!parameter.buffer || !parameter.name.ends_with(".weight")) continue;
    const bool last = parameter.name.ends_with(".bn3.weight");
    last_norms += last ? 1 : 0;
    INFO(parameter.name);
    CHECK((parameter.tensor == (last ? 0.25 : 1.0)).all().item<bool>());
  }
  CHECK(last_norms == 5);
  CHECK(deviation_of(model, images).variance < 1e-3);
}

TEST_CASE("weights that kernels keep prepared follow the calibration", "[retinanet][calibration]") {
  const at::Tensor images = make_images();
  RetinaNet used(small({{"conv-block", "custom"}}));
  used.parameters().set_initial_values(2);
  const at::NoGradGuard no_grad;
  const at::Tensor before = used.forward(images).logits[0];
  calibrate_norms(used, images);
  const at::Tensor after = used.forward(images).logits[0];
  CHECK_FALSE(at::equal(before, after));
  RetinaNet fresh(small({{"conv-block", "custom"}}));
  for (const Parameter& parameter : used.parameters().all()) {
    fresh.parameters().set(parameter.name, parameter.tensor);
  }
  CHECK(at::equal(fresh.forward(images).logits[0], after));
}

TEST_CASE("calibration refuses what it cannot use", "[retinanet][calibration]") {
  RetinaNet model(small());
  model.parameters().set_initial_values(2);
  CHECK_THROWS_AS(calibrate_norms(model, at::zeros({0, 3, 64, 96})), std::invalid_argument);
  CHECK_THROWS_AS(calibrate_norms(model, at::zeros({1, 3, 96, 64})), std::invalid_argument);
  CHECK_THROWS_AS(calibrate_norms(model, at::zeros({1, 3, 64, 96}, at::kDouble)),
                  std::invalid_argument);
  const at::Tensor images = at::full({1, 3, 64, 96}, std::numeric_limits<float>::quiet_NaN());
  CHECK_THROWS_AS(calibrate_norms(model, images), Error);
}
