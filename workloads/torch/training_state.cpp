#include "workloads/torch/training_state.hpp"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <bit>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

static_assert(std::endian::native == std::endian::little, "the file's numbers are little-endian");

constexpr std::string_view kFormat = "harness-training-state/1";
constexpr std::string_view kFamily = "harness-training-state/";
constexpr std::size_t kMaxHeader = std::size_t{16} << 20;

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

/// Doubles as their bits: what is compared must not hang on how a number is printed.
Json adam_settings(const kernels::AdamState& adam) {
  Json settings = Json::array();
  for (const double value : {adam.beta1, adam.beta2, adam.eps}) {
    settings.push_back(std::to_string(std::bit_cast<std::uint64_t>(value)));
  }
  return settings;
}

Json shapes(const std::vector<NamedTensor>& tensors) {
  Json list = Json::array();
  for (const NamedTensor& entry : tensors) {
    list.push_back({{"name", entry.name}, {"shape", entry.tensor.sizes().vec()}});
  }
  return list;
}

class StateFile {
 public:
  explicit StateFile(const fs::path& path)
      : name_(printable(path.string())), file_(path, std::ios::binary) {
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
      throw Error(name_, fs::exists(path, error) ? "is not a regular file" : "does not exist");
    }
    if (!file_) throw Error(name_, std::strerror(errno));
    left_ = fs::file_size(path, error);
    if (error) throw Error(name_, error.message());
  }

  const std::string& name() const { return name_; }
  std::uintmax_t left() const { return left_; }

  [[noreturn]] void refuse(const std::string& why, const std::string& hint = {}) const {
    throw Error(name_, why, hint);
  }

  void read(void* data, std::size_t size) {
    if (size > left_ || !file_.read(static_cast<char*>(data), static_cast<std::streamsize>(size))) {
      refuse("is truncated");
    }
    left_ -= size;
  }

  /// Up to a newline within the next 64 bytes; empty where there is none.
  std::string line() {
    std::string text;
    for (char c = 0; text.size() < 64 && left_ > 0; text.push_back(c)) {
      read(&c, 1);
      if (c == '\n') return text;
    }
    return {};
  }

 private:
  std::string name_;
  std::ifstream file_;
  std::uintmax_t left_ = 0;
};

Json read_header(StateFile& file) {
  const std::string format = file.line();
  if (!format.starts_with(kFamily)) file.refuse("is not a training state");
  if (format != kFormat) {
    file.refuse("has the format " + printable(format) + ", known is " + std::string(kFormat),
                "it was saved by another version");
  }
  const std::string length = file.line();
  std::size_t bytes = 0;
  const char* const end = length.data() + length.size();
  const auto [stop, error] = std::from_chars(length.data(), end, bytes);
  if (length.empty() || error != std::errc() || stop != end || bytes > kMaxHeader) {
    file.refuse("is damaged: its header has no length");
  }
  if (bytes > file.left()) file.refuse("is truncated");
  std::string text(bytes, '\0');
  file.read(text.data(), bytes);
  JsonLimits limits;
  limits.depth = 8;
  Json header = parse_json(text, file.name(), limits);
  const auto list = [&](const char* key) { return header.contains(key) && header[key].is_array(); };
  if (!header.is_object() || !list("tensors") || !list("adam") || !list("steps") ||
      !header.contains("counters") || !header["counters"].is_object()) {
    file.refuse("is damaged: its header is incomplete");
  }
  return header;
}

/// The first thing in which the file's tensors are not the model's.
void check_tensors(const StateFile& file, const Json& found,
                   const std::vector<NamedTensor>& tensors) {
  const Json expected = shapes(tensors);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const std::string& name = tensors[i].name;
    const auto name_of = [](const Json& entry) {
      const bool text = entry.is_object() && entry.contains("name") && entry["name"].is_string();
      return text ? entry["name"].get<std::string>() : std::string("something unnamed");
    };
    if (i >= found.size()) file.refuse("is of another model: it has no " + name);
    if (name_of(found[i]) != name) {
      file.refuse("is of another model: it has " + printable(name_of(found[i])) +
                  " where this one has " + name);
    }
    if (found[i] != expected[i]) file.refuse("is of another model: " + name + " has another shape");
  }
  if (found.size() > expected.size()) {
    file.refuse("is of another model: it has more tensors than this one");
  }
}

std::vector<std::int64_t> read_steps(const StateFile& file, const Json& list, std::size_t count) {
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

TrainingCounters read_counters(const StateFile& file, const Json& object) {
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
  const std::string header = Json{
      {"adam", adam_settings(adam)},
      {"steps", adam.steps},
      {"counters", counters},
      {"tensors",
       shapes(tensors)}}.dump();
  errno = 0;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << kFormat << '\n' << header.size() << '\n' << header;
  for (const NamedTensor& entry : tensors) {
    const at::Tensor values = entry.tensor.detach().contiguous();
    file.write(static_cast<const char*>(values.const_data_ptr()),
               static_cast<std::streamsize>(values.nbytes()));
  }
  file.close();
  if (!file) {
    throw Error(printable(path.string()),
                errno != 0 ? std::strerror(errno) : "the training state could not be written");
  }
}

TrainingCounters load_training_state(const fs::path& path, ParameterStore& parameters,
                                     kernels::AdamState& adam) {
  const at::NoGradGuard no_grad;
  const std::vector<NamedTensor> tensors = tensors_of(parameters, adam);
  StateFile file(path);
  const Json header = read_header(file);
  check_tensors(file, header["tensors"], tensors);
  if (header["adam"] != adam_settings(adam)) {
    file.refuse("is of another optimizer: its betas or eps differ");
  }
  std::vector<std::int64_t> steps = read_steps(file, header["steps"], adam.steps.size());
  TrainingCounters counters = read_counters(file, header["counters"]);
  std::uintmax_t bytes = 0;
  for (const NamedTensor& entry : tensors) bytes += entry.tensor.nbytes();
  if (file.left() < bytes) file.refuse("is truncated");
  if (file.left() > bytes) file.refuse("is damaged: it goes on behind the last tensor");

  std::vector<at::Tensor> values;
  for (const NamedTensor& entry : tensors) {
    values.push_back(at::empty(entry.tensor.sizes(), at::kFloat));
    file.read(values.back().mutable_data_ptr(), values.back().nbytes());
  }
  // In place, which the tensors' version counters tell to whoever keeps prepared weights.
  for (std::size_t i = 0; i < tensors.size(); ++i) tensors[i].tensor.copy_(values[i]);
  adam.steps = std::move(steps);
  return counters;
}

}  // namespace harness::workloads
