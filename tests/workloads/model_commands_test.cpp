// What measures a task of ours measures one of somebody else's: lockstep, gate, ablate, profile.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/files_of_runs.hpp"
#include "tests/support/gate_outcome.hpp"
#include "tests/support/own_model.hpp"
#include "tests/support/process.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a task steps in lockstep when told", "[model][lockstep]") {
  const OwnModelRun own;
  const std::string orders =
      R"(printf '%s\n' '{"do":"step","count":2}' '{"do":"evaluate"}' '{"do":"finish"}')";
  std::string side = "'";
  side += harness_program() + "' run --lockstep --threads 1 --task '" + own.task_file() +
          "' --out '" + own.out().string() + "'";
  const Outcome outcome = Process({"-c", orders + " | " + side}, {}, {}, "bash").wait();
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  const std::vector<std::string> said = text_lines(outcome.out);
  REQUIRE(said.size() == 3);
  CHECK(json::parse(said[0]).at("lockstep") == 1);
  CHECK(json::parse(said[1]).at("seconds").size() == 2);
  CHECK(json::parse(said[2]).at("quality").at("value") == 1);
  CHECK(own.result().at("/workload/lockstep"_json_pointer) == true);
}

TEST_CASE("two models under one task are held against each other in lockstep",
          "[model][gate][long]") {
  const OwnModelRun own;
  const OwnModelRun other(
      "def forward(self, x):\n    return x.flatten(1) @ self.weight + 1.0 * self.bias");
  const auto side = [](const OwnModelRun& one) {
    return harness_program() + " run --threads 1 --task " + one.task_file();
  };
  const TemporaryFolder folder;
  const Outcome outcome = gate(
      folder, side(own), side(other),
      {"--pairs", "14", "--metric", "time.step", "--on-inconclusive", "pass", "--allow-debug"});
  CAPTURE(outcome.out, outcome.err);
  // What so few clusters of so short steps say is for the machine to choose.
  CHECK((outcome.code == 0 || outcome.code == 4));
  const json report = json::parse(outcome.out);
  CHECK(report.at("forbidding").empty());
  CHECK(row_of(report, "time.step").at("n") > 0);
  CHECK(fs::exists(folder / "out" / "campaign.jsonl"));
}

TEST_CASE("the variants of a task step in turn", "[model][ablate]") {
  const OwnModelRun own;
  const std::string file = (own / "ablation.json").string();
  const Outcome outcome =
      run_harness({"ablate", "--task", own.task_file(), "--threads", "1", "--variants",
                   "out-of-the-box,pooled", "--rounds", "2", "--clusters", "1", "--out", file});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json ablation = read_json(file);
  CHECK(ablation.at("/workload/rules_file"_json_pointer) == "task.json");
  REQUIRE(ablation.at("variants").size() == 2);
  for (const json& variant : ablation.at("variants")) {
    CHECK(variant.at("turns").size() == 2);
    CHECK(variant.at("quality_passed") == true);
  }
  CHECK(run_harness({"validate", file}).code == 0);
}

TEST_CASE("a task is profiled, and advised on with a command that runs", "[model][profile][long]") {
  // Memory that the C library takes from the system and gives back at each query: worth a pool.
  const OwnModelRun own(
      "def forward(self, x):\n    zeros = torch.zeros([x.size(1) << 25])\n"
      "    return x.flatten(1) @ self.weight + zeros[0]");
  const std::string out = own.out().string();
  const Outcome profiled = run_harness({"profile", "--task", own.task_file(), "--threads", "1",
                                        "--allocator", "system", "--out", out});
  CAPTURE(profiled.out, profiled.err);
  REQUIRE(profiled.code == 0);
  const std::string file = only_file(out, ".json").string();
  CHECK_FALSE(read_json(file).at("/profile/operators"_json_pointer).empty());
  CHECK(run_harness({"validate", file}).code == 0);

  const Outcome advised = run_harness({"advise", file, "--json"});
  CAPTURE(advised.out, advised.err);
  REQUIRE(advised.code == 0);
  const std::string command = json::parse(advised.out).at("try_command");
  CAPTURE(command);
  CHECK_THAT(command, Catch::Contains(" --task " + own.task_file() + " "));
  CHECK_THAT(command, Catch::EndsWith(" --variants out-of-the-box,pooled --out ablation.json"));
  const Outcome tried =
      Process({"-c", command + " --rounds 1 --clusters 1"}, {}, out, "bash").wait();
  CAPTURE(tried.out, tried.err);
  CHECK(tried.code == 0);
  CHECK(fs::exists(own.out() / "ablation.json"));
}
