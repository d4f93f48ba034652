// A convolution of one shape with everything fused behind it, forward and both gradients; made once
// and kept. Which library or kernel does it is decided here, by the shape.
#pragma once

#include <ATen/core/Tensor.h>

#include <compare>
#include <memory>
#include <string>

#include "kernels/runtime/profiler.hpp"

namespace harness::kernels {

/// Everything a primitive depends on. Activations are channels_last, dense.
struct ConvolutionShape {
  int64_t batch = 1, in_channels = 1, in_height = 1, in_width = 1;
  int64_t out_channels = 1, kernel_height = 1, kernel_width = 1;
  int64_t stride = 1, padding = 0, groups = 1;
  at::ScalarType type = at::kFloat;  ///< of activations and weights: kFloat or kBFloat16
  bool bias = false;                 ///< float32, added by the forward pass
  bool bias_gradient = false;        ///< wanted together with the gradient by the weights
  bool relu = false;                 ///< behind the forward pass
  bool residual = false;             ///< added before the ReLU
  int threads = 1;                   ///< primitives are cut for a number of threads

  int64_t out_height() const { return (in_height + 2 * padding - kernel_height) / stride + 1; }
  int64_t out_width() const { return (in_width + 2 * padding - kernel_width) / stride + 1; }
  auto operator<=>(const ConvolutionShape&) const = default;
};

/// The parameter of a convolution: `weight` (O, C/groups, kh, kw) float32, to be multiplied by
/// `scale` (O), which is undefined where there is no norm to fold in.
struct ConvolutionWeights {
  at::Tensor weight{};
  at::Tensor scale{};
};

/// In benchdnn's syntax, as oneDNN's verbose lines have it:
/// "mb1_ic64oc128_ih200oh200kh1sh1dh0ph0_iw..."
std::string problem_of(const ConvolutionShape& shape);

/// A pass over that shape by a kernel of ours, for a profile; `direction` is oneDNN's word.
KernelFacts convolution_facts(const ConvolutionShape& shape, const char* implementation,
                              const char* direction);

class Convolution {
 public:
  /// The one for a shape, made at its first use; null where there is none on this machine (bf16
  /// without AVX-512). Lives until the program ends.
  static Convolution* find(const ConvolutionShape& shape);

  virtual ~Convolution() = default;
  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  const ConvolutionShape& shape() const { return shape_; }

  /// (N, O, H', W') from (N, C, H, W); `bias` (O) float32, `residual` like the output.
  virtual at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                             const at::Tensor& bias, const at::Tensor& residual) = 0;
  /// Whether the two below apply the ReLU's mask themselves: then `activated` is the output of the
  /// forward pass where the shape has a ReLU, else it is undefined and the gradient masked already.
  virtual bool applies_mask() const { return false; }
  /// Gradient by the input (N, C, H, W).
  virtual at::Tensor backward_data(const at::Tensor& grad_output, const at::Tensor& activated,
                                   const ConvolutionWeights& weights) = 0;
  /// Gradient by weights.weight, float32, channels_last; with shape().bias_gradient also
  /// `grad_bias` (O), which is written to.
  virtual at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                                      const at::Tensor& activated,
                                      const ConvolutionWeights& weights,
                                      const at::Tensor& grad_bias) = 0;
  /// What runs, forward, backward by data and by weights, for reports.
  virtual std::string description() = 0;

 protected:
  explicit Convolution(const ConvolutionShape& shape) : shape_(shape) {}

  at::Tensor empty_output() const;
  at::Tensor empty_input() const;
  at::Tensor empty_weights() const;  ///< float32, (O, C/groups, kh, kw)

 private:
  ConvolutionShape shape_;
};

/// oneDNN primitives; null where oneDNN has none.
std::unique_ptr<Convolution> make_onednn_convolution(const ConvolutionShape& shape);

/// Our own kernels for grouped 3x3 convolutions; null for other shapes and machines.
std::unique_ptr<Convolution> make_grouped_convolution(const ConvolutionShape& shape);

/// The gradient by the weights as one matrix product where the map is small; null for others.
std::unique_ptr<Convolution> make_few_positions_convolution(const ConvolutionShape& shape);

/// The instruction set that oneDNN uses on this machine: "avx512_core_bf16".
std::string onednn_instruction_set();

}  // namespace harness::kernels
