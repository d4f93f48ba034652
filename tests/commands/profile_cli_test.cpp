// End to end: `harness profile` on the null workload, whose step is one operator of one primitive.
#include <signal.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::size_t steps_in(const fs::path& folder) {
  std::size_t steps = 0;
  for (const fs::path& file : files_ending(folder, ".jsonl")) {
    const std::string text = read_file(file, 64 << 20);
    for (std::size_t at = 0; (at = text.find("\"event\":\"step\"", at)) != std::string::npos;
         ++at) {
      ++steps;
    }
  }
  return steps;
}

}  // namespace

TEST_CASE("profile leaves a valid file, a trace and a log", "[profile]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(profile_null(out.path(), {"--steps", "4"}));
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("null::sleep"));
  CHECK_THAT(outcome.out, Catch::Contains("4 steps of each"));
  const fs::path file = only_file(out.path(), ".json");
  const json document = read_json(file);
  CHECK(document["kind"] == "profile");
  CHECK(document["settings"]["effective"]["min_steps"] == 4);
  const json& profile = document["profile"];
  CHECK(profile["steps"] == 4);
  CHECK(profile["attributed_share"] == 1);
  REQUIRE(profile["operators"].size() == 1);
  CHECK(profile["operators"][0]["phase"] == "work");
  CHECK(profile["operators"][0]["calls"] == 1);
  CHECK(profile["operators"][0]["self_seconds"].get<double>() >= 0.003);
  CHECK(profile["primitives"][0]["operator"] == 0);
  std::map<std::string, std::size_t> samples;
  for (const json& metric : document["metrics"]) {
    samples[metric["tag"]] = metric["samples"].size();
  }
  CHECK(samples["time.step"] == 4 + 2);  // two of them warm-up
  CHECK(samples["time.recorded_step"] == 4);
  CHECK(run_harness({"validate", file.string()}).code == 0);
  const json trace = read_json(out.path() / profile["files"]["trace"].get<std::string>());
  CHECK(trace["traceEvents"].size() == 3 + 4 * 3 + 4);
  CHECK(fs::exists(out.path() / profile["files"]["log"].get<std::string>()));
}

TEST_CASE("a profile whose tables do not add up is not valid", "[profile]") {
  const TemporaryFolder out;
  REQUIRE(run_harness(profile_null(out.path())).code == 0);
  const fs::path file = only_file(out.path(), ".json");
  const json good = read_json(file);
  const auto code_with = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    rewrite(file, changed);
    return run_harness({"validate", file.string()}).code;
  };
  CHECK(code_with("/profile/steps", 5) == 0);  // as it was: the others fail by what they change
  CHECK(code_with("/profile/steps", 2) == 3);
  CHECK(code_with("/profile/step_seconds", 1) == 3);
  CHECK(code_with("/profile/between_seconds", 1) == 3);
  CHECK(code_with("/profile/attributed_share", 0.5) == 3);
  CHECK(code_with("/profile/operators/0/primitive_seconds", 1) == 3);
  CHECK(code_with("/profile/primitives/0/operator", 7) == 3);
  CHECK(code_with("/profile/overhead/center", 2) == 3);
  CHECK(code_with("/profile/operators/0/calls", "many") == 3);
  CHECK(code_with("/profile/operators/0/self_seconds", 1e308) == 3);
  CHECK(code_with("/profile/surprise", 1) == 3);
}

TEST_CASE("profiles of before counters, and with half of what they say, are read", "[profile]") {
  const TemporaryFolder out;
  REQUIRE(run_harness(profile_null(out.path())).code == 0);
  const fs::path file = only_file(out.path(), ".json");
  json changed = read_json(file);
  changed["profile"].erase("counters_reason");
  rewrite(file, changed);
  CHECK(run_harness({"validate", file.string()}).code == 0);
  changed["profile"].erase("counters");
  changed["profile"]["counters_reason"] = "hidden";
  rewrite(file, changed);
  CHECK(run_harness({"validate", file.string()}).code == 0);
  changed["profile"].erase("counters_reason");
  changed["schema_version"] = "1.0.0";
  rewrite(file, changed);
  CHECK(run_harness({"validate", file.string()}).code == 0);
}

TEST_CASE("profile refuses what it cannot do, before anything is measured", "[profile]") {
  const TemporaryFolder out;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& why) {
    const Outcome outcome = run_harness(profile_null(out.path(), more));
    CAPTURE(outcome.out, outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, Catch::Contains(why));
    CHECK(fs::is_empty(out.path()));
  };
  refused({"--set", "recordable=no"}, "cannot be looked into");
  refused({"--steps", "0"}, "too small: at least 1");
  refused({"--steps", "1000000"}, "too large: at most 100");
  refused({"--steps", "x"}, "--steps");
  refused({"--tier", "training"}, "is of scenario 'epochs'");
  refused({"--nonsense"}, "nonsense");
}

TEST_CASE("what was recorded before Ctrl-C is kept", "[profile]") {
  const TemporaryFolder out;
  Process process(profile_null(out.path(), {"--set", "step-ms=100", "--steps", "100"}));
  // Two warm-up steps, a plain one, a recorded one; then whatever comes.
  for (int i = 0; i < 3000 && steps_in(out.path()) < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  const json document = read_json(only_file(out.path(), ".json"));
  CHECK(document["status"]["state"] == "aborted");
  CHECK(document["profile"]["steps"] > 0);
  CHECK(run_harness({"validate", only_file(out.path(), ".json").string()}).code == 3);
}

TEST_CASE("a step that fails while it is recorded is left out", "[profile]") {
  const TemporaryFolder out;
  // Steps 4 and 5 are recorded.
  const Outcome outcome = run_harness(profile_null(out.path(), {"--set", "fail-at=5"}));
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  const json document = read_json(only_file(out.path(), ".json"));
  CHECK(document["profile"]["steps"] == 1);
  CHECK(document["profile"]["operators"][0]["calls"] == 1);
}

TEST_CASE("a profile of losses that are no numbers is not valid", "[profile]") {
  const TemporaryFolder out;
  const Outcome outcome = run_harness(profile_null(out.path(), {"--set", "losses=1,1,1,nan"}));
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 2);
  CHECK(read_json(only_file(out.path(), ".json"))["status"]["state"] == "aborted");
}

TEST_CASE("gate and compare refuse a profile as a run", "[profile]") {
  const TemporaryFolder out;
  REQUIRE(run_harness(profile_null(out.path())).code == 0);
  const std::string file = only_file(out.path(), ".json").string();
  CHECK(run_harness({"gate", "--baseline", file, "--candidate", file}).code == 1);
  CHECK(run_harness({"compare", file, file}).code == 1);
}
