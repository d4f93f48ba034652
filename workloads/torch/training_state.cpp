#include "workloads/torch/training_state.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <bit>
#include <cstddef>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "workloads/checkpoint/safetensors.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr const char* kFormat = "harness-training-state/2";
constexpr std::string_view kFamily = "harness-training-state/";

struct NamedTensor {
  std::string name{};
  at::Tensor tensor{};
};

/// Everything that is written, in its order.
std::vector<NamedTensor> tensors_of(const ParameterStore& parameters,
                                    const kernels::AdamState& adam) {
  std::vector<NamedTensor> tensors;
  std::vector<std::string> trained;
  for (const Parameter& parameter : parameters.all()) {
    tensors.push_back({parameter.name, parameter.tensor});
    if (!parameter.trainable) continue;
    const std::size_t place = trained.size();
    if (place >= adam.parameters.size() || !adam.parameters[place].is_same(parameter.tensor)) {
      throw std::invalid_argument("the optimiser is not that of the model's parameters");
    }
    trained.push_back(parameter.name);
  }
  const std::size_t count = trained.size();
  if (adam.parameters.size() != count || adam.first_moments.size() != count ||
      adam.second_moments.size() != count || adam.steps.size() != count) {
    throw std::invalid_argument("the optimiser is not that of the model's parameters");
  }
  for (std::size_t i = 0; i < count; ++i) {
    tensors.push_back({"first_moment " + trained[i], adam.first_moments[i]});
  }
  for (std::size_t i = 0; i < count; ++i) {
    tensors.push_back({"second_moment " + trained[i], adam.second_moments[i]});
  }
  for (const NamedTensor& entry : tensors) {
    if (entry.tensor.scalar_type() != at::kFloat) {
      throw std::invalid_argument(entry.name + " is not float32");
    }
  }
  return tensors;
}

void write_tensors(const fs::path& path, const std::map<std::string, std::string>& metadata,
                   const std::vector<NamedTensor>& tensors) {
  std::vector<SafeTensor> entries;
  for (const NamedTensor& entry : tensors) {
    entries.push_back({entry.name, DType::kFloat32, entry.tensor.sizes().vec(), 0, 0});
  }
  at::Tensor values;  // of one tensor at a time
  write_safetensors(path, metadata, entries, [&](std::size_t i) {
    values = tensors[i].tensor.detach().contiguous();
    return std::string_view(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  });
}

/// Doubles as their bits: what is compared must not hang on how a number is printed.
Json adam_settings(const kernels::AdamState& adam) {
  Json settings = Json::array();
  for (const double value : {adam.beta1, adam.beta2, adam.eps}) {
    settings.push_back(std::to_string(std::bit_cast<std::uint64_t>(value)));
  }
  return settings;
}

/// The metadata of a file of this format, each of them JSON but for the format.
class Metadata {
 public:
  explicit Metadata(const SafetensorsFile& file) : file_(file) {
    const std::string format = text("format");
    if (!format.starts_with(kFamily)) file.refuse("is not a training state");
    if (format == kFormat) return;
    file.refuse("has the format " + printable(format) + ", known is " + kFormat,
                "it was saved by another version: begin the run anew");
  }

  Json value(const char* key) const {
    JsonLimits limits;
    limits.depth = 8;
    try {
      return parse_json(text(key), "", limits);
    } catch (const Error&) {
      file_.refuse(std::string("is damaged: its ") + key + " are none");
    }
  }

 private:
  std::string text(const char* key) const {
    const auto& metadata = file_.header().metadata;
    const auto found = metadata.find(key);
    return found == metadata.end() ? "" : found->second;
  }

  const SafetensorsFile& file_;
};

/// What is saved now begins with the header's length; what was until 1 begins with its name.
SafetensorsFile open_state(const fs::path& path) {
  std::string first(kFamily.size(), '\0');
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored)) {
    std::ifstream(path, std::ios::binary).read(first.data(), std::ssize(first));
  }
  if (first == kFamily) {
    throw Error(printable(path.string()), "was saved by an earlier version of this program",
                "begin the run anew");
  }
  return SafetensorsFile(path);
}

