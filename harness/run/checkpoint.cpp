#include "harness/run/checkpoint.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/json_reader.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kFormat = "harness-checkpoint/2";
constexpr const char* kExtension = ".checkpoint";
constexpr const char* kStatePart = ".state-";
constexpr const char* kStartAnew = "start a new run in another folder";
/// Metrics of 100,000 epochs are some 100 MB; nobody has as many.
constexpr std::size_t kLargest = std::size_t{64} << 20;

fs::path header_path(const fs::path& folder, const std::string& stem) {
  return folder / (stem + kExtension);
}

json to_json(const Checkpoint& checkpoint) {
  return {{"format", kFormat},
          {"stem", checkpoint.stem},
          {"identity", identity_json(checkpoint.identity)},
          {"conditions", checkpoint.conditions},
          {"environment_before", checkpoint.environment_before},
          {"training", to_json(checkpoint.training)},
          {"samples_size", checkpoint.samples_size},
          {"log_size", checkpoint.log_size},
          {"log_ms", checkpoint.log_ms},
          {"state_file", checkpoint.state_file},
          {"state_sha256", checkpoint.state_sha256}};
}

Checkpoint read(const fs::path& path) {
  const std::string shown = printable(path.string());
  const json document = parse_json(read_file(path, kLargest), path.string());
  if (document.value("format", json()) != kFormat) {
    throw Error(shown, fmt::format("is no checkpoint of the format {}", kFormat), kStartAnew);
  }
  try {
    Checkpoint checkpoint;
    checkpoint.stem = document.at("stem");
    checkpoint.identity = identity_from_json(document.at("identity"));
    checkpoint.conditions = document.at("conditions");
    checkpoint.environment_before = document.at("environment_before");
    checkpoint.training = training_state_from_json(document.at("training"));
    checkpoint.samples_size = document.at("samples_size");
    checkpoint.log_size = document.at("log_size");
    checkpoint.log_ms = document.at("log_ms");
    checkpoint.state_file = document.at("state_file");
    checkpoint.state_sha256 = document.at("state_sha256");
    // Names below the folder only, and those of this very run.
    const bool own_names = path.filename() == checkpoint.stem + kExtension &&
                           checkpoint.state_file.starts_with(checkpoint.stem + kStatePart) &&
                           checkpoint.state_file.find('/') == std::string::npos;
    if (!own_names) throw Error(shown, "names files of another run", kStartAnew);
    return checkpoint;
  } catch (const json::exception& error) {
    throw Error(shown, "is damaged: " + printable(error.what()), kStartAnew);
  } catch (const std::out_of_range& error) {
    throw Error(shown, std::string("is damaged: ") + error.what(), kStartAnew);
  }
}

/// All states of `stem` but `keep`.
void remove_states(const fs::path& folder, const std::string& stem, const std::string& keep) {
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(stem + kStatePart) && name != keep) fs::remove(entry.path(), ignored);
  }
}

void flush_to_disk(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = fd >= 0 && ::fsync(fd) == 0;
  const int why = errno;
  if (fd >= 0) ::close(fd);
  if (!done) throw Error(printable(path.string()), std::strerror(why));
}

}  // namespace

void save_checkpoint(const fs::path& folder, Checkpoint& checkpoint, const Workload& workload) {
  // Never the name of the state before: that one stays good until the new one is in place.
  std::string name = fmt::format("{}{}{}", checkpoint.stem, kStatePart, checkpoint.training.steps);
  if (name == checkpoint.state_file) name += "-again";
  const std::string before = std::exchange(checkpoint.state_file, name);
  const fs::path state = folder / checkpoint.state_file;
  try {
    workload.save_state(state);
    flush_to_disk(state);
    checkpoint.state_sha256 = sha256_of_file(state);
    write_file_atomically(header_path(folder, checkpoint.stem), to_json(checkpoint).dump());
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove(state, ignored);
    checkpoint.state_file = before;
    // Without an earlier state there is nothing to go on with.
    throw Error("saving the run's state", reason(error),
                before.empty()
                    ? "free some space, then start again"
                    : "free some space, then go on with --resume " + printable(folder.string()));
  }
  remove_states(folder, checkpoint.stem, checkpoint.state_file);
}

std::optional<Checkpoint> find_checkpoint(const fs::path& folder, const std::string& series_id,
                                          std::int64_t run_index) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() != kExtension) continue;
    Checkpoint checkpoint = read(entry.path());
    const Identity& identity = checkpoint.identity;
    if (identity.series_id == series_id && identity.run_index == run_index) return checkpoint;
  }
  return std::nullopt;
}

void restore_workload(const fs::path& folder, const Checkpoint& checkpoint, Workload& workload) {
  const fs::path state = folder / checkpoint.state_file;
  if (sha256_of_file(state) != checkpoint.state_sha256) {
    throw Error(printable(state.string()), "is not the state that was saved: its SHA-256 differs",
                kStartAnew);
  }
  workload.load_state(state);
}

void expect_same_conditions(const Checkpoint& checkpoint, const json& now) {
  for (const auto& [key, value] : now.items()) {
    const json before = checkpoint.conditions.value(key, json());
    if (before == value) continue;
    throw Error("--resume",
                fmt::format("the run's {} was {}, now it is {}", key, printable(before.dump(), 80),
                            printable(value.dump(), 80)),
                "a run goes on as it began, or not at all: start a new one");
  }
}

void remove_checkpoint(const fs::path& folder, const std::string& stem) {
  std::error_code ignored;
  fs::remove(header_path(folder, stem), ignored);
  remove_states(folder, stem, "");
}

}  // namespace harness
