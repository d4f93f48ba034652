// Whether the results at hand are whole series, or somebody's choice from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "harness/result/result_common.hpp"

namespace harness {

/// Collects runs by their series. Results of which nobody says that they are one run of several are
/// series of one.
class SeriesBook {
 public:
  /// `name` is the run in messages: its file, say.
  void add(const std::string& name, const ResultCommon& run);

  /// What cannot be in an honest series, a line for each: a place in it that two runs have which
  /// both came to their end, or numbers of runs that differ. A run that was stopped may have been
  /// measured again.
  std::vector<std::string> contradictions() const;
  /// The series of which runs are missing, a line for each; those that break off with a run that
  /// was stopped are not among them, for the later ones were never measured.
  std::vector<std::string> gaps() const;

 private:
  struct Run {
    std::string name{};
    std::string uuid{};
    std::int64_t index = 1;
    std::int64_t count = 1;
    bool stopped = false;
  };
  std::map<std::string, std::vector<Run>> runs_{};  ///< by series_id
};

}  // namespace harness
