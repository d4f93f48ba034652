// A chain of convolutions in float32 or bf16, each on what the one before gave, in one parallel
// region: the threads meet between two layers, or each takes pictures of its own through all of
// them. For inference. Needs no LibTorch.
#pragma once

#include <hwy/aligned_allocator.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/convolution/depthwise.hpp"
#include "kernels/products/products.hpp"

namespace harness::kernels {

struct ChainLayer {
  std::int64_t out_channels = 1, in_channels = 1;  ///< of all groups
  std::int64_t kernel = 1, stride = 1, padding = 0, groups = 1;
  const float* weights = nullptr;  ///< (O, C/groups, k, k), dense
  const float* bias = nullptr;     ///< (O); null: none
  /// What an output is cut off at; a NaN stays one.
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  /// The layer, this one or one before it, whose input is added before the limits.
  std::optional<std::size_t> adds_input_of{};

  bool depthwise() const { return groups > 1; }
  std::int64_t out(std::int64_t side) const { return (side + 2 * padding - kernel) / stride + 1; }
};

/// Maps (channels, height, width) of one picture, channels_last.
struct MapSize {
  std::int64_t channels = 0, height = 0, width = 0;
  std::int64_t floats() const { return channels * height * width; }
};

class Chain {
 public:
  /// Whether there are kernels for that: convolutions without groups, and depthwise 3x3 with
  /// padding 1 and stride 1 or 2 that add nothing.
  static bool computes(const std::vector<ChainLayer>& layers);

  /// The same in bf16: the machine has an instruction for it, and all but the first layer are 1x1
  /// or depthwise, the last one 1x1, on even numbers of channels.
  static bool computes_narrow(const std::vector<ChainLayer>& layers);

  /// Packs the weights and keeps the biases: nothing that a layer points to is read later.
  /// Precondition: computes(layers), and each takes the channels that the one before gives. With
  /// `narrow`, whose precondition is computes_narrow(layers): in bf16 are the maps between two
  /// layers and the weights of the 1x1 ones behind the first; sums are in float32 everywhere.
  Chain(const std::vector<ChainLayer>& layers, bool mean, bool narrow = false);

  /// What pictures of this size become; with `mean`, channels alone.
  MapSize result(std::int64_t height, std::int64_t width) const;
  std::int64_t in_channels() const { return layers_.front().layer.in_channels; }

  struct Pictures {
    std::int64_t count = 1, height = 0, width = 0;
  };
  /// How pictures of one size and number are computed.
  struct Plan;
  /// By as many threads as OpenMP has now. `in_parts`: for run_part().
  Plan plan(const Pictures& pictures, bool in_parts = false) const;
  /// By all threads of OpenMP, as many as the plan is for. Maps lie channels_last, dense. The bits
  /// do not depend on the number of pictures or threads. `scratch` is aligned to 64 bytes.
  void run(const Plan& plan, const float* input, float* output, float* scratch) const;

  /// What is computed between two meetings of the threads.
  struct Part {
    const ChainLayer* layer = nullptr;  ///< null: maps are padded, or their mean is taken
    MapSize in{};                       ///< of that layer
    bool adds = false;                  ///< the input of a layer before it
    bool narrow = false;                ///< it is in bf16
  };
  /// Of a plan made in parts; the bits are those of run().
  std::vector<Part> parts(const Plan& plan) const;
  void run_part(const Plan& plan, std::size_t part, const float* input, float* output,
                float* scratch) const;

 private:
  struct Packed {
    ChainLayer layer{};
    hwy::AlignedFreeUniquePtr<float[]> weights{}, bias{};  ///< no bias: null
    hwy::AlignedFreeUniquePtr<Bf16[]> narrow_weights{};    ///< in place of `weights`
  };

  enum class Kind { kPad, kProduct, kRows, kDepthwise, kMean };
  /// What is computed at once, between two meetings of the threads.
  struct Step {
    Kind kind = Kind::kProduct;
    std::size_t layer = 0;
    MapSize in{}, out{};
    /// Numbers of values.
    std::size_t from = 0, to = 0;
    std::optional<std::size_t> added{};
    bool reads_narrow = false, writes_narrow = false;
  };
  /// Some of the layers, for pictures of one size. Value 0 is what goes in, value 1 what comes out;
  /// the others lie in the scratch memory, where room is given again once a value was read last.
  struct Section {
    std::vector<Step> steps{};
    std::vector<std::int64_t> places{};  ///< of each value, floats of one picture before it
    std::int64_t floats = 0;             ///< scratch of one picture
    /// Room that a picture takes in values 0 and 1: in bf16 half as many floats as numbers.
    std::int64_t in_floats = 0, out_floats = 0;
    std::int64_t together = 1;  ///< pictures that a thread of its own takes through at once
  };
  /// Where a section works.
  struct Place {
    const float* input = nullptr;
    float* output = nullptr;
    float* scratch = nullptr;
    std::int64_t pictures = 1;
  };
  /// Of the work between two meetings, what one thread does.
  struct Share {
    std::int64_t part = 0, parts = 1;
  };

  Section section(std::size_t first, std::size_t last, MapSize in) const;
  /// Room that `map` takes as what goes into that layer.
  std::int64_t floats_before(std::size_t layer, const MapSize& map) const;
  bool narrow_before(std::size_t layer) const {
    return narrow_ && layer > 0 && layer < layers_.size();
  }
  void place_values(Section& section, const std::vector<std::int64_t>& floats) const;
  MapSize after(std::size_t layer, const MapSize& in) const;
  std::size_t boundary(std::int64_t height, std::int64_t width) const;
  void compute(const Section& section, const Step& step, const Place& place, Share share) const;
  void compute_depthwise(const Step& step, const float* from, float* to, std::int64_t pictures,
                         Share share) const;
  void compute_rows(const Step& step, const Product& whole, const Place& place, Share share) const;
  void alone(const Plan& plan, const Place& place) const;
  std::vector<Section> sections_of(const Pictures& pictures, bool by_picture) const;

  // Pictures that a thread takes through the later layers together: their maps are small and their
  // weights many, so weights read once serve all of them.
  static constexpr std::int64_t kTogether = 8;

  std::vector<Packed> layers_{};
  bool mean_ = false;
  bool narrow_ = false;
};

struct Chain::Plan {
  Pictures pictures{};
  bool by_picture = false;  ///< each thread takes pictures of its own
  std::vector<Section> sections{};
  std::int64_t scratch_of_thread = 0;  ///< floats; where they share the work, of all of them
  std::int64_t between = 0;            ///< of these, for what the second section reads
  std::size_t scratch_floats = 0;      ///< of memory that run() needs for itself
};

}  // namespace harness::kernels
