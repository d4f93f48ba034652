// Every step as one JSON line, written as it comes, so that kill -9 loses nothing.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "harness/base/line_file.hpp"
#include "harness/scenario/observer.hpp"

namespace harness {

/// Appends `{"event":"step",…}` lines after one `{"event":"start",…}` line. Throws Error when the
/// disk takes no more. A file without a step is removed at the end: it says nothing, and would
/// stand in the way of the next attempt.
class SamplesFile : public Observer {
 public:
  /// Creates `path`, which must not exist.
  SamplesFile(const std::filesystem::path& path, const nlohmann::json& header);
  /// Goes on in a file of the same run, behind the lines in `known`.
  SamplesFile(const std::filesystem::path& path, const WrittenLines& known);
  ~SamplesFile() override;
  SamplesFile(const SamplesFile&) = delete;
  SamplesFile& operator=(const SamplesFile&) = delete;

  void step(const StepRecord& record) override;
  void dropped(std::int64_t first, const std::string& why) override;
  void evaluated(const Quality& quality, const EvaluationPoint& at) override;
  void resumed(const Resumption& where) override;
  void finished() override;

  /// Any other line that holds something measured.
  void add(const nlohmann::json& line);

  WrittenLines written() const { return file_.written(); }

 private:
  void append(const nlohmann::json& line);

  LineFile file_;
  bool sampled_ = false;
};

}  // namespace harness