/// Where the file has each of `tensors`; refuses the first thing in which it is not the model's.
std::vector<std::size_t> places_of(const SafetensorsFile& file,
                                   const std::vector<NamedTensor>& tensors) {
  const std::vector<SafeTensor>& found = file.header().tensors;
  std::map<std::string_view, std::size_t> known;
  for (std::size_t i = 0; i < found.size(); ++i) known.emplace(found[i].name, i);
  std::set<std::string_view> wanted;
  for (const NamedTensor& entry : tensors) wanted.insert(entry.name);
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::string& name = tensors[i].name;
    const auto place = known.find(name);
    if (i < found.size() && !wanted.contains(found[i].name)) {
      file.refuse("is of another model: it has " + printable(found[i].name) +
                  " where this one has " + name);
    }
    if (place == known.end()) file.refuse("is of another model: it has no " + name);
    const SafeTensor& tensor = found[place->second];
    if (tensor.dtype != DType::kFloat32 || tensor.shape != tensors[i].tensor.sizes().vec()) {
      file.refuse("is of another model: " + name + " has another shape");
    }
    places.push_back(place->second);
  }
  if (found.size() > tensors.size()) {
    file.refuse("is of another model: it has more tensors than this one");
  }
  return places;
}

std::vector<std::int64_t> read_steps(const SafetensorsFile& file, const Json& list,
                                     std::size_t count) {
  if (!list.is_array()) file.refuse("is damaged: its steps are none");
  std::vector<std::int64_t> steps;
  for (const Json& entry : list) {
    if (!entry.is_number_integer() || entry.get<std::int64_t>() < 0) {
      file.refuse("is damaged: a count of steps is no whole number");
    }
    steps.push_back(entry.get<std::int64_t>());
  }
  if (steps.size() != count) file.refuse("is of another model: it trains other parameters");
  return steps;
}

TrainingCounters read_counters(const SafetensorsFile& file, const Json& object) {
  if (!object.is_object()) file.refuse("is damaged: its counters are none");
  TrainingCounters counters;
  for (const auto& [key, value] : object.items()) {
    const bool fits = value.is_number_integer() &&
                      (!value.is_number_unsigned() ||
                       value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX));
    if (!fits) file.refuse("is damaged: the counter " + printable(key) + " is no whole number");
    counters[key] = value.get<std::int64_t>();
  }
  return counters;
}

}  // namespace

void save_training_state(const fs::path& path, const ParameterStore& parameters,
                         const kernels::AdamState& adam, const TrainingCounters& counters) {
  const at::NoGradGuard no_grad;
  const std::vector<NamedTensor> tensors = tensors_of(parameters, adam);
  write_tensors(path,
                {{"format", kFormat},
                 {"adam", adam_settings(adam).dump()},
                 {"steps", Json(adam.steps).dump()},
                 {"counters", Json(counters).dump()}},
                tensors);
}

void save_weights(const fs::path& path, const ParameterStore& parameters,
                  const std::map<std::string, std::string>& labels) {
  const at::NoGradGuard no_grad;
  std::vector<NamedTensor> tensors;
  for (const Parameter& parameter : parameters.all()) {
    tensors.push_back({parameter.name, parameter.tensor});
  }
  write_tensors(path, labels, tensors);
}

TrainingCounters load_training_state(const fs::path& path, ParameterStore& parameters,
                                     kernels::AdamState& adam) {
  const at::NoGradGuard no_grad;
  const std::vector<NamedTensor> tensors = tensors_of(parameters, adam);
  SafetensorsFile file = open_state(path);
  const Metadata metadata(file);
  const std::vector<std::size_t> places = places_of(file, tensors);
  if (metadata.value("adam") != adam_settings(adam)) {
    file.refuse("is of another optimizer: its betas or eps differ");
  }
  std::vector<std::int64_t> steps = read_steps(file, metadata.value("steps"), adam.steps.size());
  TrainingCounters counters = read_counters(file, metadata.value("counters"));

  std::vector<at::Tensor> values;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    values.push_back(at::empty(tensors[i].tensor.sizes(), at::kFloat));
    file.read(places[i], values.back().mutable_data_ptr());
  }
  // In place, which the tensors' version counters tell to whoever keeps prepared weights.
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].tensor.copy_(values[i]);
  adam.steps = std::move(steps);
  return counters;
}

std::int64_t counter_of(const TrainingCounters& counters, const std::string& name,
                        const std::filesystem::path& file) {
  const auto found = counters.find(name);
  if (found != counters.end() && found->second >= 0) return found->second;
  throw Error(printable(file.string()), "does not say how many steps were done");
}

}  // namespace harness::workloads
