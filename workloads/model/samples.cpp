#include "workloads/model/samples.hpp"

#include <ATen/ATen.h>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "workloads/checkpoint/safetensors.hpp"
#include "workloads/data/image.hpp"
#include "workloads/data/labelled_folder.hpp"
#include "workloads/data/random.hpp"
#include "workloads/inference/photographs.hpp"
#include "workloads/model/scores.hpp"
#include "workloads/torch/preparation.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLabels = "labels";

at::ScalarType type_of(const ModelInput& input) {
  if (input.type == "int64") return at::kLong;
  return input.type == "uint8" ? at::kByte : at::kFloat;
}

std::vector<std::int64_t> with_samples(std::int64_t samples, std::vector<std::int64_t> shape) {
  shape.insert(shape.begin(), samples);
  return shape;
}

class DrawnSamples : public ModelSampleSet {
 public:
  DrawnSamples(const ModelSamples& samples, const std::vector<ModelInput>& inputs)
      : count_(samples.drawn), seed_(samples.seed), inputs_(inputs) {}

  std::int64_t count() const override { return count_; }

  /// Each value hangs on the seed, its sample, its input and its place alone.
  std::vector<at::Tensor> sample(std::int64_t index) const override {
    std::vector<at::Tensor> tensors;
    for (const ModelInput& input : inputs_) {
      CounterRandom random(stream_key(seed_, index, tensors.size()));
      at::Tensor values = at::empty(with_samples(1, input.shape), at::kDouble);
      double* const to = values.mutable_data_ptr<double>();
      const bool whole = type_of(input) != at::kFloat;
      const double width = input.high - input.low + (whole ? 1 : 0);
      for (std::int64_t i = 0; i < values.numel(); ++i) {
        // 53 bits, from 0 to below 1.
        const double share = static_cast<double>(random.next() >> 11) * 0x1p-53;
        to[i] = input.low + (whole ? std::floor(share * width) : share * width);
      }
      tensors.push_back(values.to(type_of(input)));
    }
    return tensors;
  }

  at::Tensor labels() const override { return {}; }

  // How they are drawn stands in the task, which has a hash of its own.
  Artifact artifact() const override {
    return {"drawn",
            "within the inputs' ranges, from seed " + std::to_string(seed_),
            {},
            {{"samples", std::to_string(count_)}}};
  }

 private:
  std::int64_t count_;
  std::uint32_t seed_;
  std::vector<ModelInput> inputs_;
};

class TensorSamples : public ModelSampleSet {
 public:
  TensorSamples(const fs::path& path, const std::vector<ModelInput>& inputs) : path_(path) {
    SafetensorsFile file(path);
    for (const ModelInput& input : inputs) {
      const std::size_t index = find(file, input.name);
      const SafeTensor& held = file.header().tensors[index];
      if (count_ == 0 && !held.shape.empty()) count_ = held.shape.front();
      const std::vector<std::int64_t> shape = with_samples(count_, input.shape);
      if (count_ < 1 || held.shape != shape || dtype_name(held.dtype) != input.type) {
        file.refuse("its tensor '" + input.name + "' is " + dtype_name(held.dtype) + " of " +
                    shape_text(held.shape) + ", the model takes " + input.type + " of " +
                    (count_ < 1 ? "N" : std::to_string(count_)) + "x" + shape_text(input.shape));
      }
      at::Tensor tensor = at::empty(shape, type_of(input));
      file.read(index, tensor.mutable_data_ptr());
      if (tensor.is_floating_point() && !tensor.isfinite().all().item<bool>()) {
        file.refuse("its tensor '" + input.name + "' has values that are not finite");
      }
      tensors_.push_back(tensor);
    }
    read_labels(file);
    sha256_ = sha256_of_file(path);
  }

  std::int64_t count() const override { return count_; }

  std::vector<at::Tensor> sample(std::int64_t index) const override {
    std::vector<at::Tensor> one;
    for (const at::Tensor& tensor : tensors_) one.push_back(tensor.narrow(0, index, 1).clone());
    return one;
  }

  at::Tensor labels() const override { return labels_; }

  Artifact artifact() const override {
    return {"tensors", path_.string(), sha256_, {{"samples", std::to_string(count_)}}};
  }

