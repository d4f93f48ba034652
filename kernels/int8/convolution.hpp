// A convolution in int8 as a primitive of oneDNN, with all that stands behind it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <vector>

#include "kernels/convolution/convolution.hpp"
#include "kernels/int8/affine.hpp"

namespace harness::kernels {

/// Everything that a primitive and its constants depend on, but the parameters.
struct Int8Problem {
  ConvolutionShape shape{};
  Affine input{};
  std::optional<Affine> output{};           ///< absent: float32
  std::optional<Affine> narrow_residual{};  ///< of one that is quantised
  bool operator==(const Int8Problem&) const = default;
};

class Int8Convolution {
 public:
  using Problem = Int8Problem;

  Int8Convolution(const Problem& problem, const ConvolutionWeights& weights,
                  const at::Tensor& bias);

  const Problem& problem() const { return problem_; }

  /// `input` is quantised, channels_last; `residual` undefined, float32 or quantised.
  at::Tensor run(const at::Tensor& input, const at::Tensor& residual) const;

  /// Where one call reads and writes; maps lie channels_last.
  struct Places {
    const void* input = nullptr;
    void* border = nullptr;  ///< border_bytes()
    /// As the problem says. A quantised one may lie where the output goes.
    const void* residual = nullptr;
    void* output = nullptr;
    void* scratch = nullptr;  ///< scratch_bytes(), aligned to 64 bytes
  };
  /// Of the input with what lies around it; 0: it is read where it lies.
  std::size_t border_bytes() const;
  std::size_t scratch_bytes() const { return description_.scratchpad_desc().get_size(); }

  /// What the primitive is called with, prepared for places that stay where they are.
  class Call {
   public:
    Call(const Int8Convolution& convolution, const Places& places);
    Call(const Call&) = delete;
    Call(Call&&) = default;
    Call& operator=(const Call&) = delete;
    Call& operator=(Call&&) = delete;
    ~Call() = default;
    /// Another input, or another output.
    void read(const void* input);
    void write(void* output);
    void run() const;

   private:
    void add(int argument, const dnnl::memory::desc& description, const void* place);

    const Int8Convolution* convolution_;
    Places places_;
    std::vector<dnnl::memory> memories_{};
    std::vector<dnnl_exec_arg_t> arguments_{};
  };

 private:
  Problem problem_;
  dnnl::convolution_forward::primitive_desc description_;
  dnnl::convolution_forward primitive_;
  at::Tensor weights_{}, scales_{}, bias_{};
};

}  // namespace harness::kernels
