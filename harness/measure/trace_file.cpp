#include "harness/measure/trace_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/print.hpp"

namespace harness {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr int kStepTrack = 1;
constexpr int kBesideTrack = 2;
constexpr double kMicros = 1e6;
constexpr const char* kEnd = "]";

const fs::path& made_free(const fs::path& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  return path;
}

json name_event(int rank, int track, const char* what, const std::string& name) {
  return {{"ph", "M"}, {"pid", rank}, {"tid", track}, {"name", what}, {"args", {{"name", name}}}};
}

/// Its events; what a killed process left of a line does not count.
void copy_events(const fs::path& path, std::ostream& joined, bool& first) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.size() < 2 || !json::accept(line.begin() + 1, line.end())) continue;
    line.front() = std::exchange(first, false) ? '[' : ',';
    joined << line << '\n';
  }
}

}  // namespace

fs::path trace_path(const fs::path& folder, const std::string& stem, int rank) {
  return folder / (rank == 0 ? stem + ".trace" : fmt::format("{}.rank-{}.trace", stem, rank));
}

TraceFile::TraceFile(const fs::path& path, int rank, int world)
    : file_(made_free(path), "an event"), rank_(rank) {
  const std::string process = world > 1 ? fmt::format("rank {}", rank) : "harness run";
  file_.append("[" + name_event(rank, kStepTrack, "process_name", process).dump());
  file_.append("," + name_event(rank, kStepTrack, "thread_name", "step").dump());
  file_.append("," + name_event(rank, kBesideTrack, "thread_name", "beside it").dump());
}

TraceFile::~TraceFile() {
  try {
    file_.append(kEnd);
  } catch (const Error&) {
    return;  // the disk is full, and readers do without
  }
}

void TraceFile::step(const StepRecord& record) {
  for (const Span& span : record.spans) {
    const json event = {{"ph", "X"},
                        {"pid", rank_},
                        {"tid", span.beside ? kBesideTrack : kStepTrack},
                        {"name", span.name},
                        {"ts", span.begin * kMicros},
                        {"dur", (span.end - span.begin) * kMicros},
                        {"args", {{"step", record.step}}}};
    file_.append("," + event.dump());
  }
}

void join_traces(const fs::path& folder, const std::string& stem, const std::vector<int>& ranks) {
  const fs::path joined = trace_path(folder, stem, 0);
  const fs::path written = joined.string() + ".tmp";
  std::error_code trouble;
  bool first = true;
  {
    std::ofstream file(written);
    for (const int rank : ranks) copy_events(trace_path(folder, stem, rank), file, first);
    file << kEnd << '\n';
    file.close();
    if (!file) trouble = std::make_error_code(std::errc::io_error);
  }
  if (!trouble && !first) fs::rename(written, joined, trouble);
  std::error_code ignored;
  if (trouble || first) {
    if (trouble) print_err(fmt::format("{}: the traces were not joined\n", joined.string()));
    fs::remove(written, ignored);
    return;
  }
  for (const int rank : ranks) {
    if (rank > 0) fs::remove(trace_path(folder, stem, rank), ignored);
  }
}

}  // namespace harness
