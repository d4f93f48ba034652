// The command that tries what was advised.
#include "harness/measure/advice_facts.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

/// What is advised where memory goes back to the system.
std::vector<Advice> pooled_memory() {
  Advice advice;
  advice.change = AdvisedChange{"allocator", "pooled"};
  return {advice};
}

}  // namespace

TEST_CASE("the command that tries advice measures what the profile was of", "[advice]") {
  const TemporaryFolder folder;
  json rules = read_json_file(home_folder() / "rules" / "null.json");
  rules["tiers"]["quick"]["warmup_steps"] = 1;
  std::ofstream(folder / "my rules.json") << rules;
  RunRequest request;
  request["workload"] = "null";
  request["rules"] = (folder / "my rules.json").string();
  request["allocator"] = "system";
  request["device"] = "cpu";
  request["batch_size"] = 4;
  request["threads"] = 1;
  request["seed"] = 7;
  request["tier"] = "standard";
  request["set"] = {"step-ms=2", "losses=1"};
  const std::string command = ablation_command(make_plan(request, home_folder()), pooled_memory());
  CAPTURE(command);
  for (const char* part :
       {"harness ablate --workload null --rules '", " --batch-size 4", " --threads 1",
        " --set step-ms=2", " --variants out-of-the-box,pooled --out ablation.json"}) {
    CHECK_THAT(command, Catch::Contains(part));
  }
  // What holds unasked, what the variants set, and what an ablation is not asked for.
  for (const char* part : {"losses", "--device", "--allocator", "--seed", "--tier"}) {
    CHECK_THAT(command, !Catch::Contains(part));
  }

  const std::string here = "exec '" + harness_program() + "'" + command.substr(command.find(' '));
  const Outcome outcome =
      Process({"-c", here + " --rounds 1 --clusters 1"}, {}, folder.path(), "bash").wait();
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  const json ablation = read_json_file(folder / "ablation.json");
  CHECK(ablation["workload"]["rules_file"] == "my rules.json");
  CHECK(ablation["settings"]["effective"]["batch_size"] == 4);
  CHECK(ablation["settings"]["requested"]["set"] == json::array({"step-ms=2"}));
}
