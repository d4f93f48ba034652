#include "harness/measure/trace_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
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

/// The events of a trace, one behind the other with a comma before each; what a killed process left
/// of a line does not count.
std::string events_of(const fs::path& path) {
  std::ifstream file(path);
  std::string events;
  for (std::string line; std::getline(file, line);) {
    if (line.size() < 2 || !json::accept(line.substr(1))) continue;
    events += "," + line.substr(1) + "\n";
  }
  return events;
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

void join_traces(const fs::path& folder, const std::string& stem, int world) {
  std::string events;
  for (int rank = 0; rank < world; ++rank) events += events_of(trace_path(folder, stem, rank));
  if (events.empty()) return;
  events[0] = '[';
  try {
    write_file_atomically(trace_path(folder, stem, 0), events + kEnd + "\n");
  } catch (const Error& error) {
    print_err(fmt::format("{}\n", error.what()));
    return;
  }
  std::error_code ignored;
  for (int rank = 1; rank < world; ++rank) fs::remove(trace_path(folder, stem, rank), ignored);
}

}  // namespace harness
