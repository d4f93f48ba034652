// The ways to compute a pass of a convolution. Each is one file that ends in its registration line:
//   const RegisterConvolutionKernel registered({"grouped", computes, preferred, make});
#pragma once

#include <ATen/core/Tensor.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/convolution/convolution.hpp"

namespace harness::kernels {

using ConvolutionPasses = std::set<ConvolutionPass>;

inline const float* floats_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}
inline const void* any_or_null(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

/// For one shape. Its functions are Convolution's; those of a pass that it was not made for throw
/// std::logic_error. Where one returns an undefined tensor, another kernel has to compute it: these
/// weights cannot be prepared (they would leave float's range), or there is no memory to work in.
class ConvolutionKernel {
 public:
  virtual ~ConvolutionKernel() = default;
  ConvolutionKernel(const ConvolutionKernel&) = delete;
  ConvolutionKernel& operator=(const ConvolutionKernel&) = delete;

  const ConvolutionShape& shape() const { return shape_; }

  virtual at::Tensor forward(const at::Tensor& input, const ConvolutionWeights& weights,
                             const at::Tensor& bias, const at::Tensor& residual);
  virtual at::Tensor backward_data(const at::Tensor& grad_output, const at::Tensor& activated,
                                   const ConvolutionWeights& weights);
  virtual at::Tensor backward_weights(const at::Tensor& input, const at::Tensor& grad_output,
                                      const at::Tensor& activated,
                                      const ConvolutionWeights& weights,
                                      const at::Tensor& grad_bias);
  /// Of the two gradients.
  virtual bool applies_mask() const { return false; }
  /// "grouped:AVX2", of ours the registered name and the instruction set.
  virtual std::string implementation(ConvolutionPass pass) const = 0;

 protected:
  explicit ConvolutionKernel(const ConvolutionShape& shape) : shape_(shape) {}

  at::Tensor empty_output() const;
  at::Tensor empty_input() const;
  at::Tensor empty_weights() const;  ///< float32, (O, C/groups, kh, kw)

 private:
  ConvolutionShape shape_;
};

struct ConvolutionKernelInfo {
  std::string name{};
  /// Whether it can, on this machine.
  bool (*computes)(const ConvolutionShape& shape, ConvolutionPass pass) = nullptr;
  /// Whether it is the fastest direct one for a shape that it computes; null: never.
  bool (*preferred)(const ConvolutionShape& shape, ConvolutionPass pass) = nullptr;
  /// For passes that it computes; null where the library has none after all.
  std::unique_ptr<ConvolutionKernel> (*make)(const ConvolutionShape& shape,
                                             const ConvolutionPasses& passes) = nullptr;
  /// Whether a model of such activations keeps the golden tolerances with it in all its layers;
  /// null: always.
  bool (*exact)(ConvolutionPass pass, at::ScalarType type) = nullptr;
  /// Of the multiplications that direct convolution needs, those it does (at edges some more).
  double work = 1;
};

/// All that are registered, by name. oneDNN's, "onednn", is taken where none is preferred.
std::vector<const ConvolutionKernelInfo*> convolution_kernels();

/// Throws std::invalid_argument for a name that is not registered.
const ConvolutionKernelInfo& convolution_kernel(const std::string& name);

/// The name of the kernel for a pass; for kTuned where no table knows the shape.
std::string choose_kernel(const ConvolutionShape& shape, ConvolutionPass pass,
                          ConvolutionAlgorithm algorithm);

/// The registration line. Throws std::logic_error for a name that is taken.
struct RegisterConvolutionKernel {
  explicit RegisterConvolutionKernel(ConvolutionKernelInfo info);
};

}  // namespace harness::kernels
