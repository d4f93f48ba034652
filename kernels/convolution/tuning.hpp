// Which kernel computes which convolution, found by measuring: what `conv-block=custom` follows.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "kernels/convolution/convolution.hpp"

namespace harness::kernels {

/// One line of a table: the kernel that was fastest.
struct TunedConvolution {
  std::string problem{};  ///< as problem_of() has it
  at::ScalarType type = at::kFloat;
  ConvolutionPass pass = ConvolutionPass::kForward;
  int threads = 1;
  std::string kernel{};
};

/// From here on kTuned convolutions that were not found before take these kernels; empty: those of
/// the rule alone. Throws std::invalid_argument, and changes nothing, for a kernel that is not
/// registered or not exact enough for its pass, and for a line that is there twice.
void use_tuning(const std::vector<TunedConvolution>& lines);

/// The kernel that use_tuning() was given for that shape, or where it knows none untuned_kernel().
std::string tuned_kernel(const ConvolutionShape& shape, ConvolutionPass pass);

/// What is taken where no table knows the shape.
std::string untuned_kernel(const ConvolutionShape& shape, ConvolutionPass pass);

/// How often use_tuning() was called: convolutions of other tables are others.
std::size_t tuning_generation();

/// Kernels that compute this shape on this machine, exactly enough for that pass: by name.
std::vector<std::string> convolution_candidates(const ConvolutionShape& shape,
                                                ConvolutionPass pass);

}  // namespace harness::kernels
