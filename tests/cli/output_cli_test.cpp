// Results on standard output for other programs, and what is asked for on the command line.
#include <algorithm>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/base/files.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

Outcome run_null(const fs::path& out, const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"run",       "--workload", "null",      "--set",
                                        "step-ms=0", "--out",      out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_harness(arguments);
}

std::string file_text(const fs::path& folder) {
  const std::vector<fs::path> files = files_ending(folder, ".json");
  REQUIRE(files.size() == 1);
  return read_file(files.front(), 64 << 20);
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// How many lines begin so.
std::ptrdiff_t count_lines(const std::string& text, const std::string& beginning) {
  const std::vector<std::string> lines = lines_in(text);
  return std::count_if(lines.begin(), lines.end(),
                       [&](const std::string& line) { return line.starts_with(beginning); });
}

}  // namespace

TEST_CASE("run --json prints the file and nothing else", "[cli][output]") {
  const TemporaryFolder out;
  const Outcome outcome = run_null(out.path(), {"--json"});
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.out == file_text(out.path()));
  CHECK_THAT(outcome.err, Catch::Contains("result   "));
  // The exit code is the one without --json.
  const TemporaryFolder missed;
  const Outcome bad = run_null(missed.path(), {"--json", "--set", "quality=0.4"});
  CHECK(bad.code == 3);
  CHECK(json::parse(bad.out)["status"]["state"] == "invalid");
}

TEST_CASE("run --json of a series is one array", "[cli][output]") {
  const TemporaryFolder out;
  const Outcome outcome = run_null(out.path(), {"--json", "--runs", "2"});
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  const json document = json::parse(outcome.out);
  REQUIRE(document.size() == 2);
  CHECK(document[0]["identity"]["run_index"] == 1);
  CHECK(document[1]["identity"]["run_index"] == 2);
  for (const fs::path& file : files_ending(out.path(), ".json")) {
    const json content = json::parse(read_file(file, 64 << 20));
    CHECK(document[content["identity"]["run_index"].get<std::size_t>() - 1] == content);
  }
}

TEST_CASE("run --csv prints a row for each metric, of a series under one header", "[cli][output]") {
  const TemporaryFolder out;
  const Outcome one = run_null(out / "one", {"--csv"});
  CAPTURE(one.err);
  CHECK(one.code == 0);
  CHECK_THAT(one.out, Catch::StartsWith("name,unit,direction,n,median,p25,p75,"));
  CHECK(count_lines(one.out, "time.step,s,lower,20,") == 1);
  CHECK_THAT(one.out, !Catch::Contains("status   "));
  const Outcome two = run_null(out / "two", {"--csv", "--runs", "2"});
  CHECK(two.code == 0);
  CHECK(count_lines(two.out, "name,unit") == 1);
  CHECK(count_lines(two.out, "time.step,s,") == 2);
  CHECK(lines_in(two.out).size() == 2 * lines_in(one.out).size() - 1);
  check_one_error(run_null(out / "three", {"--csv", "--json"}), 1, "given together");
}

TEST_CASE("ablate, compare and report speak JSON and CSV", "[cli][output]") {
  const TemporaryFolder out;
  const fs::path file = out / "ablation.json";
  const std::vector<std::string> ablate = {"ablate",      "--workload", "null", "--variants",
                                           "pooled,bf16", "--rounds",   "1",    "--clusters",
                                           "1",           "--out"};
  std::vector<std::string> arguments = ablate;
  arguments.insert(arguments.end(), {file.string(), "--json"});
  const Outcome ablation = run_harness(arguments);
  CAPTURE(ablation.err);
  CHECK(ablation.code == 0);
  CHECK(ablation.out == read_file(file, 64 << 20));
  arguments = ablate;
  arguments.insert(arguments.end(), {(out / "again.json").string(), "--csv"});
  const std::string variants = run_harness(arguments).out;
  CHECK(count_lines(variants, "variant,precision,") == 1);
  CHECK(count_lines(variants, "pooled,fp32,pooled,") == 1);
  CHECK(count_lines(variants, "bf16,bf16,") == 1);

  REQUIRE(run_null(out / "a", {}).code == 0);
  REQUIRE(run_null(out / "b", {}).code == 0);
  const std::string sides[] = {(out / "a").string(), (out / "b").string()};
  const Outcome compared = run_harness({"compare", sides[0], sides[1], "--csv"});
  CHECK(compared.code == 0);
  CHECK(count_lines(compared.out, "name,unit,side,") == 1);
  CHECK(count_lines(compared.out, "time.step,s,") == 2);
  CHECK(json::parse(run_harness({"compare", sides[0], sides[1], "--json"}).out)["runs"].size() ==
        2);

  const Outcome listed = run_harness({"report", out.path().string(), "--json"});
  CAPTURE(listed.out);
  CHECK(listed.code == 0);
  const json report = json::parse(listed.out);
  CHECK(report["results"].size() == 4);
  CHECK(report["results"][0]["kind"] == "run");
  CHECK(report["results"][0]["headline"]["name"] == "time.step");
  CHECK(report["results"][0]["headline"]["value"].is_number());
  const std::string rows = run_harness({"report", out.path().string(), "--csv"}).out;
  CHECK(count_lines(rows, "name,unit,direction,") == 1);
  CHECK(count_lines(rows, "time.step,s,lower,20,") == 2);
  CHECK(count_lines(rows, "time.step,s,lower,1,") == 4);  // two variants in each ablation
  check_one_error(run_harness({"report", sides[0], "--json", "-o", (out / "page.html").string()}),
                  1, "given with --json or --csv");
}

