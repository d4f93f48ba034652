#include "workloads/retinanet/calibration.hpp"

#include <ATen/core/grad_mode.h>

#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "harness/base/error.hpp"
#include "kernels/conv_block/conv_block.hpp"
#include "kernels/runtime/threads.hpp"
#include "workloads/retinanet/body.hpp"

namespace harness::workloads {
namespace {

/// Sums are cut into as many pieces as there are threads; one thread cuts them the same everywhere.
class OneThread {
 public:
  OneThread() : before_(kernels::threads()) { kernels::set_threads(1); }
  ~OneThread() { kernels::set_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

/// Mean and variance of each channel, (C) double.
std::tuple<at::Tensor, at::Tensor> statistics(const at::Tensor& maps) {
  const at::Tensor values = maps.to(at::kDouble);
  return at::var_mean(values, at::IntArrayRef{0, 2, 3}, /*unbiased=*/false);
}

class Calibration {
 public:
  Calibration(RetinaNet& model, std::optional<double> residual_gain)
      : parameters_(model.parameters()),
        layers_(retinanet_layers(model.config().num_classes, model.config().architecture)),
        residual_gain_(residual_gain) {}

  at::Tensor convolve(std::size_t place, const at::Tensor& input, bool relu,
                      const std::optional<at::Tensor>& residual) {
    const ConvLayer& layer = layers_.at(place);
    const at::Tensor maps =
        at::conv2d(input, parameters_.get(layer.name + ".weight"), {}, {layer.stride, layer.stride},
                   {layer.padding, layer.padding}, {1, 1}, layer.groups);
    if (residual && residual_gain_) {
      const at::Tensor& weight = parameters_.get(layer.norm + ".weight");
      parameters_.set(layer.norm + ".weight", at::full_like(weight, *residual_gain_));
    }
    set_statistics(layer.norm, maps);
    // As the model will compute it.
    const auto part = [&](const char* name) {
      return parameters_.get(layer.norm + name).reshape({1, -1, 1, 1});
    };
    const at::Tensor scale =
        part(".weight") * (part(".running_var") + kernels::FrozenBatchNorm{}.eps).rsqrt();
    at::Tensor out = (maps - part(".running_mean")) * scale + part(".bias");
    if (residual) out.add_(*residual);
    return relu ? out.relu_() : out;
  }

 private:
  void set_statistics(const std::string& norm, const at::Tensor& maps) {
    const double eps = kernels::FrozenBatchNorm{}.eps;
    auto [variance, mean] = statistics(maps);
    if (!variance.isfinite().all().item<bool>() || !mean.isfinite().all().item<bool>()) {
      throw Error("calibration of the norms", "what goes into " + norm + " is not finite");
    }
    const at::Tensor constant = variance <= eps;
    parameters_.set(norm + ".running_mean", mean);
    parameters_.set(norm + ".running_var",
                    at::where(constant, at::ones_like(variance), variance - eps));
  }

  ParameterStore& parameters_;
  std::vector<ConvLayer> layers_;
  std::optional<double> residual_gain_;
};

}  // namespace

void calibrate_norms(RetinaNet& model, const at::Tensor& images,
                     std::optional<double> residual_gain) {
  const RetinaNetConfig& config = model.config();
  if (images.dim() != 4 || images.size(0) < 1 || images.scalar_type() != at::kFloat ||
      images.sizes().slice(1) != at::IntArrayRef{3, config.height, config.width}) {
    throw std::invalid_argument("calibrate_norms needs float32 images (N, 3, height, width)");
  }
  const at::NoGradGuard no_grad;
  const OneThread one_thread;
  Calibration calibration(model, residual_gain);
  run_body(config.architecture, images.contiguous(at::MemoryFormat::ChannelsLast),
           [&](std::size_t layer, const at::Tensor& input, bool relu,
               const std::optional<at::Tensor>& residual) {
             return calibration.convolve(layer, input, relu, residual);
           });
}

}  // namespace harness::workloads
