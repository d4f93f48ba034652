#include "harness/run/samples_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

json finite_or_null(double value) { return std::isfinite(value) ? json(value) : json(); }

json numbers(const std::map<std::string, double>& values) {
  json object = json::object();
  for (const auto& [name, value] : values) object[name] = finite_or_null(value);
  return object;
}

}  // namespace

SamplesFile::SamplesFile(const std::filesystem::path& path, const json& header) : path_(path) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    throw Error(printable(path.string()), std::string("cannot create it: ") + std::strerror(errno),
                "choose another folder with --out");
  }
  json line = header;
  line["event"] = "start";
  try {
    append(line);
  } catch (const Error&) {
    discard();
    throw;
  }
}

SamplesFile::~SamplesFile() {
  if (sampled_) {
    ::close(fd_);
  } else {
    discard();
  }
}

void SamplesFile::discard() {
  ::close(fd_);
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
}

void SamplesFile::append(const json& line) {
  const std::string text = line.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t written = ::write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      // Half a line would make the lines before it look damaged.
      const int reason = errno;
      [[maybe_unused]] const int ignored = ::ftruncate(fd_, size_);
      errno = reason;
      throw Error(printable(path_.string()),
                  std::string("cannot append a sample: ") + std::strerror(errno),
                  "free some space or choose another folder with --out");
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  size_ += static_cast<off_t>(text.size());
}

void SamplesFile::step(const StepRecord& record) {
  json line = {{"event", "step"},
               {"step", record.step},
               {"warmup", record.warmup},
               {"seconds", finite_or_null(record.seconds)},
               {"elapsed", finite_or_null(record.elapsed)},
               {"samples", record.samples},
               {"phases", numbers(record.phases)},
               {"losses", numbers(record.losses)}};
  if (!record.stages.empty()) line["stages"] = numbers(record.stages);
  if (!record.variant.empty()) {
    line["variant"] = record.variant;
    line["round"] = record.round;
  }
  append(line);
  sampled_ = true;
}

void SamplesFile::evaluated(const Quality& quality, const std::string& variant) {
  json line = {{"event", "evaluated"},
               {"metric", quality.metric},
               {"value", quality.value ? json(*quality.value) : json()}};
  if (!variant.empty()) line["variant"] = variant;
  append(line);
}

void SamplesFile::finished() {
  append({{"event", "finished"}, {"at", utc_now()}});
  // A power cut is not kill -9: only the end of a run is worth waiting for the disk.
  ::fsync(fd_);
}

}  // namespace harness
