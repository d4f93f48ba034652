#include <ATen/ATen.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/model/samples.hpp"
#include "workloads/retinanet/detection_evaluation.hpp"
#include "workloads/torch/preparation.hpp"

namespace harness::workloads {
namespace {

class BoxSamples : public ModelSampleSet {
 public:
  BoxSamples(const ModelTask& task, DataSource data)
      : data_(std::move(data)),
        preprocessing_(task.samples.preprocessing),
        height_(task.inputs.front().shape[1]),
        width_(task.inputs.front().shape[2]) {
    if (data_.eval.images.empty()) {
      throw Error(printable(data_.layout.root.string()), "has no evaluation images");
    }
    known_.ground_truth = coco_ground_truth(data_.eval);
    known_.classes = task.samples.classes;
    for (const ImageRecord& image : data_.eval.images) {
      known_.pictures.push_back({image.id,
                                 static_cast<double>(image.width) / static_cast<double>(width_),
                                 static_cast<double>(image.height) / static_cast<double>(height_)});
    }
  }

  std::int64_t count() const override { return std::ssize(data_.eval.images); }

  std::vector<at::Tensor> sample(std::int64_t index) const override {
    const auto at = static_cast<std::size_t>(index);
    return {prepared_for_model(load_image(data_.eval, at), preprocessing_, height_, width_,
                               data_.eval.images[at].file_name)};
  }

  at::Tensor labels() const override { return {}; }
  const KnownBoxes* boxes() const override { return &known_; }
  Artifact artifact() const override { return data_.artifact; }

 private:
  DataSource data_;
  std::string preprocessing_;
  std::int64_t height_;
  std::int64_t width_;
  KnownBoxes known_{};
};

}  // namespace

std::unique_ptr<ModelSampleSet> open_box_samples(const ModelTask& task,
                                                 const WorkloadContext& context) {
  // What opens the folder speaks of --data, which names none here.
  if (std::error_code error; !std::filesystem::is_directory(task.samples.boxes, error)) {
    throw Error(printable(task.samples.boxes.string()), "is no folder",
                "samples/boxes of the task file names it");
  }
  return std::make_unique<BoxSamples>(
      task, open_data_folder(task.samples.boxes, static_cast<int>(task.samples.classes),
                             preparation_of(context)));
}

}  // namespace harness::workloads
