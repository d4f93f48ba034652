#include "harness/workload/model_task.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

namespace fs = std::filesystem;

constexpr double kMostValues = 2147483648.0;  // of a sample

/// What is said of the section, and where in it.
class Section {
 public:
  Section(const fs::path& folder, std::string file) : folder_(folder), file_(std::move(file)) {}

  [[noreturn]] void refuse(const std::string& where, const std::string& why) const {
    throw Error(printable(file_), "/model" + (where.empty() ? "" : "/" + where) + ": " + why,
                "mend the file; docs/tasks.md describes each field");
  }

  fs::path path(const json& name) const { return folder_ / name.get<std::string>(); }

  ProgramFile program(const json& object) const {
    return {path(object.at("file")), object.at("sha256")};
  }

  /// Those of all inputs, or outputs, count together.
  std::vector<std::int64_t> shape(const json& list, const std::string& where,
                                  double& values) const {
    auto shape = list.get<std::vector<std::int64_t>>();
    double here = 1;
    for (const std::int64_t side : shape) here *= static_cast<double>(side);
    values += here;
    if (values > kMostValues) {
      refuse(where, fmt::format("more than {} values for one sample", kMostValues));
    }
    return shape;
  }

  ModelInput input(const json& object, std::size_t index, double& values) const {
    const std::string where = fmt::format("inputs/{}", index);
    ModelInput input;
    input.name = object.value("name", index == 0 ? "input" : fmt::format("input{}", index));
    input.shape = shape(object.at("shape"), where + "/shape", values);
    input.type = object.value("type", input.type);
    if (input.type == "uint8") input.high = 255;
    if (!object.contains("range")) return input;
    input.low = object.at("range").at(0);
    input.high = object.at("range").at(1);
    const bool whole = input.type != "float32";
    if (!(input.low < input.high)) refuse(where + "/range", "its end is not above its beginning");
    if (whole && (input.low != std::floor(input.low) || input.high != std::floor(input.high))) {
      refuse(where + "/range", input.type + " has whole numbers");
    }
    if (input.type == "uint8" && (input.low < 0 || input.high > 255)) {
      refuse(where + "/range", "uint8 has 0 to 255");
    }
    return input;
  }

  std::vector<ModelInput> inputs(const json& list) const {
    std::vector<ModelInput> inputs;
    std::set<std::string> names = {"labels"};
    double values = 0;
    for (const json& object : list) {
      inputs.push_back(input(object, inputs.size(), values));
      if (names.insert(inputs.back().name).second) continue;
      refuse(fmt::format("inputs/{}/name", inputs.size() - 1),
             "'" + printable(inputs.back().name) + "' has another meaning already");
    }
    return inputs;
  }

  /// Of token ids from 0 to 1 nobody learns anything.
  void require_ranges(const json& list) const {
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].value("type", "") != "int64" || list[i].contains("range")) continue;
      refuse(fmt::format("inputs/{}/range", i), "is missing: drawn int64 needs one");
    }
  }

  ModelSamples samples(const json& object, const std::vector<ModelInput>& inputs) const {
    ModelSamples samples;
    samples.drawn = object.value("drawn", samples.drawn);
    samples.seed = object.value("seed", samples.seed);
    if (object.contains("tensors")) samples.tensors = path(object.at("tensors"));
    for (const auto& [key, folder] :
         {std::pair{"pictures", &samples.pictures}, std::pair{"boxes", &samples.boxes}}) {
      if (!object.contains(key)) continue;
      *folder = path(object.at(key));
      samples.preprocessing = object.at("preprocessing");
      samples.classes = object.value("classes", samples.classes);
      const bool fits = inputs.size() == 1 && inputs.front().shape.size() == 3 &&
                        inputs.front().shape[0] == 3 && inputs.front().type == "float32";
      if (fits) continue;
      refuse(std::string("samples/") + key, "is for a single input of float32 and shape [3, H, W]");
    }
    return samples;
  }

  ModelTraining training(const json& object) const {
    ModelTraining training;
    training.optimizer = object.value("optimizer", training.optimizer);
    training.learning_rate = object.value("learning_rate", training.learning_rate);
    training.momentum = object.value("momentum", training.momentum);
    training.weight_decay = object.value("weight_decay", training.weight_decay);
    if (training.momentum > 0 && training.optimizer != "sgd") {
      refuse("training/momentum", "is for sgd");
    }
    return training;
  }

 private:
  const fs::path& folder_;
  std::string file_;
};

}  // namespace

const std::map<std::string, Direction>& model_metrics(bool trains) {
  static const std::map<std::string, Direction> of_answers = {{"agreement", Direction::kHigher},
                                                              {"correlation", Direction::kHigher},
                                                              {"mAP", Direction::kHigher},
                                                              {"relative-error", Direction::kLower},
                                                              {"top-1", Direction::kHigher}};
  static const std::map<std::string, Direction> of_training = {{"loss", Direction::kLower}};
  return trains ? of_training : of_answers;
}

std::string precision_misfit(const ModelTask& task, const std::string& precision) {
  if (task.format != "aotinductor" || precision == "fp32") return {};
  return "a package of AOTInductor computes as it was compiled";
}

ModelTask model_task_from_json(const json& section, const fs::path& folder,
                               const std::string& file) {
  const Section read(folder, file);
  ModelTask task;
  task.program = read.program(section);
  const bool package = task.program.file.extension() == ".pt2";
  task.format = section.value("format", package ? "aotinductor" : "torchscript");
  if (section.contains("reference")) task.reference = read.program(section.at("reference"));
  task.inputs = read.inputs(section.at("inputs"));
  double values = 0;
  for (const json& shape : section.value("outputs", json::array())) {
    const std::string where = fmt::format("outputs/{}", task.outputs.size());
    task.outputs.push_back(read.shape(shape, where, values));
  }
  task.batch = section.value("batch", task.batch);
  task.query_seconds = section.value("query_seconds", task.query_seconds);
  task.samples = read.samples(section.at("samples"), task.inputs);
  if (task.samples.drawn > 0) read.require_ranges(section.at("inputs"));
  if (section.contains("training")) task.training = read.training(section.at("training"));
  if (task.training && task.format != "torchscript") {
    read.refuse("training", "a package of AOTInductor cannot be trained");
  }
  if (task.training && task.reference) {
    read.refuse("reference", "is for a model that answers: one that trains is held to its loss");
  }
  if (task.training && !task.samples.boxes.empty()) {
    read.refuse("samples/boxes", "are for a model that answers: one that trains is given no boxes");
  }
  if (task.training && task.batch > 0) {
    read.refuse("batch", "is of a model that answers; batch_size of a tier is that of a step");
  }
  if (task.training.has_value() == task.outputs.empty()) return task;
  read.refuse("", task.training ? "a model that trains gives losses: outputs are not described"
                                : "outputs are missing");
}

}  // namespace harness
