// Primitives one by one, as a profile describes them: made again from shape, layouts, types and
// attributes, and run alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/convolution/convolution.hpp"

namespace harness::kernels {

struct TensorForm {
  std::string type{};    ///< f32, bf16, f16, s32, s8, u8
  std::string layout{};  ///< acdb, ABcd16b16a; "any": the library chooses
  std::vector<std::int64_t> extents{};
};

/// What a primitive depends on, in oneDNN's words.
struct PrimitiveForm {
  std::string kind{};                           ///< convolution, matmul, reorder
  std::string implementation{};                 ///< of a kernel of ours: "grouped:AVX2"
  std::string direction{};                      ///< forward_training, backward_data, ...
  std::map<std::string, TensorForm> tensors{};  ///< src, wei, bia, dst; of a gradient its own
  std::vector<std::int64_t> strides{}, dilations{}, padding_begin{}, padding_end{};
  std::string attributes{};  ///< "attr-scratchpad:user attr-post-ops:eltwise_relu"
};

/// Memory that primitives read and write. Each request gives the next part of it, so that what a
/// primitive reads was pushed out of the caches by those before it, as in a step. Not for several
/// threads.
class ReplayMemory {
 public:
  static constexpr std::size_t kLeastBytes = std::size_t{192} << 20;

  /// `cache_bytes`: of the last-level caches, 0 when unknown. `most_bytes`: for one request.
  ReplayMemory(std::size_t cache_bytes, std::size_t most_bytes);
  ~ReplayMemory();
  ReplayMemory(const ReplayMemory&) = delete;
  ReplayMemory& operator=(const ReplayMemory&) = delete;

  /// Throws std::invalid_argument for more than one request may have.
  void check(std::size_t bytes) const;
  /// Room for one request of `bytes`, and beyond it for twice the caches, kLeastBytes or more.
  /// Throws as check() does.
  void reserve(std::size_t bytes);
  /// Small numbers, as float32 and as bfloat16. Not to be written to. Precondition: reserved.
  void* input(std::size_t bytes);
  /// To be written to, and never read. Precondition: reserved.
  void* output(std::size_t bytes);

 private:
  class Region;
  std::size_t most_bytes_;
  std::unique_ptr<Region> inputs_, outputs_;
};

class Replay {
 public:
  virtual ~Replay() = default;
  /// Takes other memory, which is in no cache, for the next run.
  virtual void chill() = 0;
  /// Runs it once and waits for its end. Precondition: chill() since the last run, and no other
  /// replay was made since.
  virtual void run() = 0;
  /// What ran, by the library's name: "brgconv:avx512_core".
  virtual std::string implementation() const = 0;
};

/// By the oneDNN that this project is built with, which need not be the version that was profiled.
/// `memory` outlives it. Throws std::invalid_argument for what it has no primitive for.
/// Precondition: each tensor's extents are above 0, and their product times 8 fits in an int64.
std::unique_ptr<Replay> make_onednn_replay(const PrimitiveForm& form, ReplayMemory& memory);

/// By a convolution kernel of ours, cut for `threads`. Throws std::invalid_argument where this
/// machine or shape has none.
std::unique_ptr<Replay> make_own_convolution_replay(const PrimitiveForm& form, int threads,
                                                    ReplayMemory& memory);

/// By kernels/products/, in float32 or bf16. Throws std::invalid_argument where that has no kernel.
std::unique_ptr<Replay> make_own_product_replay(const PrimitiveForm& form, ReplayMemory& memory);

/// What a candidate is timed for.
enum class CandidateUse {
  kTraining,  ///< prepares weights at each run, as behind an optimiser's step
  kInference  ///< weights are prepared once, and the layer before has just written what it reads
};

/// By the kernel of that name, for comparison with others. Throws std::invalid_argument where it
/// cannot compute the shape.
std::unique_ptr<Replay> make_candidate_replay(const std::string& kernel,
                                              const ConvolutionShape& shape, ConvolutionPass pass,
                                              CandidateUse use, ReplayMemory& memory);

}  // namespace harness::kernels
