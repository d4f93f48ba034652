// End to end: a campaign that was stopped goes on, and one that cannot tell gets another night.
#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scripted_side.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

/// A side in lockstep that tells a time; it counts its starts in `starts`.
std::string counted(const std::string& seconds) {
  return R"(echo start >>starts; echo '{"lockstep":1,"name":"told","unit":"step"}'; )"
         R"(while read -r line; do case $line in *finish*) exit 0;; )"
         R"(*evaluate*) echo '{"quality":null}';; *) )" +
         answer_told(seconds) + ";; esac; done";
}

/// Their times are told; what a turn takes beyond them, or a start, is the machine's.
std::vector<std::string> lockstep_gate(const std::string& baseline, const std::string& candidate,
                                       std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"gate", "--lockstep", "--ab-base", baseline, "--ab-cand", candidate, "--out",
               "campaign", "--pairs", "16", "--format", "json", "--metric", "time.step"});
  return more;
}

Outcome resume(const fs::path& folder, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"gate", "--resume", "campaign", "--format", "json"});
  return run_harness(more, {}, folder);
}

std::size_t starts_in(const fs::path& folder) {
  const std::string text = read_file(folder / "starts", 1 << 20);
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// The clusters in a campaign's file, each number once.
std::set<int> clusters_in(const fs::path& folder) {
  std::set<int> clusters;
  for (const json& object : lines_of(folder / "campaign" / "campaign.jsonl")) {
    if (object.contains("cluster")) CHECK(clusters.insert(object.at("cluster").get<int>()).second);
  }
  return clusters;
}

}  // namespace

TEST_CASE("a campaign in lockstep goes on where it was killed", "[gate][lockstep][resume][cli]") {
  const TemporaryFolder folder;
  Process process(lockstep_gate(counted("0.0001"), counted("0.0001")), {}, folder.path());
  const fs::path file = folder / "campaign" / "campaign.jsonl";
  wait_until([&] { return fs::exists(file) && lines_of(file).size() >= 4; });
  check_one_error(resume(folder.path()), 1, "another gate is at work");
  process.signal(SIGKILL);
  process.wait();
  const std::set<int> before = clusters_in(folder.path());
  // As a kill in the middle of a line would leave it.
  std::ofstream(file, std::ios::app) << R"({"cluster":9,"sides":)";
  const Outcome outcome = resume(folder.path(), {"--metric", "time.step"});
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  const std::set<int> after = clusters_in(folder.path());
  CHECK_THAT(outcome.err, Catch::Contains("was cut off in its last line: it keeps "));
  CHECK(after.size() > before.size());
  CHECK(*after.rbegin() == static_cast<int>(after.size()));
  CHECK(json::parse(outcome.out).at("rows").at(0).at("verdict") == "same");
  // One that has ended tells its verdict again and measures nothing.
  const std::size_t starts = starts_in(folder.path());
  CHECK(resume(folder.path(), {"--metric", "time.step"}).code == 0);
  CHECK(starts_in(folder.path()) == starts);

  check_one_error(
      run_harness({"gate", "--resume", "campaign", "--ab-base", "x"}, {}, folder.path()), 1,
      "--ab-base: is as the campaign began");
  check_one_error(resume(folder.path(), {"--pairs", "20"}), 1,
                  "--pairs 20: the plan of the campaign has 16");
  CHECK(resume(folder.path(), {"--pairs", "16", "--metric", "time.step"}).code == 0);
  // A verdict that was damaged is named by the report, and made again.
  const fs::path verdict = folder / "campaign" / "verdict.jsonl";
  const std::string whole = read_file(verdict, 1 << 20);
  std::ofstream(verdict) << whole.substr(0, whole.size() / 2);
  check_one_error(run_harness({"report", "campaign"}, {}, folder.path()), 1,
                  "gate --resume " + (folder / "campaign").string());
  CHECK(resume(folder.path(), {"--metric", "time.step"}).code == 0);
  CHECK(run_harness({"report", "campaign"}, {}, folder.path()).code == 0);
  CHECK(starts_in(folder.path()) == starts);
  const std::string text = read_file(file, 1 << 24);
  std::ofstream(file) << "{\"cluster\":1}\n";
  check_one_error(resume(folder.path()), 1, "is no cluster");
  std::ofstream(file) << text.substr(0, text.size() / 2) << "\n";
  CHECK(resume(folder.path()).code == 1);
  // Another program than the one that was begun with.
  std::string other = text;
  other.replace(other.rfind("\"told"), 5, "\"else");
  std::ofstream(file) << other;
  check_one_error(resume(folder.path()), 1, "start a new campaign");
  // The rules have changed since.
  std::ofstream(file) << text;
  const fs::path plan = folder / "campaign" / "plan.jsonl";
  json document = json::parse(read_file(plan, 1 << 20));
  document["rules_sha256"] = "other";
  std::ofstream(plan) << document.dump() << "\n";
  check_one_error(resume(folder.path()), 1, "another rules/gate.json");
}

