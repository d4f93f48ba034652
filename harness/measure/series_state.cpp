#include "harness/measure/series_state.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/measure/saved_json.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kSaved = "saved_state_of";

fs::path path_of(const fs::path& folder, const StateForm& form) { return folder / form.file; }

}  // namespace

SeriesState::SeriesState(const fs::path& folder, const std::vector<std::string>& arguments,
                         const std::string& series_id, std::uint32_t seed, StateForm form)
    : form_(form),
      folder_(folder),
      arguments_(arguments),
      series_id_(series_id),
      seed_(seed),
      working_folder_(fs::current_path().string()) {
  lock();
  if (has_unfinished_series(folder_, form_)) {
    ::close(lock_);
    throw Error("--out " + printable(folder_.string()),
                std::string("an unfinished ") + form_.name + " lies there",
                "--resume goes on with it; a new one needs another folder");
  }
  write();
}

SeriesState::SeriesState(const fs::path& folder, StateForm form)
    : form_(form), folder_(folder), resumed_(true) {
  lock();
  try {
    read();
  } catch (...) {
    ::close(lock_);
    throw;
  }
}

void SeriesState::read() {
  const fs::path path = path_of(folder_, form_);
  const json document = read_saved_json(path, form_.format);
  take_saved(path, [&] {
    if (document.at("program") != version_line()) {
      throw Error(printable(path.string()),
                  "was begun by " + printable(document.at("program").get<std::string>()) +
                      ", this is " + version_line(),
                  std::string("go on with that program, or ") + kStartAnew);
    }
    arguments_ = document.at("arguments").get<std::vector<std::string>>();
    series_id_ = document.at("series_id");
    working_folder_ = document.at("working_folder");
    const std::int64_t seed = document.at("seed");
    // The name goes into those of files, the seed into 32 bits.
    if (!is_uuid(series_id_) || seed < 0 || seed > std::numeric_limits<std::uint32_t>::max()) {
      throw std::out_of_range("no such series or seed");
    }
    seed_ = static_cast<std::uint32_t>(seed);
    if (const auto saved = document.find(kSaved); saved != document.end()) saved_stem_ = *saved;
  });
}

SeriesState::~SeriesState() { ::close(lock_); }

// Not O_CLOEXEC: the processes of the series' runs hold the lock as well, for as long as one lives.
void SeriesState::lock() {
  lock_ = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY);
  if (lock_ >= 0 && ::flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const int why = errno;
  if (lock_ >= 0) ::close(lock_);
  lock_ = -1;
  const bool busy = why == EWOULDBLOCK;
  throw Error(printable(folder_.string()),
              busy ? "another run is at work in this folder" : std::strerror(why),
              busy ? "wait for its end or choose another folder" : "");
}

bool is_at_work(const fs::path& folder) {
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return false;
  const std::string place =
      fmt::format(" {:02x}:{:02x}:{} ", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find(" FLOCK ") != std::string::npos && line.find(place) != std::string::npos) {
      return true;
    }
  }
  return false;
}

void SeriesState::write() const {
  write_saved_json(path_of(folder_, form_), {{"format", form_.format},
                                             {"program", version_line()},
                                             {"arguments", arguments_},
                                             {"series_id", series_id_},
                                             {"seed", seed_},
                                             {"working_folder", working_folder_}});
}

void note_saved_state(const fs::path& folder, const std::string& stem) {
  const fs::path path = path_of(folder, kSeriesForm);
  json document = read_saved_json(path, kSeriesForm.format);
  document[kSaved] = stem;
  write_saved_json(path, std::move(document));
}

void forget_saved_state(const fs::path& folder) {
  try {
    note_saved_state(folder, "");
  } catch (const Error&) {
    return;  // the run is measured: its result counts, whatever the note says
  }
}

bool has_unfinished_series(const fs::path& folder, StateForm form) {
  std::error_code ignored;
  return fs::exists(path_of(folder, form), ignored);
}

void SeriesState::enter_working_folder() const {
  std::error_code error;
  fs::current_path(working_folder_, error);
  if (!error) return;
  throw Error("--resume " + printable(folder_.string()),
              "the folder it was begun in cannot be entered: " + printable(working_folder_),
              "its arguments may name files relative to that folder");
}

void SeriesState::complete() {
  std::error_code ignored;
  fs::remove(path_of(folder_, form_), ignored);
  // What a process that was killed while it wrote has left.
  const std::string own = series_id_.substr(0, 8);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool ours =
        name.find(own) != std::string::npos || name.find(form_.file) != std::string::npos;
    const bool temporary = name.ends_with(".tmp") || name.find(".state-") != std::string::npos;
    if (temporary && ours) fs::remove(entry.path(), ignored);
  }
}

}  // namespace harness
