// End to end: `harness ablate` on the null workload, whose variants take scripted times.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/ablate_null.hpp"
#include "tests/support/python_check.hpp"
#include "tests/support/temporary_folder.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::size_t turns_in(const std::vector<json>& lines) {
  return static_cast<std::size_t>(std::count_if(
      lines.begin(), lines.end(), [](const json& line) { return line["event"] == "turn"; }));
}

}  // namespace

TEST_CASE("ablate leaves one valid file with every variant, and its samples", "[ablate]") {
  const TemporaryFolder out;
  const fs::path file = out / "new/a.json";
  const Outcome outcome =
      run_ablate(file, {"--set", "step-ms=24", "--set", "pooled-speedup=2", "--set",
                        "custom-speedup=3", "--set", "bf16-speedup=2", "--rounds", "2"});
  CAPTURE(outcome.out, outcome.err);
  REQUIRE(outcome.code == 0);
  CHECK_THAT(outcome.out, HasLines({"left out elsewhere: nothing=elsewhere *"}));
  CHECK_THAT(outcome.out, HasLines({"status   valid*"}));
  const json ablation = read_ablation(file);
  CHECK(ablation["kind"] == "ablation");
  CHECK(ablation["notice"] == "Result not verified by MLCommons Association.");
  CHECK(ablation["status"]["state"] == "valid");
  CHECK(names_of_variants(ablation) ==
        std::vector<std::string>{"out-of-the-box", "pooled", "nothing", "bf16", "bf16-reference"});
  CHECK(ablation["left_out"][0]["name"] == "elsewhere");
  // Sleeps of 24, 12, 4, 2 and 6 ms: a busy machine stretches them, but not to each other.
  const json& variants = ablation["variants"];
  CHECK(variants[1]["ratio_to_first"]["median"] > 1.2);
  CHECK(variants[2]["ratio_to_previous"]["median"] > 1.5);
  CHECK(variants[2]["ratio_to_reference"]["to"] == "pooled");
  CHECK(variants[3]["ratio_to_reference"]["to"] == "bf16-reference");
  CHECK(variants[4]["ratio_to_previous"]["to"] == "pooled");
  CHECK(variants[0]["ratio_to_previous"].is_null());
  for (const json& variant : variants) {
    CHECK(variant["turns"].size() == 6 * 2);
    CHECK(variant["quality_passed"] == true);
    CHECK(variant["quality"]["reached_at_step"] == 2 + 2);  // the tier's warm-up, and the rounds
    CHECK(variant["phases"][0]["name"] == "work");
    CHECK(variant["ratio_to_first"]["low"].is_number());
    CHECK(variant["missing"]["peak_memory_bytes"] == "this workload has no allocator of its own");
  }
  const std::vector<json> lines = lines_of(out / "new/a.jsonl");
  CHECK(lines.front()["run"] == ablation["identity"]["uuid"]);
  CHECK(lines.back()["event"] == "finished");
  CHECK(turns_in(lines) == 5 * 6 * 2);
  CHECK(lines[1]["variant"] == "out-of-the-box");
  CHECK(lines[1]["losses"]["total"].size() == 1);
  const Outcome validation = run_harness({"validate", file.string()});
  CAPTURE(validation.out);
  CHECK(validation.code == 0);
  check_with_python("ablation", file, {"", "/variants/0"});
}

TEST_CASE("the peaks of the machine are kept, and what a variant achieved of them",
          "[ablate][long]") {
  const TemporaryFolder out;
  const Outcome outcome = ablate_once(out / "a.json", {"--variants", "out-of-the-box,pooled",
                                                       "--rounds", "1", "--set", "flops=3e7"});
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  const json ablation = read_ablation(out / "a.json");
  CHECK_FALSE(ablation["peaks"].empty());
  for (const json& variant : ablation["variants"]) {
    CHECK(variant["cost"]["step_flops"] == 3e7);
    const double achieved = variant["cost"]["achieved_flops_per_second"];
    CHECK(achieved * variant["median_seconds"].get<double>() == Approx(3e7));
  }
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 0);
}

