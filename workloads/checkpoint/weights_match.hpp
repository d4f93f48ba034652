// Which tensor of a weights file goes where in the model, and a report of what matched.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/types.hpp"
#include "workloads/checkpoint/tensor_file.hpp"

namespace harness::workloads {

/// A parameter or buffer of the model, by its name in the MLPerf reference's state dict.
struct WeightSlot {
  std::string name{};
  std::vector<std::int64_t> shape{};
};

/// What matched. Names in `loaded` and `missing` are the model's, in `unexpected` and `ignored` the
/// file's; all sorted.
struct WeightsReport {
  /// "full": the whole model, names as they are. "backbone": a classifier as torchvision saves it;
  /// its names go under `backbone.body.` and its `fc` is left out.
  std::string layout{};
  std::vector<std::string> loaded{};
  std::vector<std::string> missing{};     ///< not in the file: keep their initial values
  std::vector<std::string> unexpected{};  ///< no place in the model
  std::vector<std::string> ignored{};     ///< fc and integer tensors (num_batches_tracked)
  std::int64_t elements = 0;              ///< loaded, all tensors together
  Artifact artifact{};                    ///< the file's, with layout and the counts above

  /// One line for a person: "loaded 265 of 324 tensors (backbone), 2 ignored, ...".
  [[nodiscard]] std::string summary() const;
};

/// The plan: for each slot that gets a value, its position in `slots` and the file's tensor.
struct WeightsMatch {
  WeightsReport report{};
  std::vector<std::pair<std::size_t, const FileTensor*>> assignments{};  ///< pointers into `file`
};

/// Matches by name. Throws Error, naming the first few, when nothing matches, when shapes differ,
/// when a full file lacks any slot, or a backbone file any slot under `backbone.body.`.
WeightsMatch match_weights(const TensorFile& file, const std::vector<WeightSlot>& slots);

/// Reads an assigned tensor into `out` and throws Error when a value is not finite in float32.
void read_weight(const TensorFile& file, const std::string& name, const FileTensor& tensor,
                 std::span<float> out);

}  // namespace harness::workloads
