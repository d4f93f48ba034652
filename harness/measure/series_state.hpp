// What `--resume` needs of a series: the file series.state in its folder, there while the series is
// not complete, and a lock that tells whether somebody works on it now.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// Whose state it is: several runs of one workload, say, or those of a suite.
struct StateForm {
  const char* file = nullptr;    ///< its name
  const char* format = nullptr;  ///< what stands in it
  const char* name = nullptr;    ///< in words
};
inline constexpr StateForm kSeriesForm = {"series.state", "harness-series/1", "series"};

/// Whether a process measures into `folder` now.
bool is_at_work(const std::filesystem::path& folder);

/// One run that trains to a target is a series too.
class SeriesState {
 public:
  /// A new series in `folder`, which is there. Throws Error when another series is unfinished in
  /// it.
  SeriesState(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
              const std::string& series_id, std::uint32_t seed, StateForm form = kSeriesForm);
  /// The unfinished series in `folder`, which has one. Throws Error when another process works on
  /// it, or when the file is damaged or of another version of the program.
  explicit SeriesState(const std::filesystem::path& folder, StateForm form = kSeriesForm);
  ~SeriesState();
  SeriesState(const SeriesState&) = delete;
  SeriesState& operator=(const SeriesState&) = delete;

  const std::vector<std::string>& arguments() const {
    return arguments_;
  }  ///< of the command, as typed
  const std::string& series_id() const { return series_id_; }
  std::uint32_t seed() const { return seed_; }  ///< of the first run
  bool resumed() const { return resumed_; }
  /// The name of the run's files of which a state was saved last; empty before the first.
  const std::string& saved_stem() const { return saved_stem_; }
  /// Goes to the folder that the series was begun in: names in its arguments may be relative to it.
  void enter_working_folder() const;

  /// All runs have their results: nothing is left to go on with.
  void complete();

 private:
  void lock();
  void read();
  void write() const;

  StateForm form_;
  std::filesystem::path folder_;
  std::vector<std::string> arguments_;
  std::string series_id_;
  std::uint32_t seed_ = 0;
  std::string working_folder_;
  std::string saved_stem_;
  bool resumed_ = false;
  int lock_ = -1;
};

bool has_unfinished_series(const std::filesystem::path& folder, StateForm form = kSeriesForm);

/// Notes in the unfinished series of `folder` that a state of the run named `stem` was saved, so
/// that the state is missed when it is gone. For the process of the run.
void note_saved_state(const std::filesystem::path& folder, const std::string& stem);
/// The run has its result, and its states are gone for good; nothing is an error.
void forget_saved_state(const std::filesystem::path& folder);

}  // namespace harness
