// What the program says of itself.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/files_of_runs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

const std::vector<std::string> kCommands = {"list",    "doctor",  "run",       "suite",  "ablate",
                                            "profile", "project", "advise",    "verify", "validate",
                                            "compare", "gate",    "check-log", "report", "submit"};

}  // namespace

TEST_CASE("the first screen proposes a first result in a second", "[cli][help]") {
  const Outcome help = run_harness({"--help"});
  CHECK(help.code == 0);
  CHECK(badly_set(help.out, 100).empty());
  CHECK_THAT(help.out, Catch::Contains("harness run --workload null\n"));
  CHECK(help.out.find("--workload null") < help.out.find("--workload NAME ("));
  for (const std::string& command : kCommands) {
    CHECK_THAT(help.out, Catch::Contains("\n  " + command + " "));
  }
  const Outcome bare = run_harness({});
  CHECK(bare.code == 1);
  CHECK(bare.out == help.out);
}

TEST_CASE("help COMMAND is COMMAND --help", "[cli][help]") {
  for (const std::string& command : kCommands) {
    const Outcome help = run_harness({"help", command});
    CAPTURE(command, help.err);
    CHECK(help.code == 0);
    CHECK(help.out == run_harness({command, "--help"}).out);
  }
  CHECK(run_harness({"help"}).out == run_harness({"--help"}).out);
  CHECK(run_harness({"help", "help"}).out == run_harness({"--help"}).out);
  check_one_error(run_harness({"help", "nonsense"}), 1, "command 'nonsense': unknown (known: ");
  check_one_error(run_harness({"help", "rnu"}), 1, "did you mean run?");
  check_one_error(run_harness({"help", "run", "gate"}), 1, "argument 'gate': not expected");
}

TEST_CASE("each --help ends with examples and exit codes", "[cli][help]") {
  for (const std::string& command : kCommands) {
    const std::string text = run_harness({command, "--help"}).out;
    CAPTURE(text);
    CHECK(badly_set(text, 100).empty());
    const std::size_t examples = text.find("\nExamples:\n  harness " + command);
    const std::size_t codes = text.find("\nExit codes:\n  0  done");
    CHECK(examples != std::string::npos);
    CHECK(codes != std::string::npos);
    CHECK(examples < codes);
    CHECK_THAT(text, Catch::Contains("\n  1  a mistake in the command line"));
    // Only the gate judges by regressions.
    CHECK((text.find("\n  4  ") != std::string::npos) == (command == "gate"));
  }
}

TEST_CASE("list NAME shows one workload or one kernel", "[cli][help]") {
  const std::string workload = run_harness({"list", "null"}).out;
  CHECK_THAT(workload, Catch::Contains("WORKLOADS") && Catch::Contains("\nnull\n"));
  CHECK_THAT(workload, !Catch::Contains("KERNELS"));
  const std::string kernel = run_harness({"list", "nothing"}).out;
  CHECK_THAT(kernel, Catch::StartsWith("KERNELS") && Catch::Contains("\nnothing\n"));
  CHECK_THAT(kernel, !Catch::Contains("WORKLOADS"));
  const json document = json::parse(run_harness({"list", "null", "--json"}).out);
  REQUIRE(document["workloads"].size() == 1);
  CHECK(document["workloads"][0]["name"] == "null");
  CHECK(document["kernels"].empty());
  check_one_error(run_harness({"list", "nul"}), 1, "did you mean null");
  check_one_error(run_harness({"list", "epoch"}), 1, "did you mean epochs");
  check_one_error(run_harness({"list", "null", "nothing"}), 1, "takes one name");
}
