// The samples of a task: what a model is asked, and where somebody knows it, the right answer.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/base/types.hpp"
#include "harness/workload/workload.hpp"
#include "workloads/coco_map/coco_map.hpp"
#include "workloads/data/image.hpp"

namespace harness::workloads {

/// The boxes on the pictures of a set, and what takes a model's to the same pixels.
struct KnownBoxes {
  struct Picture {
    std::int64_t id = 0;
    double across = 1;  ///< pixels of the picture for one of the model's input
    double down = 1;
  };
  std::vector<Picture> pictures{};  ///< by sample
  std::vector<CocoGroundTruth> ground_truth{};
  std::int64_t classes = 0;
};

class ModelSampleSet {
 public:
  virtual ~ModelSampleSet() = default;
  virtual std::int64_t count() const = 0;
  /// For each input a tensor, (1, shape...). Throws Error for a file that cannot be decoded.
  virtual std::vector<at::Tensor> sample(std::int64_t index) const = 0;
  /// (samples), classes from 0 (int64) or numbers (float32, float64). Undefined where nobody knows
  /// any.
  virtual at::Tensor labels() const = 0;
  /// Null where nobody knows any.
  virtual const KnownBoxes* boxes() const { return nullptr; }
  virtual Artifact artifact() const = 0;
};

/// (1, 3, height, width), contiguous, by a preprocessing's name. Throws Error, naming `name`, for a
/// picture far longer than wide.
at::Tensor prepared_for_model(const Image& image, const std::string& preprocessing,
                              std::int64_t height, std::int64_t width, const std::string& name);

/// Pictures with boxes in a folder in COCO format. Throws Error as open_data_folder() does.
std::unique_ptr<ModelSampleSet> open_box_samples(const ModelTask& task,
                                                 const WorkloadContext& context);

/// As the task has them, at least one. Throws Error, naming the file, for one that is missing,
/// damaged, or of other shapes or types than the model takes.
std::unique_ptr<ModelSampleSet> open_samples(const ModelTask& task, const WorkloadContext& context);

}  // namespace harness::workloads
