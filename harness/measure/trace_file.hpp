// When each part of each step began and ended, as a trace for Perfetto and Chrome.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/line_file.hpp"
#include "harness/scenario/observer.hpp"

namespace harness {

/// STEM.trace; of a further rank STEM.rank-N.trace.
std::filesystem::path trace_path(const std::filesystem::path& folder, const std::string& stem,
                                 int rank);

/// Chrome's trace format (JSON array format, complete events, microseconds of the machine's
/// monotonic clock): a process for each rank, with a track for the step and its phases and one for
/// what goes on beside them. Whole after each step, but for the bracket at the end, which readers
/// do without.
class TraceFile : public Observer {
 public:
  /// In place of what an earlier try of the same run has left. Throws Error when the disk takes no
  /// more.
  TraceFile(const std::filesystem::path& path, int rank, int world);
  ~TraceFile() override;
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void step(const StepRecord& record) override;

 private:
  LineFile file_;
  int rank_;
};

/// The traces of these ranks, as far as they lie in `folder`, become one on one time line: that of
/// rank 0. They are of one machine, whose clock they all tell. Where it cannot be written they stay
/// as they are.
void join_traces(const std::filesystem::path& folder, const std::string& stem,
                 const std::vector<int>& ranks);

}  // namespace harness
