// Tests of LoadGen's that end too early, since the warm-up was slower than they are.
#include <catch2/catch.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/added/run_added.hpp"
#include "tests/added/stub_queries.hpp"
#include "tests/support/suite_home.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> with_slow_warm_up(const std::string& scenario, const fs::path& out,
                                           std::vector<std::string> more = {}) {
  // A batch of offline has eight of them.
  more.insert(more.end(), {"--set", "query-us=2000", "--threads", "1", "--precision", "fp32"});
  if (scenario == "offline") more.insert(more.end(), {"--batch-size", "8"});
  return queries_command(scenario, out, more);
}

std::ptrdiff_t dropped_in(const fs::path& out) {
  const auto lines = lines_of(only_file(out, ".jsonl"));
  return std::count_if(lines.begin(), lines.end(),
                       [](const json& line) { return line.value("event", "") == "dropped"; });
}

}  // namespace

TEST_CASE("a test that ends too early is repeated with more queries", "[queries]") {
  if (without_loadgen()) return;
  const std::string scenario = GENERATE("single-stream", "offline");
  const TemporaryFolder folder;
  const std::string slow = scenario == "offline" ? "slow-first=64" : "slow-first=8";
  const Outcome outcome = run_added(with_slow_warm_up(
      scenario, folder.path(), {"--set", slow, "--set", "slow-times=10", "--audit", "TEST01"}));
  INFO(scenario << outcome.err << outcome.out);
  // Whether the audit is as fast is for a quiet machine to say.
  CHECK((outcome.code == 0 || outcome.code == 3));
  CHECK_THAT(outcome.err, Catch::Contains("again with more of them"));
  const json loadgen = result_in(folder.path())["loadgen"];
  CHECK_THAT(loadgen["reasons"].dump(), !Catch::Contains("pre-generates"));
  // Twice where others held the first test up, so that it says little of how fast this is.
  const auto repeats = static_cast<std::ptrdiff_t>(loadgen["repeated"].size());
  REQUIRE((repeats == 1 || repeats == 2));
  CHECK_THAT(loadgen["repeated"][0]["why"].get<std::string>(),
             Catch::StartsWith("the test ended after "));
  CHECK(loadgen["repeated"][0]["logs"] == "short-1");
  CHECK(fs::exists(only_file(folder.path(), ".loadgen") / "short-1/mlperf_log_detail.txt"));
  // What does not count is in the samples' file, and nowhere else.
  CHECK(dropped_in(folder.path()) == repeats);
  const json result = result_in(folder.path());
  const auto& samples = result["metrics"][0]["samples"];
  const auto timed = std::count_if(samples.begin(), samples.end(),
                                   [](const json& sample) { return !sample["warmup"]; });
  const auto queries = loadgen["queries"].get<std::int64_t>();
  CHECK(timed == (scenario == "offline" ? (queries + 7) / 8 : queries));
  CHECK(run_harness({"validate", folder.path().string()}).code == outcome.code);
}

TEST_CASE("a test that is too short each time is repeated twice", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  const Outcome outcome =
      run_added(with_slow_warm_up("offline", folder.path(), {"--set", "faster=4"}));
  INFO(outcome.err << outcome.out);
  CHECK(outcome.code == 3);
  const json result = result_in(folder.path());
  CHECK(result["status"]["state"] == "invalid");
  CHECK_THAT(result["loadgen"]["reasons"].dump(), Catch::Contains("pre-generates a larger"));
  REQUIRE(result["loadgen"]["repeated"].size() == 2);
  CHECK(result["loadgen"]["repeated"][1]["logs"] == "short-2");
  CHECK(dropped_in(folder.path()) == 2);
  CHECK(run_harness({"validate", folder.path().string()}).code == 3);
}

TEST_CASE("Ctrl-C while a test is repeated keeps the latencies of the repeat", "[queries]") {
  if (without_loadgen()) return;
  const TemporaryFolder folder;
  const fs::path program = fs::path(harness_program()).parent_path() / "harness_added";
  Process process(
      with_slow_warm_up("offline", folder.path(), {"--set", "slow-first=64", "--min-seconds", "5"}),
      {}, {}, program.string());
  wait_for_error_text(process, "again with more of them");
  const auto before = lines_of(only_file(folder.path(), ".jsonl")).size();
  wait_until([&] { return lines_of(only_file(folder.path(), ".jsonl")).size() > before + 20; });
  process.signal(SIGINT);
  const Outcome outcome = process.wait();
  INFO(outcome.err);
  CHECK(outcome.code == 2);
  const json result = result_in(folder.path());
  CHECK(result["status"]["state"] == "aborted");
  CHECK(result["metrics"][0]["samples"].size() >= 20);
  CHECK(dropped_in(folder.path()) == 1);
}
