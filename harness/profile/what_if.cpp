#include "harness/profile/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"

namespace harness {
namespace {

bool is_activation_phase(const std::string& phase) {
  return phase == "forward" || phase == "backward";
}

bool is_convolution(const Primitive& primitive) { return primitive.kind == "convolution"; }

/// LibTorch's own convolution, not one that a kernel of ours calls.
bool is_of_libtorch(const ProfileTables& tables, const PrimitiveRow& row) {
  return row.owner && tables.operators[*row.owner].name.starts_with("aten::");
}

/// Part of the time in convolutions that LibTorch's own operators called.
double share_of_libtorch(const ProfileTables& tables) {
  double all = 0, libtorch = 0;
  for (const PrimitiveRow& row : tables.primitives) {
    if (!is_convolution(row.primitive)) continue;
    all += row.seconds;
    if (is_of_libtorch(tables, row)) libtorch += row.seconds;
  }
  return all > 0 ? libtorch / all : 1;
}

/// Bytes of the copies from float32 into bfloat16 and back around the convolutions of LibTorch, by
/// phase: forward reads activation and weights, backward gives a gradient for each and takes one.
std::map<std::string, double> bytes_of_casts(const ProfileTables& tables) {
  constexpr double kBothTypes = 4 + 2;
  std::map<std::string, double> bytes;
  for (const PrimitiveRow& row : tables.primitives) {
    if (!is_convolution(row.primitive) || !is_of_libtorch(tables, row)) continue;
    const auto moved = [&](const char* name) {
      return elements(row.primitive, {name, "f32", "", false}).value_or(0) * row.calls * kBothTypes;
    };
    if (row.primitive.direction == "backward_data") {
      bytes["backward"] += moved("src") + moved("dst");
    } else if (row.primitive.direction == "backward_weights") {
      bytes["backward"] += moved("wei");
    } else {
      bytes["forward"] += moved("src") + moved("wei");
    }
  }
  return bytes;
}

/// A kernel of ours makes bfloat16 of the weights when it packs them, and a gradient in float32.
bool stays_wide(const Primitive& primitive, const TensorLayout& tensor, bool of_libtorch) {
  // A bias is too small to matter.
  if (tensor.type != "f32" || tensor.name == "bia") return true;
  if (of_libtorch) return false;
  if (primitive.kind == "reorder") {
    return tensor.name == "src" || is_blocked(primitive.tensors.front());
  }
  if (primitive.kind == "matmul") return tensor.name == "dst";
  return primitive.direction == "backward_weights" && tensor.name == "wei";
}

void narrow(Primitive& primitive, bool of_libtorch) {
  std::vector<TensorLayout> tensors = primitive.tensors;
  for (TensorLayout& tensor : tensors) {
    if (!stays_wide(primitive, tensor, of_libtorch)) tensor.type = "bf16";
  }
  primitive.tensors = std::move(tensors);
  const std::string type = ":f32:";
  for (std::size_t at = primitive.attributes.find(type); at != std::string::npos;
       at = primitive.attributes.find(type)) {
    primitive.attributes.replace(at, type.size(), ":bf16:");
  }
}

void narrow_others(const ProfileTables& tables, std::vector<OtherTime>& others) {
  const double kept_wide = share_of_libtorch(tables);
  for (OtherTime& other : others) {
    if (is_activation_phase(other.phase)) other.seconds *= kept_wide + (1 - kept_wide) / 2;
  }
  const double bandwidth = operator_bandwidth(tables);
  if (bandwidth <= 0) return;
  for (const auto& [phase, bytes] : bytes_of_casts(tables)) {
    others.push_back({phase, bytes / bandwidth});
  }
}

// "f32[8,256,100,100] f32[256]" -> "8x256x100x100"
std::string first_extents(const std::string& shapes) {
  const std::size_t begin = shapes.find('[');
  const std::size_t end = shapes.find(']');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  std::string extents = shapes.substr(begin + 1, end - begin - 1);
  std::replace(extents.begin(), extents.end(), ',', 'x');
  return extents;
}

/// As it was where no number holds it: no replay takes such a tensor.
std::string scaled(std::int64_t extent, const WhatIf& what_if) {
  std::int64_t made = 0;
  if (__builtin_mul_overflow(extent / what_if.from_batch, what_if.to_batch, &made)) made = extent;
  return std::to_string(made);
}

/// Its first extent, that of the batch, is multiplied.
std::string with_batch(const std::string& extents, const WhatIf& what_if) {
  const std::size_t end = extents.find('x');
  const auto first = parse_integer(extents.substr(0, end));
  if (!first || end == std::string::npos) return extents;
  return scaled(*first, what_if) + extents.substr(end);
}

std::string convolution_with_batch(const std::string& problem, const WhatIf& what_if) {
  const std::size_t at = problem.find("mb");
  if (at == std::string::npos) return problem;
  const std::size_t end = problem.find_first_not_of("0123456789", at + 2);
  const auto batch = parse_integer(problem.substr(at + 2, end - at - 2));
  return batch ? problem.substr(0, at + 2) + scaled(*batch, what_if) + problem.substr(end)
               : problem;
}

/// Pixels of all samples are the rows of the left side, or, in a gradient by weights, what is
/// summed over: its columns, and the rows of the right side.
std::string product_with_batch(const std::string& problem, bool backward, const WhatIf& what_if) {
  std::vector<std::string> sides = split(problem, ':');
  std::vector<std::string> left = split(sides.front(), 'x');
  if (sides.size() < 2 || left.size() != 2) return problem;
  std::string& pixels = backward ? left[1] : left[0];
  const auto number = parse_integer(pixels);
  if (!number) return problem;
  pixels = scaled(*number, what_if);
  return join(left, "x") + ":" + (backward ? with_batch(sides[1], what_if) : sides[1]);
}

void enlarge(Primitive& primitive, const OperatorRow* owner, const WhatIf& what_if) {
  if (is_convolution(primitive)) {
    primitive.problem = convolution_with_batch(primitive.problem, what_if);
    // The second operand of an addition is as large as what it is added to.
    const std::size_t mask = primitive.attributes.find(":14:");
    if (mask != std::string::npos) primitive.attributes.replace(mask, 4, ":15:");
  } else if (primitive.kind == "matmul") {
    const bool backward = owner != nullptr && owner->backward;
    primitive.problem = product_with_batch(primitive.problem, backward, what_if);
  } else if (owner != nullptr && first_extents(owner->shapes) == primitive.problem) {
    primitive.problem = with_batch(primitive.problem, what_if);
  }
}

double ratio_of(const WhatIf& what_if) {
  return static_cast<double>(what_if.to_batch) / static_cast<double>(what_if.from_batch);
}

ProfileTables with_batch(ProfileTables tables, const WhatIf& what_if) {
  for (PrimitiveRow& row : tables.primitives) {
    const std::string before = row.primitive.problem;
    enlarge(row.primitive, row.owner ? &tables.operators[*row.owner] : nullptr, what_if);
    // What is not replayed is scaled by its recorded time.
    if (row.primitive.problem != before || row.library == "harness") {
      row.seconds *= ratio_of(what_if);
    }
  }
  return tables;
}

/// The longest, half of the time together: enough to tell how fast this machine is.
std::vector<ReplayTask> yardsticks(const std::vector<ReplayTask>& tasks) {
  double all = 0, taken = 0;
  for (const ReplayTask& task : tasks) all += task.recorded_seconds;
  std::vector<ReplayTask> chosen;
  for (const ReplayTask& task : tasks) {
    if (taken >= all / 2) break;
    chosen.push_back(task);
    taken += task.recorded_seconds;
  }
  return chosen;
}

}  // namespace

StepModel imagine(const ProfileTables& tables, double overhead, const WhatIf& what_if) {
  const bool narrower = what_if.from_precision != what_if.to_precision;
  if (narrower && (what_if.from_precision != "fp32" || what_if.to_precision != "bf16")) {
    throw std::invalid_argument(fmt::format("a profile in {} says nothing about {}",
                                            what_if.from_precision, what_if.to_precision));
  }
  StepModel model = model_step(tables, overhead);
  ProfileTables changed = tables;
  if (what_if.from_batch != what_if.to_batch) {
    changed = with_batch(std::move(changed), what_if);
    for (OtherTime& other : model.others) {
      if (other.phase != "optimizer") other.seconds *= ratio_of(what_if);
    }
  }
  if (narrower) {
    narrow_others(changed, model.others);
    for (PrimitiveRow& row : changed.primitives) {
      narrow(row.primitive, is_of_libtorch(tables, row));
    }
  }
  if (what_if.from_batch != what_if.to_batch || narrower) {
    model.yardsticks = yardsticks(model.tasks);
    model.tasks = model_step(changed, overhead).tasks;
  }
  return model;
}

}  // namespace harness
