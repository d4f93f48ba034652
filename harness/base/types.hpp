// Plain values that workloads produce, rules judge and result files hold.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/metric.hpp"

namespace harness {

/// For each operator the implementation that is chosen, by its name: "reference", "custom", ....
using KernelSet = std::map<std::string, std::string>;

/// Separate seeds per use, so that changing one leaves the others' draws alone. All derive from the
/// run's seed (0 .. 2^32-1) unless given in a result that is being repeated.
struct Seeds {
  std::uint32_t run = 0;
  std::uint32_t weights = 0;
  std::uint32_t data_order = 0;
  std::uint32_t augmentation = 0;
  std::map<std::string, std::uint32_t> more{};  ///< kinds that a scenario draws from, by name
};

/// One checked quantity: passes when error <= tolerance (both in the same, stated measure).
struct Check {
  std::string name{};
  std::string expected{};
  std::string actual{};
  std::optional<double> error{};  ///< empty when not finite
  double tolerance = 0;
  bool passed = false;
};

/// The quality a workload reached, judged by the rules against a target.
struct Quality {
  std::string metric{};
  Direction direction = Direction::kHigher;
  std::optional<double> value{};
  std::string reason{};  ///< why `value` is missing
  std::vector<Check> checks{};
  std::map<std::string, double> details{};  ///< other numbers of the same evaluation, by name
};

/// Where a file's content came from and what it hashes to.
struct Artifact {
  std::string name{};
  std::string source{};                 ///< path as given, or a description
  std::optional<std::string> sha256{};  ///< hex; empty for generated content
  std::map<std::string, std::string> details{};
};

/// What an operator took for one pass over one shape, where it chooses among kernels.
struct KernelChoice {
  std::string operation{};       ///< "conv-block"
  std::string problem{};         ///< in benchdnn's syntax
  std::string type{};            ///< f32 | bf16
  std::string pass{};            ///< forward | backward_data | backward_weights
  std::string kernel{};          ///< by its name: "onednn", "winograd-4x4"
  std::string implementation{};  ///< what that is on this machine: "brgconv:avx512_core"
  std::int64_t calls = 0;        ///< since the program began
  double work = 1;               ///< of the multiplications that a direct one needs, those done
};

/// Gradients that are summed over ranks together, where there are several.
struct GradientBucket {
  double bytes = 0;
  double ready = 0;  ///< after which part of the backward pass all of them are there, 0 to 1
};

/// Cost of one step, computed from shapes.
struct Cost {
  double forward_flops = 0;  ///< a multiply-add counts two, a convolution what a direct one takes
  double step_flops = 0;     ///< forward, backward by data, backward by weights
  double step_bytes = 0;  ///< compulsory traffic: each operand read once, each result written once
  /// How often a forward pass runs what is worth counting, by its name in the plural.
  std::map<std::string, std::int64_t> calls{};
  std::string precision{};  ///< the data type the FLOPs run in, to pick the peak to compare with
  /// Of phases that are of interest one by one; their time is the metric time.phase.NAME. Bytes are
  /// for those that move data more than they compute.
  std::map<std::string, double> phase_flops{};
  std::map<std::string, double> phase_bytes{};

  /// False for workloads that give none.
  bool known() const { return step_flops > 0 || step_bytes > 0; }
};

/// A peak of this machine, sampled in bursts between the timed steps.
struct Peak {
  std::string tag{};     ///< fma.fp32, fma.int8, copy.bandwidth
  std::string unit{};    ///< FLOP/s, B/s
  std::string method{};  ///< instruction set used, "AVX-512 vdpbf16ps"
  int threads = 1;
  std::vector<double> samples{};
  /// The median of the bursts: the usual state of the machine. Empty when their spread is over 10 %
  /// or nothing was sampled.
  std::optional<Interval> value{};
  std::string reason{};  ///< why `value` is missing
  /// The best burst: as fast as this machine was seen to be, so what is done is held against it.
  /// There with `value`; empty in files before 1.6.0.
  std::optional<double> bound{};
};

/// The fastest that the peak of that tag was seen, also in files that do not say so; empty where it
/// has no value.
inline std::optional<double> peak_of(const std::vector<Peak>& peaks, std::string_view tag) {
  for (const Peak& peak : peaks) {
    if (peak.tag != tag || !peak.value) continue;
    if (peak.bound) return peak.bound;
    const auto best = std::max_element(peak.samples.begin(), peak.samples.end());
    return best == peak.samples.end() ? peak.value->center : *best;
  }
  return std::nullopt;
}

}  // namespace harness
