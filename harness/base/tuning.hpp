// Which kernel computes which convolution: tables that `harness tune` writes and runs follow.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace harness {

/// One pass over one shape.
struct TuningProblem {
  std::string problem{};  ///< in benchdnn's syntax
  std::string type{};     ///< f32 | bf16
  std::string pass{};     ///< forward | backward_data | backward_weights
  int threads = 1;
  auto operator<=>(const TuningProblem&) const = default;
};

struct TuningLine {
  std::string kernel{};  ///< the one to take
  /// Of one call, the median, by kernel: what the choice was made from.
  std::map<std::string, double> seconds{};
};

struct TuningTable {
  /// Kernels and their order differ from one to another: a table is for one of them.
  std::string instruction_set{};
  std::string processor{};  ///< on which it was measured, for people
  std::map<TuningProblem, TuningLine> lines{};
  std::string sha256{};  ///< of the file; empty for one that was not read
};

/// What was measured of one problem.
struct TunedProblem {
  TuningProblem problem{};
  TuningLine line{};    ///< the kernel to take, and the times of all
  std::string usual{};  ///< what is taken without a table
};

struct TuningRecord {
  std::string instruction_set{};
  std::vector<TunedProblem> problems{};
  std::size_t planned = 0;           ///< more than `problems` where it was interrupted
  std::vector<std::string> notes{};  ///< candidates that could not run
};

}  // namespace harness
