// Every step as one JSON line, written as it comes, so that kill -9 loses nothing.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/run/observer.hpp"

namespace harness {

/// Appends `{"event":"step",…}` lines after one `{"event":"start",…}` line. Each line is a single
/// write(2): what a killed process had measured is readable up to the last whole line. Throws Error
/// when the disk takes no more. A file without a step is removed at the end: it says nothing, and
/// would stand in the way of the next attempt.
class SamplesFile : public Observer {
 public:
  /// Creates `path`, which must not exist: files of two runs are never mixed.
  SamplesFile(const std::filesystem::path& path, const nlohmann::json& header);
  ~SamplesFile() override;
  SamplesFile(const SamplesFile&) = delete;
  SamplesFile& operator=(const SamplesFile&) = delete;

  void step(const StepRecord& record) override;
  void evaluated(const Quality& quality, const std::string& variant) override;
  void finished() override;

 private:
  void append(const nlohmann::json& line);
  void discard();

  std::filesystem::path path_;
  int fd_ = -1;
  bool sampled_ = false;
  off_t size_ = 0;  ///< up to the end of the last whole line
};

}  // namespace harness
