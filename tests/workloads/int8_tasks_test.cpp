// The tasks that offer int8, end to end: their targets, and what is refused.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/json_reader.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/task_runs.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kHome = HARNESS_SOURCE_DIR;

/// The rules of a task with other samples to calibrate by; null: none.
fs::path rules_with(const fs::path& folder, const std::string& task, const json& samples) {
  json rules = read_json_file(kHome / "rules" / (task + ".json"));
  if (samples.is_null()) {
    rules.erase("calibration");
  } else {
    rules["calibration"]["samples"] = samples;
  }
  fs::path file = folder / (task + ".json");
  std::ofstream(file) << rules;
  return file;
}

}  // namespace

TEST_CASE("int8 reaches each task's target, and is no fp32 in disguise", "[int8][long]") {
  const std::string task = GENERATE("classify", "detect", "segment", "embed", "sentiment");
  const TemporaryFolder folder;
  const Outcome outcome = run_task(task, folder.path(), {"--precision", "int8"});
  INFO(task << "\n" << outcome.err);
  REQUIRE(outcome.code == 0);
  const fs::path file = only_file(folder.path(), ".json");
  const json result = read_json(file);
  const json rules = read_json_file(kHome / "rules" / (task + ".json"));
  const double reached = result.at("/quality/value"_json_pointer);
  const double frozen = rules.at("/quality/fp32/value"_json_pointer);
  CHECK(reached >= rules.at("/quality/target"_json_pointer).get<double>());
  CHECK(reached != frozen);
  CHECK(result.at("/cost/precision"_json_pointer) == "int8");
  CHECK(result.at("/hyperparameters/int8_calibration_samples"_json_pointer) == "200");
  CHECK(run_harness({"validate", file.string()}).code == 0);
}

TEST_CASE("what detect-full leaves of its golden data in int8 is what validate asks for",
          "[int8][long]") {
  const TemporaryFolder folder;
  const Outcome outcome = run_task("detect-full", folder.path(), {"--precision", "int8"});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const Outcome checked = run_harness({"validate", only_file(folder.path(), ".json").string()});
  INFO(checked.out);
  CHECK(checked.code == 0);
  CHECK(checked.out.find("checks are not judged") == std::string::npos);
}

TEST_CASE("what is timed is int8, under steps and by LoadGen", "[int8][long]") {
  const TemporaryFolder folder;
  const auto answer = [&](const std::string& precision) {
    const fs::path out = folder / precision;
    REQUIRE(run_task("embed", out, {"--precision", precision}).code == 0);
    const json result = read_json(only_file(out, ".json"));
    for (const json& metric : result.at("metrics")) {
      if (metric.at("tag") == "loss.answer") return metric.at("/samples/0/value"_json_pointer);
    }
    return json();
  };
  const json wide = answer("fp32");
  REQUIRE(wide.is_number());
  CHECK(answer("int8") != wide);
  const json by_steps = read_json(only_file(folder / "int8", ".json")).at("quality").at("value");

  const fs::path out = folder / "loadgen";
  const Outcome outcome =
      run_harness({"run", "--workload", "embed", "--scenario", "single-stream", "--tier", "quick",
                   "--precision", "int8", "--threads", "1", "--out", out.string()});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = read_json(only_file(out, ".json"));
  CHECK(result.at("/quality/value"_json_pointer).get<double>() ==
        Approx(by_steps.get<double>()).epsilon(1e-6));
}

TEST_CASE("int8 without samples to calibrate by is refused in a line", "[int8]") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::string>& more) {
    ErrorParts parts = refusal_in(run_task("sentiment", folder / "out", more));
    fs::remove_all(folder / "out");
    return parts;
  };
  const std::string beyond = rules_with(folder.path(), "sentiment", {0, 5035}).string();
  CHECK(refused({"--precision", "int8", "--rules", beyond}).about ==
        "calibration sample 5035 of the rules");
  const std::string none = rules_with(folder.path(), "sentiment", nullptr).string();
  CHECK(refused({"--precision", "int8", "--rules", none}).about == "--precision int8");
  for (const json& wrong : {json::array(), json{-1}, json{1, 1}, json{0.5}, json{"first"}}) {
    const std::string file = rules_with(folder.path(), "sentiment", wrong).string();
    CHECK(refused({"--rules", file}).place().starts_with("/calibration/samples"));
  }
}