TEST_CASE("what does not fit into memory is measured in groups that share the first variant",
          "[ablate]") {
  const TemporaryFolder out;
  const std::vector<std::string> large = {"--set",    "memory=1e8", "--rounds", "2",
                                          "--set",    "step-ms=24", "--set",    "pooled-speedup=2",
                                          "--memory", "0.3"};
  const Outcome outcome = ablate_once(out / "a.json", large);
  CAPTURE(outcome.out, outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out,
             HasLines({"group 1 of 2, for want of memory: out-of-the-box, pooled, nothing"}));
  CHECK_THAT(outcome.out, Catch::Contains("their ratios are taken by way of"));
  const json variants = read_ablation(out / "a.json")["variants"];
  CHECK(variants[0]["turns"].size() == 2 * 2);
  CHECK(variants[1]["turns"].size() == 2);
  CHECK(variants[4]["turns"][0]["group"] == 2);
  CHECK(variants[4]["ratio_to_previous"]["to"] == "pooled");
  CHECK(variants[4]["ratio_to_first"]["median"] > 1.2);
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 0);
  std::vector<std::string> larger = large;
  larger.back() = "0.15";
  check_one_error(ablate_once(out / "b.json", larger), 1, "need about 191 MiB of memory together");
  larger.back() = "0.2";
  std::replace(larger.begin(), larger.end(), std::string("2"), std::string("1000"));  // rounds
  larger.insert(larger.end(), {"--clusters", "100"});
  check_one_error(run_ablate(out / "b.json", larger), 1, "400000 turns of the first variant");
}

TEST_CASE("the quality of the first variant is evaluated in one group alone", "[ablate]") {
  const TemporaryFolder out;
  const TemporaryFolder temporary;  // where the logs stay when a peer ends badly
  const std::string peer =
      R"(echo '{"lockstep":1,"name":"x","unit":"step"}'; while read -r line; do )"
      R"(case $line in *finish*) exit 7;; *) echo '{"seconds":[0.001]}';; esac; done)";
  const Outcome outcome = run_harness(
      ablate_null(out / "a.json", {"--set", "memory=1e8", "--memory", "0.3", "--variants",
                                   "out-of-the-box,pooled,nothing", "--rounds", "1", "--clusters",
                                   "1", "--peer", "other=" + peer}),
      {"TMPDIR=" + temporary.path().string()});
  CAPTURE(outcome.err);
  CHECK_THAT(refusal_in(outcome, 2), is_about("other, cluster 1", {"exit code 7"}));
  std::string log;
  for (const auto& entry : fs::recursive_directory_iterator(temporary.path())) {
    if (entry.path().filename() == "out-of-the-box-1-2.txt") log = read_file(entry.path(), 100000);
  }
  CHECK_THAT(log, Catch::Contains("[steps]") && !Catch::Contains("[evaluate]"));
}

TEST_CASE("by default an ablation goes to a new folder under runs/, or into the folder given",
          "[ablate]") {
  const TemporaryFolder folder;
  CHECK(run_harness({"ablate", "--workload", "null", "--rounds", "1", "--clusters", "1", "--set",
                     "step-ms=0"},
                    {}, folder.path())
            .code == 0);
  const auto runs = fs::directory_iterator(folder / "runs");
  CHECK(files_ending(runs->path(), ".json").size() == 1);
  CHECK(ablate_once(folder.path(), {"--rounds", "1"}).code == 0);
  CHECK(files_ending(folder.path(), ".json").size() == 1);
  CHECK(files_ending(folder.path(), ".jsonl").size() == 1);
}

TEST_CASE("a subset with few clusters has no interval and says why", "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome =
      run_ablate(out / "a.json", {"--variants", "pooled,out-of-the-box", "--rounds", "1",
                                  "--clusters", "2", "--batch-size", "3", "--seed", "5"});
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("an interval needs 6 clusters"));
  const json ablation = read_ablation(out / "a.json");
  CHECK(names_of_variants(ablation) == std::vector<std::string>{"out-of-the-box", "pooled"});
  CHECK(ablation["variants"][1]["ratio_to_first"]["low"].is_null());
  CHECK_THAT(ablation["variants"][1]["ratio_to_first"]["missing"]["low"].get<std::string>(),
             Catch::Contains("too few"));
  CHECK(ablation["workload"]["division"] == "open");
  CHECK(ablation["settings"]["effective"]["batch_size"] == 3);
  CHECK(ablation["seeds"]["run"] == 5);
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 0);
}

