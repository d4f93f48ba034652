// A convolution in int8 as a primitive of oneDNN, with all that stands behind it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <mutex>
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

  /// Throws dnnl::error, as run() and calls do.
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
  std::size_t border_bytes() const { return border_bytes_; }
  std::size_t scratch_bytes() const { return scratch_bytes_; }

  /// What the primitive is called with, made once for many calls, which the convolution outlives.
  /// By one thread at a time.
  class Call {
   public:
    Call(const Int8Convolution& convolution, const Places& places);
    Call(const Call&) = delete;
    Call(Call&&) = default;
    Call& operator=(const Call&) = delete;
    Call& operator=(Call&&) = delete;
    ~Call() = default;
    const Places& places() const { return places_; }
    void move(const Places& places);
    void run() const;

   private:
    void add(int argument, const dnnl::memory::desc& description, const void* place);

    const Int8Convolution* convolution_;
    Places places_{};
    std::vector<dnnl::memory> memories_{};
    std::vector<dnnl_exec_arg_t> arguments_{};
  };

 private:
  /// Whether a residual in float32 is among what the primitive reads.
  bool adds_floats() const { return problem_.shape.residual && !problem_.narrow_residual; }

  Problem problem_;
  dnnl::convolution_forward::primitive_desc description_;
  dnnl::convolution_forward primitive_;
  std::size_t border_bytes_ = 0, scratch_bytes_ = 0, output_bytes_ = 0;
  at::Tensor weights_{}, scales_{}, bias_{};
  mutable std::mutex mutex_{};
  mutable std::optional<Call> call_{};  ///< of run(), by one thread at a time
};

}  // namespace harness::kernels