TEST_CASE("files that are not sound stay seen in report --json and --csv", "[cli][output]") {
  const TemporaryFolder out;
  REQUIRE(run_null(out.path(), {}).code == 0);
  std::string text = file_text(out.path());
  text.replace(text.find("\"threads\": "), 11, "\"threads\":  1");
  write_file_atomically(out / "altered.json", text);
  const Outcome listed = run_harness({"report", out.path().string(), "--json"});
  CHECK(listed.code == 1);
  const json report = json::parse(listed.out);
  std::size_t problems = 0;
  for (const json& one : report["results"]) problems += one["problems"].size();
  for (const json& one : report["rejected"]) problems += one["problems"].size();
  CHECK(problems > 0);
  const Outcome rows = run_harness({"report", out.path().string(), "--csv"});
  CHECK(rows.code == 1);
  CHECK_THAT(rows.err, Catch::Contains("altered.json"));
}

TEST_CASE("lengths by --steps and --min-seconds replace the tier's length, as departures",
          "[cli][steps]") {
  const TemporaryFolder out;
  const Outcome outcome = run_null(out / "a", {"--steps", "5"});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("status   valid"));
  const json result = json::parse(file_text(out / "a"));
  CHECK(result["settings"]["requested"]["steps"] == 5);
  CHECK(result["settings"]["effective"]["min_steps"] == 5);
  CHECK(result["workload"]["division"] == "open");
  REQUIRE(result["workload"]["departures"].size() == 1);
  CHECK(result["workload"]["departures"][0]["path"] == "/settings/effective/min_steps");
  const std::string file = files_ending(out / "a", ".json").at(0).string();
  CHECK(run_harness({"validate", file}).code == 0);

  REQUIRE(run_harness({"run", "--from", file, "--out", (out / "b").string()}).code == 0);
  const json again = json::parse(file_text(out / "b"));
  CHECK(again["settings"]["effective"] == result["settings"]["effective"]);
  CHECK(again["settings"]["requested"]["steps"] == 5);
  CHECK(again["workload"]["departures"] == result["workload"]["departures"]);

  // Steps of no length would come to the most one result holds before the time is over.
  REQUIRE(run_harness({"run", "--workload", "null", "--set", "step-ms=1", "--set", "losses=1",
                       "--min-seconds", "0.05", "--out", (out / "c").string()})
              .code == 0);
  const json timed = json::parse(file_text(out / "c"));
  CHECK(timed["settings"]["effective"]["min_seconds"] == 0.05);
  CHECK(timed["settings"]["effective"]["min_steps"] == 1);
  CHECK(timed["workload"]["departures"].size() == 2);
}

TEST_CASE("lengths that make no sense are refused", "[cli][steps]") {
  const TemporaryFolder out;
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    check_one_error(run_null(out.path(), more), 1, part);
  };
  refused({"--steps", "5", "--division", "closed"}, "--division closed");
  refused({"--steps", "0"}, "--steps 0: too small: at least 1");
  refused({"--steps", "99999999999999999999"}, "too large: at most 100000");
  refused({"--min-seconds", "-1"}, "--min-seconds -1: too small: at least 0");
  refused({"--min-seconds", "601"}, "too large: at most 600");
  refused({"--steps", "5", "--dry-run"}, "a dry run has a length of its own");
  refused({"--steps", "5", "--tier", "training"}, "scenario 'epochs' has another length");
  CHECK(files_ending(out.path(), ".json").empty());
}

TEST_CASE("a setting is given once, and --from may be overridden", "[cli][output]") {
  const TemporaryFolder out;
  check_one_error(run_null(out.path(), {"--set", "losses=1", "--set", "losses=2"}), 1,
                  "--set losses=2: 'losses' is given twice");
  check_one_error(
      run_harness({"ablate", "--workload", "null", "--set", "losses=1", "--set", "losses=1"}), 1,
      "'losses' is given twice");
  REQUIRE(run_null(out / "a", {"--set", "losses=3"}).code == 0);
  const std::string file = files_ending(out / "a", ".json").at(0).string();
  CHECK(run_harness({"run", "--from", file, "--set", "losses=2", "--out", (out / "b").string()})
            .code == 0);
  CHECK(json::parse(file_text(out / "b"))["settings"]["effective"]["set"]["losses"] == "2");
}

TEST_CASE("numbers that are too large are told so", "[cli][output]") {
  const std::string huge = "99999999999999999999";
  const auto refused = [&](const std::vector<std::string>& more, const std::string& part) {
    std::vector<std::string> arguments = {"run", "--workload", "null"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    check_one_error(run_harness(arguments), 1, part);
  };
  refused({"--runs", huge}, "--runs " + huge + ": too large: at most 1000");
  refused({"--seed", huge}, "too large: at most 4294967295");
  refused({"--batch-size", huge}, "too large: at most 2147483647");
  refused({"--threads", huge}, "too large: at most 1000000");
  refused({"--pause", "1e999"}, "too large: at most 86400");
  refused({"--max-epochs", huge}, "too large: at most 100000");
  refused({"--quality-target", "1e999"}, "too large: at most 1.79");
  refused({"--set", "losses=1e999"}, "too large: at most 1.79");
  refused({"--cpus", huge}, "goes beyond CPU");
  check_one_error(run_harness({"ablate", "--workload", "null", "--rounds", huge}), 1,
                  "too large: at most 1000");
  check_one_error(run_harness({"gate", "--ab-base", "a", "--ab-cand", "b", "--pairs", huge}), 1,
                  "too large: at most 10000");
}
