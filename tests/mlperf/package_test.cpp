#include "harness/mlperf/package.hpp"

#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/mlperf/system_description.hpp"
#include "harness/result/result_file.hpp"
#include "harness/system/capture.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/sample_result.hpp"
#include "tests/support/sample_training_log.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

/// Runs of a small training, result and log, as `harness run --runs 5` leaves them.
class Series {
 public:
  using Edit = std::function<void(int, Result&, TrainingLogFacts&)>;

  explicit Series(const Edit& edit = [](int, Result&, TrainingLogFacts&) {}) {
    for (int i = 0; i < 5; ++i) {
      Result result = sample_result();
      result.identity.uuid.back() = static_cast<char>('0' + i);
      result.identity.run_index = i + 1;
      result.identity.run_count = 5;
      // The last to be written was the first to start.
      result.identity.started_at = "2026-01-31T11:0" + std::to_string(5 - i) + ":00.000Z";
      result.seeds.run = static_cast<std::uint32_t>(100 + i);
      result.settings.effective["seed"] = 100 + i;
      result.settings.effective["data"] = "/home/somebody/secret/scenes";
      result.settings.effective["set"]["weights"] = "/home/somebody/it's.pth";
      result.rules.division = "open";
      result.settings.requested["division"] = "open";
      TrainingLogFacts facts = closed_facts();
      facts.division = "open";
      facts.mlperf_equivalent = false;
      result.rules.workload = "retinanet-mini-train";
      facts.workload = result.rules.workload;
      facts.seed = result.seeds.run;
      edit(i, result, facts);
      const fs::path file = folder / fs::path("null-" + std::to_string(i) + ".json");
      write_result_file(result, file);
      fs::path log_file = file;
      ScriptedTraining training;
      TrainingLog log(log_file.replace_extension(".log"), facts, training, ticking_clock());
      train_to_target(training, log, 0.34, 5);
      files.push_back(file);
    }
  }

  std::vector<PackagedRun> runs() const {
    std::vector<PackagedRun> runs;
    for (const fs::path& file : files) runs.push_back(read_packaged_run(file));
    return runs;
  }

  std::vector<std::string> command(const fs::path& to) const {
    std::vector<std::string> words = {"submit", "--mlperf", "--rehearsal", "--to", to.string()};
    for (const fs::path& file : files) words.push_back(file.string());
    return words;
  }

  TemporaryFolder folder;
  std::vector<fs::path> files;
};

std::map<std::string, std::string> package(std::vector<PackagedRun> runs, bool rehearsal = true) {
  static const LogRules rules = load_log_rules(home_folder(), "mlperf-training-5.1.0");
  return make_package(std::move(runs), rules, rehearsal);
}

std::string refusal(const std::vector<PackagedRun>& runs, bool rehearsal = true) {
  try {
    package(runs, rehearsal);
  } catch (const Error& error) {
    return error.what();
  }
  return "packed";
}

}  // namespace

TEST_CASE("five runs make the package that MLPerf lays out", "[mlperf]") {
  const auto files = package(Series().runs());
  std::vector<std::string> names;
  for (const auto& [name, content] : files) {
    names.push_back(name);
    INFO(name);
    CHECK(content.find("REHEARSAL") != std::string::npos);
    CHECK(content.find("Result not verified by MLCommons Association.") != std::string::npos);
    CHECK(content.find("somebody/") == std::string::npos);
  }
  CHECK(names ==
        std::vector<std::string>{
            "benchmarks/retinanet/a-machine/README.md",
            "benchmarks/retinanet/a-machine/a-machine_harness.json",
            "benchmarks/retinanet/a-machine/init_datasets.sh",
            "benchmarks/retinanet/a-machine/run_and_time.sh",
            "benchmarks/retinanet/a-machine/setup.sh",
            "benchmarks/retinanet/implementations/harness/README.md",
            "results/a-machine/retinanet/result_0.txt", "results/a-machine/retinanet/result_1.txt",
            "results/a-machine/retinanet/result_2.txt", "results/a-machine/retinanet/result_3.txt",
            "results/a-machine/retinanet/result_4.txt", "systems/a-machine.json"});
  // By the time they started.
  CHECK_THAT(files.at("results/a-machine/retinanet/result_0.txt"),
             Catch::Contains("\"key\":\"seed\",\"value\":104"));
  const std::string& script = files.at("benchmarks/retinanet/a-machine/run_and_time.sh");
  CHECK_THAT(script, Catch::Contains("--workload 'retinanet-mini-train'") &&
                         Catch::Contains("--runs '5'") &&
                         Catch::Contains("--set 'weights=it'\\''s.pth'") &&
                         Catch::Contains("--data \"$DATA_DIR\""));
}

