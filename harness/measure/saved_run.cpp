#include "harness/measure/saved_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/measure/run_files.hpp"
#include "harness/measure/saved_json.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/json_fields.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kFormat = "harness-checkpoint/3";
constexpr const char* kExtension = ".checkpoint";
constexpr const char* kStatePart = ".state-";

constexpr JsonFields kSaved(JsonField("stem", &SavedRun::stem),
                            JsonField("conditions", &SavedRun::conditions),
                            JsonField("environment_before", &SavedRun::environment_before),
                            JsonField("log_ms", &SavedRun::log_ms),
                            JsonField("state_file", &SavedRun::state_file),
                            JsonField("state_sha256", &SavedRun::state_sha256));

fs::path header_path(const fs::path& folder, const std::string& stem) {
  return folder / (stem + kExtension);
}

json to_json(const SavedRun& saved) {
  return kSaved.put(saved, {{"format", kFormat},
                            {"identity", identity_json(saved.identity)},
                            {"training", to_json(saved.training)},
                            {"samples_size", saved.samples.size},
                            {"samples_sha256", saved.samples.sha256},
                            {"log_size", saved.log.size},
                            {"log_sha256", saved.log.sha256}});
}

/// Empty where the conditions, those of a series say, name no world.
std::optional<TrainedIn> world_of(const json& conditions) {
  const json settings = conditions.is_object() ? conditions.value("settings", json()) : json();
  if (!settings.is_object()) return std::nullopt;
  const json ranks = settings.value("ranks", json(1));
  const json batch = settings.value("batch_size", json());
  if (!ranks.is_number_integer() || !batch.is_number_integer()) return std::nullopt;
  const auto count = ranks.get<std::int64_t>();
  const auto size = batch.get<std::int64_t>();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (count < 1 || count > kMost || size < 1 || size > kMost) return std::nullopt;
  return TrainedIn{static_cast<int>(count), count * size};
}

/// The conditions without what belongs to a number of ranks.
json of_any_world(json conditions, const TrainedIn& world) {
  json& settings = conditions["settings"];
  for (const char* name : {"ranks", "batch_size", "threads", "cpus", "engine"}) {
    settings.erase(name);
  }
  settings["global_batch_size"] = world.global_batch_size;
  settings.emplace("gradient_sums", "fp32");  // only several ranks have it
  return conditions;
}

SavedRun read(const fs::path& path) {
  const json document = read_saved_json(path, kFormat);
  SavedRun saved;
  take_saved(path, [&] {
    kSaved.take(document, saved);
    saved.identity = identity_from_json(document.at("identity"));
    saved.training = epoch_state_from_json(document.at("training"));
    saved.samples = {document.at("samples_size"), document.at("samples_sha256")};
    saved.log = {document.at("log_size"), document.at("log_sha256")};
  });
  // Names below the folder only, and those of this very run.
  const bool own_names = path.filename() == saved.stem + kExtension &&
                         saved.state_file.starts_with(saved.stem + kStatePart) &&
                         saved.state_file.find('/') == std::string::npos;
  if (!own_names) throw Error(printable(path.string()), "names files of another run", kStartAnew);
  return saved;
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

void save_run(const fs::path& folder, SavedRun& saved, const Trains& workload) {
  // Never the name of the state before: that one stays good until the new one is in place.
  std::string name = fmt::format("{}{}{}", saved.stem, kStatePart, saved.training.steps);
  if (name == saved.state_file) name += "-again";
  const std::string before = std::exchange(saved.state_file, name);
  const fs::path state = folder / saved.state_file;
  try {
    workload.save_state(state);
    flush_to_disk(state);
    saved.state_sha256 = sha256_of_file(state);
    write_saved_json(header_path(folder, saved.stem), to_json(saved));
  } catch (const std::exception& error) {
    std::error_code ignored;
    fs::remove(state, ignored);
    saved.state_file = before;
    throw Error("saving the run's state", reason(error));
  }
  remove_states(folder, saved.stem, saved.state_file);
}

std::optional<SavedRun> find_saved_run(const fs::path& folder, const std::string& first,
                                       const std::string& series_id, std::int64_t run_index) {
  for (const fs::path& header : files_of_run(folder, first, kExtension)) {
    SavedRun saved = read(header);
    const Identity& identity = saved.identity;
    if (identity.series_id == series_id && identity.run_index == run_index) return saved;
  }
  return std::nullopt;
}

bool has_saved_run(const fs::path& folder, const std::string& first) {
  return !files_of_run(folder, first, kExtension).empty();
}

void expect_state(const fs::path& folder, const SavedRun& saved) {
  const fs::path state = folder / saved.state_file;
  const std::string shown = printable(state.string());
  std::error_code ignored;
  if (!fs::exists(state, ignored)) {
    throw Error(shown, "the saved state is gone",
                std::string("put the file back, or ") + kStartAnew);
  }
  if (sha256_of_file(state) != saved.state_sha256) {
    throw Error(shown, "is not the state that was saved: its SHA-256 differs", kStartAnew);
  }
}

void restore_workload(const fs::path& folder, const SavedRun& saved, Trains& workload) {
  workload.load_state(folder / saved.state_file);
}

TrainedIn trained_in(const SavedRun& saved) {
  const auto world = world_of(saved.conditions);
  if (world) return *world;
  throw Error(printable(saved.stem + kExtension), "does not say in which world it was saved",
              kStartAnew);
}

void expect_same_conditions(const json& all_before, const json& all_now) {
  const auto was_world = world_of(all_before);
  const auto is_world = world_of(all_now);
  const bool other_world = was_world && is_world && was_world->ranks != is_world->ranks;
  const json before = other_world ? of_any_world(all_before, *was_world) : all_before;
  const json now = other_world ? of_any_world(all_now, *is_world) : all_now;
  const auto refuse = [](const std::string& why) {
    throw Error("--resume", why, "a run goes on as it began: undo that, or start a new run");
  };
  for (const auto& [key, value] : now.items()) {
    const json was = before.value(key, json());
    if (was == value) continue;
    if (key == "machine") refuse("the run was begun on another machine");
    if (key == "rules") refuse("the rules of the workload have changed since the run began");
    if (key == "data") refuse("the data have changed since the run began");
    const auto differs = [](const std::string& what, const json& a, const json& b) {
      return fmt::format("{} was {}, now it is {}", what, printable(a.dump(), 80),
                         printable(b.dump(), 80));
    };
    if (was.is_object() && value.is_object()) {
      for (const auto& [name, part] : value.items()) {
        const json earlier = was.value(name, json());
        if (earlier != part) refuse(differs("the run's " + key + "." + name, earlier, part));
      }
    }
    refuse(differs("the run's " + key, was, value));
  }
}

void remove_saved_run(const fs::path& folder, const std::string& stem) {
  std::error_code ignored;
  fs::remove(header_path(folder, stem), ignored);
  remove_states(folder, stem, "");
}

void remove_saved_runs(const fs::path& folder, const std::string& first) {
  for (const fs::path& header : files_of_run(folder, first, kExtension)) {
    remove_saved_run(folder, header.stem().string());
  }
}

}  // namespace harness
