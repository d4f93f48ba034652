// What a recording says, summed up: which operators of which modules took how long a step, and
// which primitives ran for them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/recording.hpp"
#include "harness/profile/primitive.hpp"

namespace harness {

/// Operators alike: of one name, module and shape. Numbers are means of a profiled step.
struct OperatorRow {
  std::string phase{};  ///< data, forward, loss, backward, optimizer; empty between them
  std::string
      module{};  ///< backbone.body.layer1.0.conv1; of a backward operator that of its forward one
  std::string name{};   ///< aten::convolution, conv-block.backward
  bool kernel = false;  ///< of ours
  bool backward = false;
  std::string shapes{};
  double calls = 0;
  double self_seconds = 0;       ///< without the operators it called
  double primitive_seconds = 0;  ///< part of self_seconds
  double reorder_seconds = 0;    ///< part of primitive_seconds: copies into another layout
  double bytes = 0;        ///< of inputs and outputs of the calls that called no other operator
  double flops = 0;        ///< of primitives and kernels
  double page_faults = 0;  ///< without those of the operators it called
  /// Part of self_seconds that the thread that runs the steps spent in the operating system.
  double system_seconds = 0;

  /// What no primitive took: allocation, dispatch, format, and all of what is computed without one.
  double gap_seconds() const { return self_seconds - primitive_seconds; }
};

/// Primitives alike, run for one row of operators.
struct PrimitiveRow {
  Primitive primitive{};               ///< `milliseconds` is the median
  std::string library{};               ///< "oneDNN 3.12.0"; "harness" for kernels of our own
  std::optional<std::size_t> owner{};  ///< row of operators; empty: ran outside of all
  double calls = 0;
  double seconds = 0;
  double created = 0;             ///< made anew within the step: cache misses
  std::optional<double> flops{};  ///< of one call
  std::optional<double> bytes{};  ///< of one call
};

struct MemoryPoint {
  double seconds = 0;  ///< since the step began
  double bytes = 0;    ///< in use
};

struct LargeAllocation {
  double bytes = 0;
  std::string operator_name{};
  std::string module{};
  std::string shapes{};  ///< of that operator's inputs
};

/// What the thread that runs the steps left to the operating system, in a step. Its time there is
/// time of the step.
struct SystemTime {
  double seconds = 0;
  double page_faults = 0;

  /// Of a page fault: mapping the page, clearing it, taking it back.
  double fault_seconds() const { return page_faults > 0 ? seconds / page_faults : 0; }
};

struct ProfileTables {
  std::size_t steps = 0;
  double step_seconds = 0;                 ///< mean
  double between_seconds = 0;              ///< of it, in no operator: what the workload itself does
  std::optional<SystemTime> system{};      ///< empty: not counted
  std::vector<OperatorRow> operators{};    ///< by self_seconds, the longest first
  std::vector<PrimitiveRow> primitives{};  ///< by seconds, the longest first
  /// Of the step's primitive time, that of primitives with an owner; 1 without any primitive.
  double attributed_share = 1;
  std::vector<MemoryPoint> memory{};           ///< of the first profiled step
  std::vector<LargeAllocation> allocations{};  ///< of it, the largest first, at most 20
  std::vector<std::string> libraries{};
  /// What the processor counted, of a step: cycles, instructions, cache_misses, ...
  std::map<std::string, double> counters{};
  std::string counters_reason{};  ///< why it counted nothing; empty where it did, or nobody asked
  std::vector<std::string> notes{};  ///< lines that could not be read, steps without a primitive
};

/// Of the curve of memory over time.
inline constexpr std::size_t kMostMemoryPoints = 1000;

ProfileTables tabulate(const Recording& recording);

}  // namespace harness