TEST_CASE("only five runs that belong together are packed", "[mlperf]") {
  const Series series;
  std::vector<PackagedRun> runs = series.runs();
  CHECK(refusal(runs) == "packed");
  SECTION("four") {
    runs.pop_back();
    CHECK_THAT(refusal(runs), Catch::Contains("4 results given, a package holds 5"));
  }
  SECTION("one twice") {
    runs[3] = runs[2];
    CHECK_THAT(refusal(runs), Catch::Contains("the same run twice"));
  }
  SECTION("the best five of fifty") {
    for (PackagedRun& run : runs) {
      run.result.identity.run_index *= 7;
      run.result.identity.run_count = 50;
    }
    CHECK_THAT(refusal(runs), Catch::Contains("run 7 of a series of 50, a package is a whole "
                                              "series of 5"));
  }
  SECTION("one of another series") {
    runs[3].result.identity.series_id.front() = 'f';
    CHECK_THAT(refusal(runs), Catch::Contains("null-3.json: another series than the first"));
  }
  SECTION("a place of the series twice") {
    runs[3].result.identity.run_index = 3;
    CHECK_THAT(refusal(runs), Catch::Contains("are both run 3 of 5"));
  }
  SECTION("a seed twice") {
    runs[3].result.seeds.run = runs[2].result.seeds.run;
    CHECK_THAT(refusal(runs), Catch::Contains("seed 102 is there twice"));
  }
  SECTION("another setting") {
    runs[3].result.settings.effective["precision"] = "bf16";
    CHECK_THAT(refusal(runs), Catch::Contains("null-3.json: another machine"));
  }
  SECTION("another machine") {
    runs[3].result.system["fingerprint"] = "x";
    CHECK_THAT(refusal(runs), Catch::Contains("null-3.json: another machine"));
  }
  SECTION("another workload") {
    runs[3].result.rules.workload = "other";
    CHECK_THAT(refusal(runs), Catch::Contains("another workload than retinanet-mini-train"));
  }
  SECTION("a workload that trains nothing of the kind") {
    for (PackagedRun& run : runs) run.result.rules.workload = "focal-loss";
    CHECK_THAT(refusal(runs), Catch::Contains("focal-loss trains no retinanet"));
  }
  SECTION("logs of other runs") {
    std::swap(runs[3].log_text, runs[2].log_text);
    CHECK_THAT(refusal(runs), Catch::Contains("its log is that of another workload or seed"));
  }
  SECTION("a log that breaks a rule") {
    runs[3].log_text.resize(runs[3].log_text.rfind(":::MLLOG"));
    CHECK_THAT(refusal(runs),
               Catch::Contains("null-3.json: its log breaks the rule run-stop-once"));
  }
  SECTION("a dry run") {
    runs[3].result.status.state = RunState::kDryRun;
    CHECK_THAT(refusal(runs), Catch::Contains("a dry run is no measurement"));
  }
  SECTION("one may miss its target, two may not") {
    runs[3].result.status.state = RunState::kInvalid;
    CHECK(refusal(runs) == "packed");
    runs[2].result.status.state = RunState::kAborted;
    CHECK_THAT(refusal(runs), Catch::Contains("more than one run is not valid"));
  }
  SECTION("not MLPerf's own and no rehearsal") {
    CHECK_THAT(refusal(runs, false),
               Catch::Contains("retinanet-mini-train is not MLPerf's own benchmark"));
    for (PackagedRun& run : runs) run.result.rules.mlperf_equivalent = true;
    CHECK(refusal(runs, false) == "packed");
    CHECK(package(runs, false).at("systems/a-machine.json").find("REHEARSAL") == std::string::npos);
  }
}

TEST_CASE("a run without a log never enters a package", "[mlperf]") {
  const Series series;
  fs::path log = series.files[1];
  fs::remove(log.replace_extension(".log"));
  CHECK_THROWS_WITH(read_packaged_run(series.files[1]),
                    Catch::Contains("only training to a target enters a package"));
}

TEST_CASE("the system description has its 33 fields, all of them text", "[mlperf]") {
  for (const nlohmann::json& system : {capture_system(), nlohmann::json::object()}) {
    const nlohmann::ordered_json fields =
        system_description({"somebody", "open", "a machine", "harness", "notes"}, system);
    CHECK(fields.size() == 33);
    for (const auto& [name, field] : fields.items()) {
      INFO(name);
      CHECK(field.is_string());
    }
    for (const char* name :
         {"number_of_nodes", "host_processors_per_node", "accelerators_per_node"}) {
      CHECK_NOTHROW(std::stoi(fields.at(name).get<std::string>()));
    }
    CHECK_FALSE(fields.at("host_processor_model_name").get<std::string>().empty());
    CHECK(fields.contains("accelerator_on-chip_memories"));
  }
}

TEST_CASE("submit writes a package and refuses to mix two", "[mlperf][cli]") {
  const Series series;
  const fs::path to = series.folder / "package";
  const Outcome outcome = run_harness(series.command(to));
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Catch::Contains("REHEARSAL, no submission."));
  CHECK(fs::exists(to / "systems" / "a-machine.json"));
  const fs::perms mode =
      fs::status(to / "benchmarks/retinanet/a-machine/run_and_time.sh").permissions();
  CHECK((mode & fs::perms::owner_exec) != fs::perms::none);
  check_one_error(run_harness(series.command(to)), 1, "the folder is not empty");
  if (const char* folder = std::getenv("HARNESS_WRITE_LOGS")) {
    fs::copy(to, fs::path(folder) / "package", fs::copy_options::recursive);
  }
  const std::string file = series.files.front().string();
  check_one_error(run_harness({"submit", "--rehearsal", file, "--to", to.string()}), 1,
                  "--rehearsal: means nothing without --mlperf");
  check_one_error(run_harness({"submit", "--mlperf", file}), 1, "--to: missing");
  check_one_error(run_harness({"submit", "--mlperf", file, "--to", (series.folder / "x").string()}),
                  1, "1 result given");
  CHECK(!fs::exists(series.folder / "x"));
}

TEST_CASE("a file that was altered enters no package", "[mlperf][cli]") {
  const Series series([](int i, Result& result, TrainingLogFacts&) {
    if (i == 3) result.metrics[0].direction = Direction::kHigher;
  });
  const fs::path to = series.folder / "package";
  const Outcome outcome = run_harness(series.command(to));
  check_one_error(outcome, 3, "null-3.json: /metrics/0/direction");
  CHECK(!fs::exists(to));
}
