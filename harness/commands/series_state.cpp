#include "harness/commands/series_state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/base/version.hpp"
#include "harness/result/json_reader.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kName = "series.state";
constexpr const char* kFormat = "harness-series/1";
constexpr std::size_t kLargest = 1 << 20;

std::string shown(const fs::path& folder) { return printable((folder / kName).string()); }

}  // namespace

SeriesState::SeriesState(const fs::path& folder, const Arguments& arguments,
                         const std::string& series_id, std::uint32_t seed)
    : folder_(folder), arguments_(arguments), series_id_(series_id), seed_(seed) {
  lock();
  std::error_code ignored;
  if (fs::exists(folder_ / kName, ignored)) {
    ::close(lock_);
    throw Error("--out " + printable(folder_.string()), "an unfinished series lies there",
                "--resume goes on with it; a new one needs another folder");
  }
  write();
}

SeriesState::SeriesState(const fs::path& folder) : folder_(folder) {
  std::error_code ignored;
  if (!fs::exists(folder_ / kName, ignored)) {
    throw Error("--resume " + printable(folder_.string()), "no unfinished series lies there",
                "give the --out folder of a run that was stopped");
  }
  lock();
  try {
    const json document = parse_json(read_file(folder_ / kName, kLargest), shown(folder_));
    if (document.at("format") != kFormat) throw Error(shown(folder_), "is of another format");
    if (document.at("program") != version_line()) {
      throw Error(shown(folder_),
                  "was begun by " + printable(document.at("program").get<std::string>()) +
                      ", this is " + version_line(),
                  "go on with that program, or start a new series");
    }
    arguments_ = document.at("arguments").get<Arguments>();
    series_id_ = document.at("series_id");
    seed_ = document.at("seed");
    finished_ = document.at("finished").get<std::set<std::int64_t>>();
  } catch (const json::exception& error) {
    ::close(lock_);
    throw Error(shown(folder_), "is damaged: " + printable(error.what()), "start a new series");
  } catch (...) {
    ::close(lock_);
    throw;
  }
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

void SeriesState::write() const {
  const json document = {{"format", kFormat},       {"program", version_line()},
                         {"arguments", arguments_}, {"series_id", series_id_},
                         {"seed", seed_},           {"finished", finished_}};
  write_file_atomically(folder_ / kName, document.dump(2) + "\n");
}

void SeriesState::finish(std::int64_t index) {
  finished_.insert(index);
  write();
}

void SeriesState::complete() {
  std::error_code ignored;
  fs::remove(folder_ / kName, ignored);
  // What a process that was killed while it wrote has left.
  const std::string own = series_id_.substr(0, 8);
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    const bool ours = name.find(own) != std::string::npos || name.find(kName) != std::string::npos;
    const bool temporary = name.ends_with(".tmp") || name.find(".state-") != std::string::npos;
    if (temporary && ours) fs::remove(entry.path(), ignored);
  }
}

}  // namespace harness
