#include "kernels/runtime/operator_facts.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace harness::kernels {
namespace {

const char* short_name(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
      return "f32";
    case at::kBFloat16:
      return "bf16";
    case at::kHalf:
      return "f16";
    case at::kDouble:
      return "f64";
    case at::kLong:
      return "s64";
    case at::kInt:
      return "s32";
    case at::kByte:
      return "u8";
    default:
      return at::toString(type);
  }
}

void add_tensor(const at::Tensor& tensor, Scope& scope, bool describe) {
  if (!tensor.defined() || tensor.layout() != at::kStrided) return;
  scope.bytes += static_cast<double>(tensor.nbytes());
  if (!describe) return;
  if (!scope.shapes.empty()) scope.shapes += ' ';
  scope.shapes += short_name(tensor.scalar_type());
  scope.shapes += '[';
  for (std::int64_t i = 0; i < tensor.dim(); ++i) {
    if (i > 0) scope.shapes += ',';
    scope.shapes += std::to_string(tensor.size(i));
  }
  scope.shapes += ']';
}

void add_value(const c10::IValue& value, Scope& scope, bool describe) {
  if (value.isTensor()) add_tensor(value.toTensor(), scope, describe);
  if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) add_tensor(tensor, scope, describe);
  }
}

// LibTorch lowers some convolutions to matrix products itself (maps too small for oneDNN to be
// worth it), which leave no line in the log.
constexpr std::string_view kLoweredForward = "aten::_slow_conv2d_forward";
constexpr std::string_view kLoweredBackward = "aten::_slow_conv2d_backward";

double flops_a_value(const at::Tensor& weight) {
  if (!weight.defined() || weight.dim() == 0 || weight.size(0) == 0) return 0;
  return 2 * static_cast<double>(weight.numel() / weight.size(0));
}

/// Known as it begins; of the forward pass only those for one value of the result, which is to
/// come.
double flops_of(const std::string& name, c10::ArrayRef<const c10::IValue> inputs) {
  if (name == kLoweredForward && inputs.size() > 1 && inputs[1].isTensor()) {
    return flops_a_value(inputs[1].toTensor());
  }
  if (name != kLoweredBackward || inputs.size() < 7) return 0;
  if (!inputs[0].isTensor() || !inputs[2].isTensor() || !inputs[6].isBoolList()) return 0;
  // By the input and by the weights, as far as they are wanted; the bias's is a sum.
  const c10::List<bool> wanted = inputs[6].toBoolList();
  double passes = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(wanted.size(), 2); ++i) {
    passes += wanted[i] ? 1 : 0;
  }
  return passes * flops_a_value(inputs[2].toTensor()) *
         static_cast<double>(inputs[0].toTensor().numel());
}

}  // namespace

void describe_inputs(const at::RecordFunction& function, Scope& scope) {
  for (const c10::IValue& value : function.inputs()) add_value(value, scope, true);
  scope.flops = flops_of(scope.name, function.inputs());
}

void describe_outputs(const at::RecordFunction& function, Scope& scope) {
  const auto& outputs = function.outputs();
  for (const c10::IValue& value : outputs) add_value(value, scope, false);
  if (scope.name == kLoweredForward && !outputs.empty() && outputs[0].isTensor()) {
    scope.flops *= static_cast<double>(outputs[0].toTensor().numel());
  }
}

}  // namespace harness::kernels
