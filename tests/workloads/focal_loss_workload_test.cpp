// End to end: the workload focal-loss on pictures small enough for a test.
#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

// Anchors of a 128x192 picture: 9 for each place of maps 16x24, 8x12, 4x6, 2x3 and 1x2.
constexpr double kAnchors = 9 * (16 * 24 + 8 * 12 + 4 * 6 + 2 * 3 + 1 * 2);

Outcome measure(const TemporaryFolder& folder, const std::string& cases,
                const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"run",
                                     "--workload",
                                     "focal-loss",
                                     "--set",
                                     "cases=" + cases,
                                     "--out",
                                     (folder / "out").string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_harness(arguments);
}

std::map<std::string, double> median_losses(const json& result) {
  std::map<std::string, double> losses;
  for (const json& metric : result["metrics"]) {
    const std::string tag = metric["tag"];
    if (tag.rfind("loss.", 0) == 0) losses[tag] = metric["summary"]["median"]["center"];
  }
  return losses;
}

}  // namespace

TEST_CASE("focal-loss times each case and checks loss and gradient in double precision",
          "[focal-loss]") {
  for (const char* precision : {"fp32", "bf16"}) {
    std::map<std::string, double> expected;
    for (const char* kernels : {"reference", "custom"}) {
      const TemporaryFolder folder;
      const Outcome outcome =
          measure(folder, "128x192x17,128x128x1",
                  {"--kernels", kernels, "--precision", precision, "--batch-size", "2"});
      CAPTURE(precision, kernels, outcome.err);
      REQUIRE(outcome.code == 0);
      const auto files = files_ending(folder / "out", ".json");
      REQUIRE(files.size() == 1);
      const auto& file = files.front();
      CHECK(run_harness({"validate", file.string()}).code == 0);
      const json result = json::parse(read_file(file, 64 << 20));
      CHECK(result["workload"]["division"] == "open");  // cases of one's own
      CHECK(result["quality"]["checks"].size() == 4);
      CHECK(result["quality"]["passed"] == true);
      CHECK(result["cost"]["step_flops"] == 0);
      const bool bf16 = std::string(precision) == "bf16";
      const double bytes = bf16 ? 2 : 4;
      CHECK(result["cost"]["phase_bytes"]["128x192x17"] == 2 * 2 * bytes * kAnchors * 17);
      CHECK(result["cost"]["achieved_flops_per_second"].is_null());
      const std::map<std::string, double> losses = median_losses(result);
      REQUIRE(losses.size() == 2);
      if (expected.empty()) expected = losses;
      for (const auto& [tag, loss] : losses) {
        CHECK(loss > 0);
        CHECK(loss == Approx(expected.at(tag)).epsilon(bf16 ? 1e-2 : 1e-5));
      }
    }
  }
}

TEST_CASE("focal-loss refuses cases that are none, too many or too large", "[focal-loss]") {
  const TemporaryFolder folder;
  check_one_error(measure(folder, ""), 1, "HEIGHTxWIDTHxCLASSES");
  check_one_error(measure(folder, "800x800"), 1, "HEIGHTxWIDTHxCLASSES");
  check_one_error(measure(folder, "800x800x0"), 1, "HEIGHTxWIDTHxCLASSES");
  check_one_error(measure(folder, "127x800x3"), 1, "HEIGHTxWIDTHxCLASSES");
  check_one_error(measure(folder, "128x128x3,,"), 1, "HEIGHTxWIDTHxCLASSES");
  check_one_error(measure(folder, "128x128x3,0128x128x3"), 1, "named twice");
  check_one_error(measure(folder, "4096x4096x100000"), 1, "memory");
}
