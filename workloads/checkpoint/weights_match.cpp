#include "workloads/checkpoint/weights_match.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

constexpr std::string_view kBody = "backbone.body.";

Error refuse(const TensorFile& file, const std::string& why, std::string hint = {}) {
  return {"weights file " + printable(file.artifact().source), why, std::move(hint)};
}

/// "a, b, c and 12 more"
std::string first_few(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 3;
  if (names.size() <= kShown) return join(names, ", ");
  return join({names.begin(), names.begin() + kShown}, ", ") +
         fmt::format(" and {} more", names.size() - kShown);
}

bool is_ignored(const std::string& name, const FileTensor& tensor, bool backbone) {
  return !is_floating(tensor.dtype) || name.ends_with("num_batches_tracked") ||
         (backbone && name.starts_with("fc."));
}

std::string choose_layout(const TensorFile& file, const std::map<std::string, std::size_t>& slots) {
  std::vector<std::string> names;
  bool full = false;
  bool backbone = false;
  for (const auto& [name, tensor] : file.tensors()) {
    names.push_back(name);
    full = full || slots.contains(name);
    backbone = backbone || slots.contains(std::string(kBody) + name);
  }
  if (!full && !backbone) {
    throw refuse(file,
                 fmt::format("none of its {} tensors belongs to this model ({})", names.size(),
                             first_few(names)),
                 "give a resnext50_32x4d or a full RetinaNet state dict");
  }
  return full ? "full" : "backbone";
}

void add_details(WeightsReport& report) {
  auto& details = report.artifact.details;
  details["layout"] = report.layout;
  details["loaded"] = std::to_string(report.loaded.size());
  details["elements"] = std::to_string(report.elements);
  details["missing"] = std::to_string(report.missing.size());
  details["unexpected"] = std::to_string(report.unexpected.size());
  details["ignored"] = std::to_string(report.ignored.size());
}

}  // namespace

std::string WeightsReport::summary() const {
  std::string text = fmt::format("loaded {} of {} tensors ({})", loaded.size(),
                                 loaded.size() + missing.size(), layout);
  if (!missing.empty()) text += fmt::format(", {} keep their initial values", missing.size());
  if (!ignored.empty()) text += fmt::format(", {} ignored", ignored.size());
  if (!unexpected.empty()) text += ", unexpected: " + first_few(unexpected);
  return text;
}

WeightsMatch match_weights(const TensorFile& file, const std::vector<WeightSlot>& slots) {
  std::map<std::string, std::size_t> by_name;
  for (std::size_t i = 0; i < slots.size(); ++i) by_name.emplace(slots[i].name, i);
  WeightsMatch match;
  WeightsReport& report = match.report;
  report.artifact = file.artifact();
  report.layout = choose_layout(file, by_name);
  const bool backbone = report.layout == "backbone";

  std::vector<std::string> mismatches;
  std::set<std::string> in_file;
  for (const auto& [name, tensor] : file.tensors()) {
    if (is_ignored(name, tensor, backbone)) {
      report.ignored.push_back(name);
      continue;
    }
    const std::string target = backbone ? std::string(kBody) + name : name;
    const auto slot = by_name.find(target);
    if (slot == by_name.end()) {
      report.unexpected.push_back(name);
      continue;
    }
    in_file.insert(target);
    if (tensor.shape != slots[slot->second].shape) {
      mismatches.push_back(fmt::format("{} is {} where the model has {}", name,
                                       shape_text(tensor.shape),
                                       shape_text(slots[slot->second].shape)));
      continue;
    }
    report.loaded.push_back(target);
    report.elements += tensor.numel();
    match.assignments.emplace_back(slot->second, &tensor);
  }

  std::vector<std::string> needed;
  for (const auto& [name, index] : by_name) {
    if (in_file.contains(name)) continue;
    report.missing.push_back(name);
    if (!backbone || name.starts_with(kBody)) needed.push_back(name);
  }
  if (!mismatches.empty()) throw refuse(file, "shapes differ: " + first_few(mismatches));
  if (!needed.empty()) {
    throw refuse(file, fmt::format("{} of the model's {} tensors are missing: {}", needed.size(),
                                   by_name.size(), first_few(needed)));
  }
  add_details(report);
  return match;
}

void read_weight(const TensorFile& file, const std::string& name, const FileTensor& tensor,
                 std::span<float> out) {
  file.read(tensor, out);
  const auto bad = std::count_if(out.begin(), out.end(), [](float v) { return !std::isfinite(v); });
  if (bad != 0) {
    throw refuse(file, fmt::format("{} holds {} values that are not finite in float32", name, bad));
  }
}

}  // namespace harness::workloads
