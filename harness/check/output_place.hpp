// Where a command may write: never over what was measured, nor over what it reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace harness {

/// Throws Error for a `file` that must not be replaced, by whatever link it is reached: one of
/// `inputs` (files, and the result files below folders), the samples, log or trace beside one of
/// them or beside any result, and whatever holds a result, samples, a log, the times of a campaign
/// or the state of an unfinished run. Another file, say an older report, may be replaced; so may
/// what is no file.
void refuse_to_replace(const std::filesystem::path& file,
                       const std::vector<std::string>& inputs = {});

/// Whether nothing lies at `path`, not even a link to nowhere.
bool is_vacant(const std::filesystem::path& path);
/// Throws Error where something lies at `path`.
void require_vacant(const std::filesystem::path& path);

/// A folder for what a command writes, made with its parents where it is missing. What was made and
/// is empty in the end goes again: nothing came of the command.
class OutputFolder {
 public:
  /// Throws Error for a folder that cannot be made or written to.
  explicit OutputFolder(std::filesystem::path path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

 private:
  void remove_empty() const;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_{};  ///< the innermost first
};

}  // namespace harness
