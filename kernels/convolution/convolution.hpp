// A convolution of one shape with everything fused behind it, forward and both gradients; made once
// and kept. Which library or kernel does it is decided here, by the shape.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <set>
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
  double ceiling = std::numeric_limits<double>::infinity();  ///< of the ReLU; forward only
  bool residual = false;                                     ///< added before the ReLU
  int threads = 1;  ///< primitives are cut for a number of threads

  int64_t out_height() const { return (in_height + 2 * padding - kernel_height) / stride + 1; }
  int64_t out_width() const { return (in_width + 2 * padding - kernel_width) / stride + 1; }
  bool clipped() const { return ceiling != std::numeric_limits<double>::infinity(); }
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

enum class ConvolutionPass { kForward, kData, kWeights };  ///< both gradients behind the first

enum class ConvolutionAlgorithm {
  kDirect,
  kWinograd,  ///< where it can: 3x3 of stride 1; else direct
  kTuned      ///< as tuning.hpp has it, by a rule where no table knows the shape
};

class ConvolutionKernel;

/// What computed a pass over a shape in this process.
struct ConvolutionChoice {
  std::string problem{};  ///< as problem_of() has it
  at::ScalarType type = at::kFloat;
  ConvolutionPass pass = ConvolutionPass::kForward;
  std::string kernel{};          ///< as registered: "onednn"
  std::string implementation{};  ///< "brgconv:avx512_core"
  double work = 1;               ///< ConvolutionKernelInfo::work
  auto operator<=>(const ConvolutionChoice&) const = default;
};

/// All that ran since the program began, and how often.
std::map<ConvolutionChoice, std::int64_t> convolutions_run();

class Convolution {
 public:
  /// The one for a shape, made at its first use; null where there is none on this machine (bf16
  /// without AVX-512). A pass whose kernel cannot be made after all, or finds no memory for what it
  /// works in, is a direct convolution's. Lives until the program ends.
  static Convolution* find(const ConvolutionShape& shape, ConvolutionAlgorithm algorithm);

  Convolution(const Convolution&) = delete;
  Convolution& operator=(const Convolution&) = delete;

  const ConvolutionShape& shape() const { return shape_; }

  /// (N, O, H', W') from (N, C, H, W); `bias` (O) float32, `residual` like the output.
  at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                     const at::Tensor& bias, const at::Tensor& residual);
  /// Whether the two below apply the ReLU's mask themselves: then `activated` is the output of the
  /// forward pass where the shape has a ReLU, else it is undefined and the gradient masked already.
  bool applies_mask() const;
  /// Gradient by the input (N, C, H, W).
  at::Tensor backward_data(const at::Tensor& grad_output, const at::Tensor& activated,
                           const ConvolutionWeights& weights);
  /// Gradient by weights.weight, float32, channels_last; with shape().bias_gradient also
  /// `grad_bias` (O), which is written to.
  at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                              const at::Tensor& activated, const ConvolutionWeights& weights,
                              const at::Tensor& grad_bias);
  /// Gradient by the bias (O), float32, alone: for weights that are not trained.
  static at::Tensor backward_bias(const at::Tensor& grad_output, const at::Tensor& activated);
  /// What runs, forward, backward by data and by weights, for reports.
  std::string description() const;

 private:
  friend std::map<ConvolutionChoice, std::int64_t> convolutions_run();
  struct OfPass {
    std::string name{};
    std::shared_ptr<ConvolutionKernel> kernel{};
    std::atomic<std::int64_t> calls = 0;
  };

  explicit Convolution(const ConvolutionShape& shape) : shape_(shape) {}

  static Convolution* find_or_make(const ConvolutionShape& shape, ConvolutionAlgorithm algorithm,
                                   std::size_t generation);
  /// Makes the kernels that are named; gives back the passes whose kernel cannot be made.
  std::set<ConvolutionPass> take(const std::map<ConvolutionPass, std::string>& names);
  OfPass& of(ConvolutionPass pass);
  const OfPass& of(ConvolutionPass pass) const;
  Convolution& direct();

  ConvolutionShape shape_;
  std::array<OfPass, 3> passes_{};
};

/// The instruction set that oneDNN uses on this machine: "avx512_core_bf16".
std::string onednn_instruction_set();

}  // namespace harness::kernels
