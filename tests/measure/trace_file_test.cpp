// When each part of each step began and ended: the file, and how those of several ranks become one.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "harness/measure/trace_file.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

StepRecord step_at(double begin, double end) {
  StepRecord record;
  record.step = 1;
  record.spans = {{"forward", false, begin, end}, {"gradients", true, begin, end}};
  return record;
}

json trace_in(const fs::path& file) { return json::parse(read_file(file, 1 << 20)); }

std::vector<json> named(const json& trace, const std::string& name) {
  std::vector<json> events;
  for (const json& event : trace) {
    if (event["name"] == name && event["ph"] == "X") events.push_back(event);
  }
  return events;
}

}  // namespace

TEST_CASE("traces of ranks become one", "[trace]") {
  const TemporaryFolder folder;
  for (int rank = 0; rank < 3; ++rank) {
    TraceFile file(trace_path(folder.path(), "run", rank), rank, 3);
    file.step(step_at(1 + rank, 2 + rank));
  }
  // One that was killed while it wrote.
  const fs::path killed = trace_path(folder.path(), "run", 2);
  fs::resize_file(killed, fs::file_size(killed) - 30);
  join_traces(folder.path(), "run", {0, 1, 2, 3});  // of the last one there is no file here
  const json trace = trace_in(folder / "run.trace");
  const std::vector<json> forward = named(trace, "forward");
  REQUIRE(forward.size() == 3);
  for (int rank = 0; rank < 3; ++rank) {
    const json& event = forward[static_cast<std::size_t>(rank)];
    CHECK(event["pid"] == rank);
    CHECK(event["ts"] == 1e6 * (1 + rank));
    CHECK(event["dur"] == 1e6);
    CHECK(event["args"]["step"] == 1);
  }
  CHECK(named(trace, "gradients").size() == 2);
  CHECK(named(trace, "gradients")[0]["tid"] != forward[0]["tid"]);
  CHECK(files_ending(folder.path(), ".trace").size() == 1);
}

TEST_CASE("a run writes a trace of its steps where it is asked to", "[trace][cli]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(
      {"run", "--workload", "null", "--steps", "5", "--trace", "--out", out.path().string()});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("trace    "));
  const json trace = trace_in(files_ending(out.path(), ".trace").at(0));
  std::size_t steps = 0;
  for (const json& line : lines_of(files_ending(out.path(), ".jsonl").at(0))) {
    steps += line["event"] == "step" ? 1 : 0;
  }
  CHECK(steps >= 5);
  const std::vector<json> drawn = named(trace, "step");
  REQUIRE(drawn.size() == steps);
  double end = 0;
  for (const json& step : drawn) {
    CHECK(step["ts"].get<double>() >= end);
    end = step["ts"].get<double>() + step["dur"].get<double>();
  }
  CHECK(run_harness({"validate", out.path().string()}).code == 0);
}