 private:
  static std::optional<std::size_t> place(const SafetensorsFile& file, const std::string& name) {
    const auto& tensors = file.header().tensors;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i].name == name) return i;
    }
    return std::nullopt;
  }

  static std::size_t find(const SafetensorsFile& file, const std::string& name) {
    if (const auto found = place(file, name)) return *found;
    file.refuse("has no tensor '" + name + "', which the model takes",
                "an input's name in the task is that of its tensor");
  }

  void read_labels(SafetensorsFile& file) {
    static const std::map<DType, at::ScalarType> types = {{DType::kInt64, at::kLong},
                                                          {DType::kInt32, at::kInt},
                                                          {DType::kUInt8, at::kByte},
                                                          {DType::kFloat32, at::kFloat},
                                                          {DType::kFloat64, at::kDouble}};
    const auto index = place(file, kLabels);
    if (!index) return;
    const SafeTensor& held = file.header().tensors[*index];
    const auto type = types.find(held.dtype);
    if (held.shape != std::vector<std::int64_t>{count_} || type == types.end()) {
      file.refuse(std::string("its tensor '") + kLabels + "' is " + dtype_name(held.dtype) +
                  " of " + shape_text(held.shape) + ": a number is wanted for each of " +
                  format_count(count_, "sample"));
    }
    at::Tensor labels = at::empty({count_}, type->second);
    file.read(*index, labels.mutable_data_ptr());
    if (!labels.isfinite().all().item<bool>()) file.refuse("has labels that are not finite");
    labels_ = labels.is_floating_point() ? labels : labels.to(at::kLong);
  }

  fs::path path_;
  std::int64_t count_ = 0;
  std::vector<at::Tensor> tensors_{};
  at::Tensor labels_{};
  std::string sha256_{};
};

std::int64_t classes_of(const ModelTask& task) {
  if (task.samples.classes > 0) return task.samples.classes;
  if (!task.outputs.empty()) return values_of(task.outputs.front());
  throw Error("the task's samples", "how many classes of pictures there are is not said",
              "\"classes\": N, beside \"pictures\"");
}

class PictureSamples : public ModelSampleSet {
 public:
  PictureSamples(const ModelTask& task, const Preparation& preparation)
      : folder_(read_labelled_folder(task.samples.pictures, classes_of(task), preparation)),
        preprocessing_(task.samples.preprocessing),
        height_(task.inputs.front().shape[1]),
        width_(task.inputs.front().shape[2]) {}

  std::int64_t count() const override { return std::ssize(folder_.pictures); }

  std::vector<at::Tensor> sample(std::int64_t index) const override {
    const fs::path file = folder_.root / folder_.pictures[static_cast<std::size_t>(index)].file;
    return {prepared_for_model(read_image(file), preprocessing_, height_, width_, file.string())};
  }

  at::Tensor labels() const override {
    at::Tensor labels = at::empty({count()}, at::kLong);
    auto* const to = labels.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < count(); ++i) {
      to[i] = folder_.pictures[static_cast<std::size_t>(i)].label;
    }
    return labels;
  }

  Artifact artifact() const override {
    return {
        "folder", folder_.root.string(), folder_.sha256, {{"pictures", std::to_string(count())}}};
  }

 private:
  LabelledFolder folder_;
  std::string preprocessing_;
  std::int64_t height_;
  std::int64_t width_;
};

}  // namespace

at::Tensor prepared_for_model(const Image& image, const std::string& preprocessing,
                              std::int64_t height, std::int64_t width, const std::string& name) {
  // In the usual order in memory, whatever the preprocessing: a package is compiled for one.
  if (preprocessing == "imagenet") {
    return by_imagenets_colours(middle_of_photograph(image, height, width, name).div(255))
        .contiguous();
  }
  at::Tensor scaled = scaled_photograph(image, height, width).contiguous();
  if (preprocessing == "unit") return scaled.div(255);
  if (preprocessing == "symmetric") return scaled.div(127.5).sub_(1);
  return scaled;  // raw
}

std::unique_ptr<ModelSampleSet> open_samples(const ModelTask& task,
                                             const WorkloadContext& context) {
  if (!task.samples.tensors.empty()) {
    return std::make_unique<TensorSamples>(task.samples.tensors, task.inputs);
  }
  if (!task.samples.boxes.empty()) return open_box_samples(task, context);
  if (task.samples.pictures.empty()) {
    return std::make_unique<DrawnSamples>(task.samples, task.inputs);
  }
  return std::make_unique<PictureSamples>(task, preparation_of(context));
}

}  // namespace harness::workloads
