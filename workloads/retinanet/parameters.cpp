#include "workloads/retinanet/parameters.hpp"

#include <ATen/core/grad_mode.h>

#include <ATen/Parallel.h>

#include <cmath>
#include <string>

#include "workloads/retinanet/random.hpp"

namespace harness::workloads {
namespace {

constexpr double kPriorProbability = 0.01;
constexpr double kHeadDeviation = 0.01;

// Fills in logical (row-major OIHW) order whatever the strides are.
template <class Value>
void fill(const at::Tensor& tensor, const Value& value) {
  const at::Tensor values = at::empty(tensor.sizes(), at::kFloat);
  float* data = values.data_ptr<float>();
  at::parallel_for(0, values.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      data[i] = static_cast<float>(value(static_cast<std::uint64_t>(i)));
    }
  });
  tensor.copy_(values);
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

}  // namespace

RetinaNetParameters::RetinaNetParameters(int64_t num_classes, const Architecture& architecture)
    : scaled_heads_(architecture.scaled_heads) {
  const at::NoGradGuard no_grad;
  // The reference registers a block's convolutions and norms in pairs, which is the table's order.
  for (const ConvLayer& layer : retinanet_layers(num_classes, architecture)) {
    add(layer.name + ".weight",
        {layer.out_channels, layer.in_channels / layer.groups, layer.kernel, layer.kernel}, false,
        layer.trainable);
    if (layer.bias) add(layer.name + ".bias", {layer.out_channels}, false, layer.trainable);
    if (layer.norm.empty()) continue;
    for (const char* part : {".weight", ".bias", ".running_mean", ".running_var"}) {
      add(layer.norm + part, {layer.out_channels}, true, false);
    }
  }
}

void RetinaNetParameters::set_initial_values(std::uint32_t seed) {
  const at::NoGradGuard no_grad;
  for (const Parameter& parameter : all()) {
    const at::Tensor& tensor = parameter.tensor;
    const std::uint64_t key = splitmix64(fnv1a64(parameter.name), seed);
    const auto normal = [key](double deviation) {
      return [=](std::uint64_t i) { return deviation * standard_normal(key, i); };
    };
    if (tensor.dim() == 1) {
      const bool one = parameter.name.ends_with(".running_var") ||
                       (parameter.buffer && parameter.name.ends_with(".weight"));
      tensor.fill_(one ? 1 : 0);
    } else if (starts_with(parameter.name, "backbone.body.")) {
      const auto fan_out = static_cast<double>(tensor.size(0) * tensor.size(2) * tensor.size(3));
      fill(tensor, normal(std::sqrt(2 / fan_out)));
    } else if (starts_with(parameter.name, "backbone.fpn.")) {
      const auto fan_in = static_cast<double>(tensor.size(1) * tensor.size(2) * tensor.size(3));
      const double bound = std::sqrt(3 / fan_in);
      fill(tensor, [=](std::uint64_t i) { return bound * symmetric_uniform(key, i); });
    } else {
      const bool scaled = scaled_heads_ && parameter.name.find(".conv.") != std::string::npos;
      const auto fan_in = static_cast<double>(tensor.size(1) * tensor.size(2) * tensor.size(3));
      fill(tensor, normal(scaled ? std::sqrt(2 / fan_in) : kHeadDeviation));
    }
  }
  get("head.classification_head.cls_logits.bias")
      .fill_(-std::log((1 - kPriorProbability) / kPriorProbability));
}

}  // namespace harness::workloads
