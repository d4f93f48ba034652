// `harness bench`: commands in turns, whole and in lockstep.
#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/lockstep/bench.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::vector<std::string> bench(const TemporaryFolder& folder, std::vector<std::string> more) {
  more.insert(more.begin(), {"bench", "--out", (folder / "out").string()});
  return more;
}

std::vector<json> json_lines(const fs::path& file) {
  std::vector<json> lines;
  for (const std::string& line : split(read_file(file, 1 << 24), '\n')) {
    if (!line.empty()) lines.push_back(json::parse(line));
  }
  return lines;
}

}  // namespace

TEST_CASE("whole commands take turns, and the longer one is found", "[bench][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome = run_harness(
      bench(folder, {"--json", "--rounds", "8", "--name", "short", "sleep 0.02", "sleep 0.2"}));
  REQUIRE(outcome.code == 0);
  const json found = json::parse(outcome.out);
  CHECK(found.at("complete") == true);
  const json& sides = found.at("sides");
  REQUIRE(sides.size() == 2);
  CHECK(sides[0].at("name") == "short");
  CHECK(sides[1].at("name") == "B");
  CHECK(sides[0].at("seconds").size() == 8);
  CHECK(sides[1].at("median_seconds") >= 0.2);
  CHECK(sides[0].at("ratio_to_first").at("center") == 1);
  CHECK(sides[1].at("ratio_to_first").at("high") < 1);
  const std::vector<json> lines = json_lines(folder / "out" / "bench.jsonl");
  REQUIRE(lines.size() == 17);
  // A B, B A, ...
  CHECK(lines[1].at("side") == "short");
  CHECK(lines[2].at("side") == "B");
  CHECK(lines[3].at("side") == "B");
  CHECK(lines[4].at("place") == 2);
}

TEST_CASE("commands are prepared and warmed up untimed", "[bench][cli]") {
  const TemporaryFolder folder;
  const std::string log = (folder / "log").string();
  const Outcome outcome =
      run_harness(bench(folder, {"--csv", "--rounds", "2", "--warmup", "1", "--prepare",
                                 "echo p >>" + log, "echo a >>" + log, "echo b >>" + log}));
  REQUIRE(outcome.code == 0);
  CHECK(read_file(log, 1000) == "p\na\np\nb\np\na\np\nb\np\nb\np\na\n");
  CHECK(outcome.out.starts_with("name,command,unit,n,"));
  CHECK(split(outcome.out, '\n').size() == 4);
}

TEST_CASE("resident sides are told apart by their steps", "[bench][cli][long]") {
  const TemporaryFolder folder;
  const auto side = [&](const std::string& ms) {
    return harness_program() + " run --workload null --lockstep --set step-ms=" + ms + " --out " +
           (folder / ms).string();
  };
  const Outcome outcome = run_harness(bench(
      folder, {"--lockstep", "--json", "--clusters", "6", "--rounds", "4", side("2"), side("10")}));
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const json found = json::parse(outcome.out);
  const json& slower = found.at("sides")[1];
  CHECK(slower.at("unit") == "step");
  CHECK(slower.at("seconds").size() == 6);
  CHECK(slower.at("ratio_to_first").at("high") < 1);
  const std::vector<json> lines = json_lines(folder / "out" / "bench.jsonl");
  REQUIRE(lines.size() == 7);
  CHECK(lines[1].at("sides")[0].at("turns").size() == 4);
  // Its result lies where it was told to, one a start.
  CHECK(std::distance(fs::directory_iterator(folder / "10"), fs::directory_iterator()) >= 6);
}

TEST_CASE("what bench cannot do it says in one line", "[bench][cli]") {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> cases = {
      {"true"},
      {},
      {"true", "false"},
      {"true", "no-such-command-here"},
      {"--name", "a", "--name", "a", "true", "true"},
      {"--name", "a/b", "true", "true"},
      {"--clusters", "3", "true", "true"},
      {"--rounds", "0", "true", "true"},
      {"--prepare", "false", "true", "true"},
      {"--lockstep", "--warmup", "3", "true", "true"},
      {"--lockstep", "true", "true"},
      {"--csv", "--json", "true", "true"}};
  for (const std::vector<std::string>& arguments : cases) {
    INFO(join(arguments, " "));
    const TemporaryFolder fresh;
    const Outcome outcome = run_harness(bench(fresh, arguments));
    CHECK(outcome.code == 1);
    CHECK(outcome.err.starts_with("harness: "));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
    CHECK(outcome.out.empty());
  }
  const Outcome ignoring =
      run_harness(bench(folder, {"--ignore-failure", "--rounds", "2", "false", "true"}));
  CHECK(ignoring.code == 0);
  CHECK_THAT(ignoring.out, Catch::Contains("6 rounds give an interval"));
}

TEST_CASE("a command that fails later loses no time measured before", "[bench][cli]") {
  const TemporaryFolder folder;
  const std::string counter = (folder / "count").string();
  const std::string fails_at_last =
      "echo x >> '" + counter + "'; test $(wc -l < '" + counter + "') -lt 5";
  const Outcome outcome = run_harness(bench(folder, {"--rounds", "20", "true", fails_at_last}));
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err,
             Catch::Contains("harness: ") && Catch::Contains("ended with exit code 1"));
  CHECK_THAT(outcome.out, Catch::Contains("rounds give an interval"));
}

TEST_CASE("a row of the table follows from the times", "[bench]") {
  BenchTimes times{.name = "b", .seconds = {2, 2.2, 1.8, 2.1, 1.9, 2.0, 2.3, 1.7}};
  for (const double seconds : times.seconds) times.ratios.push_back(1 / seconds);
  BenchRow row = row_of(times);
  CHECK(row.n == 8);
  CHECK(row.median == Approx(2));
  CHECK(row.min == 1.7);
  CHECK(row.max == 2.3);
  CHECK(row.ratio.center == Approx(0.5).epsilon(0.01));
  REQUIRE(row.ratio.high);
  CHECK(*row.ratio.high < 1);
  CHECK_FALSE(row.more.has_value());
  // A small difference in much noise needs more.
  times.ratios = {0.9, 1.1, 1.02, 1.0, 1.05, 0.95, 1.04, 1.03};
  row = row_of(times);
  REQUIRE(row.more.has_value());
  CHECK(*row.more > 0);
  // None in sight where there is no difference.
  times.ratios = {0.9, 1.1, 1.0, 1.0, 1.0, 1.0, 0.95, 1.05};
  CHECK_FALSE(row_of(times).more.has_value());
}