TEST_CASE("an inconclusive campaign gets another night if it was to be pooled",
          "[gate][lockstep][resume][cli][long]") {
  // Slower in every other start: the median may lie on either side of the margin. Both sides count
  // their starts, or the one that does would take longer to be ready and be red for that.
  const auto side = [](const std::string& name, const std::string& in_every_other) {
    return "echo >>" + name + "; s=0.0001; [ $(($(wc -l <" + name +
           ") % 2)) = 0 ] && s=" + in_every_other + "; " + counted("$s");
  };
  const TemporaryFolder folder;
  const std::vector<std::string> gate =
      lockstep_gate(side("base", "0.0001"), side("own", "0.000103"), {"--pool"});
  CHECK(run_harness(gate, {}, folder.path()).code == 5);
  const std::size_t first = clusters_in(folder.path()).size();
  CHECK(resume(folder.path(), {"--pairs", "16", "--metric", "time.step"}).code == 5);
  CHECK(clusters_in(folder.path()).size() == first + 16);
}

TEST_CASE("whole runs go on, too", "[gate][resume][cli][long]") {
  const std::string run = harness_program() + " run --workload null --set step-ms=5";
  for (const std::string& command : {std::string("sleep 0.03"), run}) {
    CAPTURE(command);
    const TemporaryFolder folder;
    Process process({"gate", "--ab-base", command, "--ab-cand", command, "--whole", "--out",
                     "campaign", "--pairs", "16", "--allow-debug"},
                    {}, folder.path());
    wait_until([&] { return fs::exists(folder / "campaign/candidate/004.txt"); });
    // A run that is killed leaves samples and no result.
    const int signal = command == run ? SIGKILL : SIGINT;
    process.signal(signal);
    CHECK(process.wait().code == (signal == SIGINT ? 2 : 128 + SIGKILL));
    const Outcome outcome = resume(folder.path(), {"--allow-debug", "--on-inconclusive", "pass"});
    CAPTURE(outcome.out, outcome.err);
    CHECK((outcome.code == 0 || outcome.code == 4));
    const json report = json::parse(outcome.out);
    const auto pairs = report.at("rows").at(0).at("n").get<int>();
    CHECK(pairs >= 5);
    CHECK(fs::exists(folder / "campaign/candidate/005.txt"));
  }
}

TEST_CASE("the line to go on by judges as the campaign would have been",
          "[gate][lockstep][resume][cli][long]") {
  const TemporaryFolder folder;
  // Slower than the margin: red without what the line repeats, which looks at another metric.
  std::vector<std::string> begin =
      lockstep_gate(counted("0.0001"), counted("0.000105"),
                    {"--on-inconclusive", "pass", "--also", "json=two words.json"});
  std::replace(begin.begin(), begin.end(), std::string("time.step"), std::string("time.start"));
  Process process(begin, {}, folder.path());
  const fs::path file = folder / "campaign" / "campaign.jsonl";
  wait_until([&] { return fs::exists(file) && lines_of(file).size() >= 4; });
  process.signal(SIGINT);
  const Outcome stopped = process.wait();
  CAPTURE(stopped.err);
  CHECK(stopped.code == 2);
  const std::size_t at = stopped.err.rfind("(go on: ");
  REQUIRE(at != std::string::npos);
  std::string line = stopped.err.substr(at + 8);
  line.erase(line.rfind(')'));
  CHECK(line == harness_program() + " gate --resume " + (folder / "campaign").string() +
                    " --pairs 16 --format json --metric time.start --on-inconclusive pass --also "
                    "'json=two words.json'");
  const Outcome again = Process({"-c", "exec " + line}, {}, folder.path(), "bash").wait();
  CAPTURE(again.out, again.err);
  CHECK(again.code == 0);
  const json kept = json::parse(read_file(folder / "two words.json", 1 << 20));
  CHECK(kept.at("rows").size() == 1);
  CHECK(kept.at("rows").at(0).at("metric") == "time.start");
}

TEST_CASE("what is no campaign is not gone on with", "[gate][resume][cli]") {
  const TemporaryFolder folder;
  check_one_error(resume(folder.path()), 1, "campaign: holds no campaign to go on with");
}
