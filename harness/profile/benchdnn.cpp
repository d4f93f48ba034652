#include "harness/profile/benchdnn.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "harness/base/text.hpp"

namespace harness {
namespace {

const TensorLayout* find_tensor(const Primitive& primitive, std::string_view name) {
  for (const TensorLayout& tensor : primitive.tensors) {
    if (tensor.name == name && tensor.type != "undef") return &tensor;
  }
  return nullptr;
}

std::string type_of(const Primitive& primitive, std::string_view name) {
  const TensorLayout* tensor = find_tensor(primitive, name);
  return tensor == nullptr ? "f32" : tensor->type;
}

std::string tag_of(const Primitive& primitive, std::string_view name) {
  const TensorLayout* tensor = find_tensor(primitive, name);
  return tensor == nullptr || tensor->layout.empty() || tensor->chosen_by_library ? "any"
                                                                                  : tensor->layout;
}

/// benchdnn has a bias in training's direction only; the work is the same.
std::string direction_of(const Primitive& primitive) {
  const bool bias = find_tensor(primitive, "bia") != nullptr;
  if (primitive.direction == "backward_data") return "BWD_D";
  if (primitive.direction == "backward_weights") return bias ? "BWD_WB" : "BWD_W";
  if (bias) return "FWD_B";
  return primitive.direction == "forward_inference" ? "FWD_I" : "FWD_D";
}

/// "attr-scratchpad:user attr-post-ops:eltwise_relu" -> " --attr-scratchpad=user
/// --attr-post-ops=relu"
std::string attributes_of(const Primitive& primitive) {
  std::string text;
  for (const std::string& word : split(primitive.attributes, ' ')) {
    const std::size_t colon = word.find(':');
    if (colon == std::string::npos) continue;
    std::string value = word.substr(colon + 1);
    for (const std::string prefix : {"eltwise_", "binary_"}) {
      for (std::size_t at = value.find(prefix); at != std::string::npos; at = value.find(prefix)) {
        value.erase(at, prefix.size());
      }
    }
    text += fmt::format(" --{}={}", word.substr(0, colon), value);
  }
  return text;
}

std::string types_of(const Primitive& primitive) {
  return fmt::format("--dt={}:{}:{}", type_of(primitive, "src"), type_of(primitive, "wei"),
                     type_of(primitive, "dst"));
}

std::string tags_of(const Primitive& primitive) {
  return fmt::format("--stag={} --wtag={} --dtag={}", tag_of(primitive, "src"),
                     tag_of(primitive, "wei"), tag_of(primitive, "dst"));
}

bool is_word(const std::string& text) {
  return !text.starts_with("-") && std::all_of(text.begin(), text.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-:_.,+*").find(c) != std::string_view::npos;
  });
}

/// benchdnn reads its files as options, and a profile is what somebody wrote.
bool is_harmless(const Primitive& primitive) {
  const std::vector<std::string> attributes = split(primitive.attributes, ' ');
  return is_word(primitive.problem) &&
         std::all_of(primitive.tensors.begin(), primitive.tensors.end(),
                     [](const TensorLayout& tensor) {
                       return is_word(tensor.type) && is_word(tensor.layout);
                     }) &&
         std::all_of(attributes.begin(), attributes.end(), [](const std::string& one) {
           return one.empty() || (one.starts_with("attr-") && is_word(one));
         });
}

/// Driver and problem; the driver is empty where benchdnn is not told of it.
std::pair<std::string, std::string> line_of(const Primitive& primitive) {
  if (primitive.kind == "convolution") {
    return {"conv", fmt::format("--dir={} {} {}{} {}", direction_of(primitive), types_of(primitive),
                                tags_of(primitive), attributes_of(primitive), primitive.problem)};
  }
  if (primitive.kind == "matmul" && find_tensor(primitive, "bia") == nullptr) {
    return {"matmul", fmt::format("{} {}{} {}", types_of(primitive), tags_of(primitive),
                                  attributes_of(primitive), primitive.problem)};
  }
  if (primitive.kind == "reorder") {
    return {"reorder",
            fmt::format("--sdt={} --ddt={} --stag={} --dtag={}{} {}", type_of(primitive, "src"),
                        type_of(primitive, "dst"), tag_of(primitive, "src"),
                        tag_of(primitive, "dst"), attributes_of(primitive), primitive.problem)};
  }
  return {};
}

}  // namespace

std::map<std::string, std::string> benchdnn_files(const std::vector<ReplayTask>& tasks) {
  std::map<std::string, std::string> files;
  for (const ReplayTask& task : tasks) {
    if (task.library == "harness") continue;
    const auto [driver, line] = line_of(task.primitive);
    if (driver.empty() || !is_harmless(task.primitive)) continue;
    files[driver] += fmt::format("# {:.4g} a step\n--reset {}\n", task.calls, line);
  }
  return files;
}

}  // namespace harness
