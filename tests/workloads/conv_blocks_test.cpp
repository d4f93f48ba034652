// End to end: the workload conv-blocks on shapes small enough for a test.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "kernels/convolution/convolution.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace own = harness::kernels;
namespace fs = std::filesystem;

namespace {

// One block of each kind: norm, groups, residual, bias, frozen.
constexpr const char* kShapes =
    "--dir=FWD_D --attr-post-ops=mul:f32:per_oc+add:f32:per_oc+relu\n"
    "g32mb1ic256ih9iw7oc256oh9ow7kh3ph1n\"grouped*3\"\n"
    "--attr-post-ops=mul:f32:per_oc+add:f32:per_oc+add:f32:per_tensor+relu\n"
    "mb1ic32ih9oc64n\"residual\"\n"
    "--reset --dir=FWD_B mb1ic16ih8oc24kh3ph1sh2n\"output\"\n"
    "--dir=FWD_I --attr-post-ops=relu mb1ic3ih20oc16kh7sh2ph3n\"frozen\"\n";

Outcome measure(const TemporaryFolder& folder, const std::vector<std::string>& more,
                const std::string& shapes = kShapes, const char* command = "run") {
  std::ofstream(folder / "shapes.txt") << shapes;
  std::vector<std::string> arguments{command,
                                     "--workload",
                                     "conv-blocks",
                                     "--set",
                                     "shapes=" + (folder / "shapes.txt").string(),
                                     "--out",
                                     (folder / "out").string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_harness(arguments);
}

fs::path result_file(const TemporaryFolder& folder) {
  for (const auto& entry : fs::directory_iterator(folder / "out")) {
    if (entry.path().extension() == ".json") return entry.path();
  }
  FAIL("no result");
  return {};
}

}  // namespace

TEST_CASE("conv-blocks times each pass of each block and checks it in double precision",
          "[conv-blocks]") {
  for (const char* precision : {"fp32", "bf16"}) {
    for (const char* kernels : {"reference", "custom"}) {
      const TemporaryFolder folder;
      const Outcome outcome = measure(folder, {"--kernels", kernels, "--precision", precision});
      CAPTURE(precision, kernels, outcome.err);
      REQUIRE(outcome.code == 0);
      const fs::path file = result_file(folder);
      CHECK(run_harness({"validate", file.string()}).code == 0);
      const json result = json::parse(read_file(file, 64 << 20));
      CHECK(result["workload"]["division"] == "open");  // shapes of one's own
      // 3 a trained block, 1 for the frozen one and 1 for the only bias.
      CHECK(result["quality"]["checks"].size() == 11);
      CHECK(result["quality"]["passed"] == true);
      CHECK(result["cost"]["phase_flops"].size() == 10);
      CHECK(result["cost"]["phase_flops"]["grouped.backward-weights"] == 2 * 63 * 256 * 8 * 9);
      std::vector<std::string> tags;
      for (const json& metric : result["metrics"]) tags.push_back(metric["tag"]);
      for (const char* tag : {"time.phase.grouped.forward", "time.phase.residual.backward-data",
                              "time.phase.output.backward-weights", "time.phase.frozen.forward"}) {
        CHECK(std::count(tags.begin(), tags.end(), tag) == 1);
      }
      CHECK(std::count(tags.begin(), tags.end(), "time.phase.frozen.backward-data") == 0);
      // Without AVX-512 oneDNN has none in bf16, and the custom block is the reference.
      const bool custom =
          std::string(kernels) == "custom" &&
          (std::string(precision) == "fp32" || own::onednn_instruction_set().starts_with("avx512"));
      CHECK(std::count(tags.begin(), tags.end(), "time.stage.pack") == (custom ? 1 : 0));
      CHECK(std::count(tags.begin(), tags.end(), "time.stage.convolution") == (custom ? 1 : 0));
    }
  }
}

TEST_CASE(
    "a profile of conv-blocks names the kernels that ran, and can be projected and advised on",
    "[conv-blocks][profile]") {
  const TemporaryFolder folder;
  const Outcome profiled = measure(folder, {"--steps", "2"}, kShapes, "profile");
  INFO(profiled.err);
  REQUIRE(profiled.code == 0);
  const std::string file = result_file(folder).string();
  CHECK_FALSE(json::parse(read_file(file, 1 << 24)).at("choices").empty());
  for (const char* command : {"validate", "project", "advise"}) {
    const Outcome outcome = run_harness({command, file});
    CAPTURE(command, outcome.err);
    CHECK(outcome.code == 0);
  }
}

TEST_CASE("conv-blocks refuses shapes that are none, or too many", "[conv-blocks]") {
  const TemporaryFolder folder;
  const auto refused = [&](const Outcome& outcome, const char* part) {
    CAPTURE(outcome.err);
    CHECK(outcome.code == 1);
    CHECK_THAT(outcome.err, Catch::StartsWith("harness: ") && Catch::Contains(part));
  };
  refused(measure(folder, {}, "ic8ih4oc8\nnonsense\n"), "line 2");
  refused(measure(folder, {}, ""), "no convolution problem");
  refused(measure(folder, {}, "ic8ih4oc8n\"a/b\""), "holds more than letters");
  refused(measure(folder, {}, "ic8ih4oc8ic9"), "ic is there twice");
  refused(measure(folder, {}, "--attr-post-ops=mul:f32:per_oc+add:f32:per_oc ic8ih4oc8"), "FWD_D");
  refused(measure(folder, {}, "mb1000ic1000000ih10000oc8n\"huge\""), "memory");
  refused(run_harness({"run", "--workload", "conv-blocks", "--set", "shapes=/nowhere/shapes"}),
          "/nowhere/shapes");
}
