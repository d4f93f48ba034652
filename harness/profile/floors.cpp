#include "harness/profile/floors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/problem.hpp"
#include "harness/base/text.hpp"
#include "harness/profile/primitive.hpp"

namespace harness {
namespace {

// Multiplications of direct convolution over those of a tile of m x m outputs: 9 m^2 / (m + 2)^2.
constexpr double kTiles2x2 = 36.0 / 16;
constexpr double kTiles6x6 = 324.0 / 64;

/// The best burst, also where they were too unsteady for a value.
std::optional<double> best_of(const std::vector<Peak>& peaks, std::string_view tag) {
  if (const std::optional<double> bound = peak_of(peaks, tag)) return bound;
  double best = 0;
  for (const Peak& peak : peaks) {
    if (peak.tag != tag || peak.samples.empty()) continue;
    best = std::max(best, *std::max_element(peak.samples.begin(), peak.samples.end()));
  }
  return best > 0 ? std::optional(best) : std::nullopt;
}

bool is_of_type(const Primitive& primitive, std::string_view type) {
  return std::any_of(primitive.tensors.begin(), primitive.tensors.end(),
                     [type](const TensorLayout& tensor) { return tensor.type == type; });
}

/// How many times fewer multiplications minimal filtering needs, with the largest tiles that
/// kernels/README.md leaves a pass; 1 where it does not apply.
double saved_by_tiles(const Primitive& primitive, bool bf16) {
  if (primitive.kind != "convolution") return 1;
  const auto extents = ConvolutionExtents::parse(primitive.problem);
  if (!extents || !extents->allows_minimal_filtering()) return 1;
  const bool forward = primitive.direction.starts_with("forward");
  return forward && !bf16 ? kTiles2x2 : kTiles6x6;
}

}  // namespace

std::optional<Floors> floors_of(const std::vector<ReplayTask>& tasks,
                                const std::vector<Peak>& peaks) {
  const std::optional<double> fp32 = best_of(peaks, "fma.fp32");
  if (!fp32) return std::nullopt;
  // What a machine multiplies faster as fp32 it may widen first.
  const double bf16 = std::max(best_of(peaks, "fma.bf16").value_or(0), *fp32);
  const double int8 = std::max(best_of(peaks, "fma.int8").value_or(0), *fp32);
  Floors floors{.rate = *fp32};
  for (const ReplayTask& task : tasks) {
    const double work = flops(task.primitive).value_or(0) * task.calls;
    if (work <= 0) continue;
    const bool narrow = is_of_type(task.primitive, "bf16");
    if (is_of_type(task.primitive, "u8")) {  // no kernel filters minimally in eight bits
      floors.direct += work / int8;
      floors.minimal += work / int8;
      continue;
    }
    const double direct = work / (narrow ? bf16 : *fp32);
    floors.direct += direct;
    // Transformed operands are float32 in either precision.
    floors.minimal += std::min(direct, work / saved_by_tiles(task.primitive, narrow) / *fp32);
  }
  return floors.direct > 0 ? std::optional(floors) : std::nullopt;
}

std::string floors_text(const Floors& floors) {
  std::string text = fmt::format(
      "convolutions and products multiply for {} a step at least, at {} in fp32, the best seen "
      "here",
      format_quantity(floors.direct, "s"), format_quantity(floors.rate, "FLOP/s"));
  if (floors.minimal < 0.995 * floors.direct) {
    text += fmt::format("; with minimal filtering (Winograd) for {}",
                        format_quantity(floors.minimal, "s"));
  }
  return text;
}

nlohmann::json floors_json(const std::optional<Floors>& floors) {
  if (!floors) return {};
  return {{"direct_seconds", floors->direct},
          {"minimal_filtering_seconds", floors->minimal},
          {"fp32_flops_per_second", floors->rate}};
}

}  // namespace harness