TEST_CASE("ablate refuses in one line what it cannot do", "[ablate]") {
  const TemporaryFolder out;
  const fs::path file = out / "a.json";
  CHECK(run_harness({"ablate", "--help"}).code == 0);
  check_one_error(run_harness({"ablate"}), 1, "--workload");
  check_one_error(run_harness({"ablate", "--workload", "nul"}), 1, "did you mean null?");
  check_one_error(run_ablate(file, {"--variants", "poled"}), 1, "did you mean pooled?");
  check_one_error(run_ablate(file, {"--variants", "elsewhere"}), 1, "cannot run on this machine");
  check_one_error(run_ablate(file, {"--rounds", "0"}), 1, "--rounds 0");
  check_one_error(run_ablate(file, {"--rounds", "many"}), 1, "not a whole number");
  check_one_error(run_ablate(file, {"--clusters", "0"}), 1, "--clusters 0");
  check_one_error(run_ablate(file, {"--peer", "true"}), 1, "has no command");
  std::vector<std::string> many;
  for (int i = 0; i < 60; ++i) {
    many.insert(many.end(), {"--peer", "p" + std::to_string(i) + "=true"});
  }
  check_one_error(run_ablate(file, many), 1, "more than the 64 of a result");
  check_one_error(run_ablate(file, {"--kernels", "custom"}), 1, "unknown to 'harness ablate'");
  check_one_error(run_ablate(file, {"--batch-size", "1000000000"}), 1, "need about");
  check_one_error(run_ablate(file, {"--set", "colour=red"}), 1, "no setting 'colour'");
  check_one_error(run_ablate(file, {"--set", "custom-speedup=0"}), 1, "not above 0");
  check_one_error(run_ablate(out / "a.txt"), 1, "name of a .json file");
  CHECK_FALSE(fs::exists(file));
  std::ofstream(file) << "mine";
  check_one_error(run_ablate(file), 1, "exists already");
  CHECK(fs::file_size(file) == 4);
  check_one_error(run_ablate(file / "below.json"), 1, "cannot create the folder");
  check_one_error(run_ablate("/proc/harness/a.json"), 1, "/proc/harness");
}

TEST_CASE("an ablation is told in lines of at most 100 columns, each thing once", "[ablate]") {
  const TemporaryFolder out;
  const Outcome all = ablate_once(out / "all.json");
  CHECK(badly_set(all.out, 100) == std::vector<std::string>{});
  const std::size_t first = all.out.find("left out elsewhere");
  REQUIRE(first != std::string::npos);
  CHECK(all.out.find("left out elsewhere", first + 1) == std::string::npos);
  const Outcome one = ablate_once(out / "one.json", {"--rounds", "1", "--variants", "pooled"});
  CHECK_THAT(one.out, Catch::Contains("1 variant · 1 cluster of 1 round · division"));
}

TEST_CASE("a variant whose quality fails makes the ablation invalid and exits 3", "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome = ablate_once(out / "a.json", {"--set", "custom-quality=0.1"});
  CHECK(outcome.code == 3);
  CHECK_THAT(outcome.out, HasLines({"nothing * MISSED"}));
  CHECK_THAT(outcome.out, Catch::Contains("quality-target at /variants/2/quality/value"));
  const json ablation = read_ablation(out / "a.json");
  CHECK(ablation["status"]["state"] == "invalid");
  CHECK(ablation["variants"][1]["quality_passed"] == true);
  CHECK(ablation["variants"][2]["quality_passed"] == false);
  CHECK(run_harness({"validate", (out / "a.json").string()}).code == 3);
}

TEST_CASE("a loss that is no number in one variant invalidates the ablation", "[ablate]") {
  const TemporaryFolder out;
  const Outcome outcome = ablate_once(out / "a.json", {"--set", "losses=1,1,1,1,nan"});
  CHECK(outcome.code == 3);
  const json ablation = read_ablation(out / "a.json");
  CHECK(ablation["variants"][0]["turns"].size() == 2);
  const json& violations = ablation["status"]["violations"];
  REQUIRE(violations.size() == 1);  // and nothing that is missing because of it
  CHECK_THAT(violations[0]["rule"].get<std::string>(), Catch::StartsWith("finite-loss"));
  CHECK_THAT(violations[0]["actual"].get<std::string>(),
             Catch::Contains("loss 'total' is not finite in round 3 of cluster 1"));
}
