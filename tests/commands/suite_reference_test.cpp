// The suite results in results/reference/, which scores are against.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/check/checked_file.hpp"
#include "tests/support/process.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

TEST_CASE("the reference that is shipped counts under the rules that are", "[suite]") {
  const std::vector<std::string> files =
      result_files_below((home_folder() / "results" / "reference").string());
  CHECK_FALSE(files.empty());
  for (const std::string& file : files) {
    CAPTURE(file);
    CHECK(run_harness({"validate", file}).code == 0);
    const json suite = read_json_file(file);
    CHECK(suite["workload"]["division"] == "closed");
    for (const json& task : suite["tasks"]) {
      const json rules =
          read_json_file(home_folder() / "rules" / (task["workload"].get<std::string>() + ".json"));
      CHECK(task["run"]["rules_version"] == rules["version"]);
    }
  }
}
