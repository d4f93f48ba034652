#include "harness/mlperf/package.hpp"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "harness/base/files.hpp"
#include "harness/mlperf/system_description.hpp"
#include "harness/result/result_file.hpp"
#include "harness/system/capture.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/refusal.hpp"
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

  explicit Series(
      const Edit& edit = [](int, Result&, TrainingLogFacts&) {}, std::size_t epochs = 2) {
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
      training.qualities.assign(epochs, 0.25);
      training.qualities.back() = 0.36;
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

Package whole_package(std::vector<PackagedRun> runs, bool rehearsal = true) {
  static const LogRules rules = load_log_rules(home_folder(), "mlperf-training-5.1.0");
  static const ConvergencePoints points =
      load_convergence_points(home_folder(), standard_convergence_points(home_folder()));
  return make_package(std::move(runs), rules, points, rehearsal);
}

std::map<std::string, std::string> package(std::vector<PackagedRun> runs, bool rehearsal = true) {
  return whole_package(std::move(runs), rehearsal).files;
}

ErrorParts refusal(const std::vector<PackagedRun>& runs, bool rehearsal = true,
                   ExitCode code = ExitCode::kInvalid) {
  return refusal_of([&] { package(runs, rehearsal); }, code);
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
  for (const char* option : {"--workload 'retinanet-mini-train'", "--runs '5'",
                             "--set 'weights=it'\\''s.pth'", "--data \"$DATA_DIR\""}) {
    CHECK_THAT(script, Catch::Contains(option));
  }
}

TEST_CASE("only five runs that belong together are packed", "[mlperf]") {
  using Runs = std::vector<PackagedRun>;
  const Series series;
  const Runs whole = series.runs();
  CHECK(refusal(whole).about.empty());
  struct Case {
    std::function<void(Runs&)> edit;
    const char* names;
  };
  const auto fourth = [](const std::function<void(PackagedRun&)>& edit) {
    return [edit](Runs& runs) { edit(runs[3]); };
  };
  const auto all = [](const std::function<void(PackagedRun&)>& edit) {
    return [edit](Runs& runs) {
      for (PackagedRun& run : runs) edit(run);
    };
  };
  // Refused is the run that does not belong to those before it.
  for (const Case& one : std::vector<Case>{
           {fourth([](auto& run) { run.result.identity.series_id.front() = 'f'; }),
            "another series"},
           {fourth([](auto& run) { run.result.seeds.run = 102; }), "seed 102"},
           {fourth([](auto& run) { run.result.settings.effective["precision"] = "bf16"; }),
            "settings"},
           {fourth([](auto& run) { run.result.system["fingerprint"] = "x"; }), "another machine"},
           {fourth([](auto& run) { run.result.rules.workload = "other"; }),
            "another workload than retinanet-mini-train"},
           {fourth([](auto& run) { run.log_text.resize(run.log_text.rfind(":::MLLOG")); }),
            "run-stop-once"},
           {fourth([](auto& run) { run.result.status.state = RunState::kDryRun; }), "dry run"}}) {
    Runs runs = whole;
    one.edit(runs);
    CHECK_THAT(refusal(runs), is_about(runs[3].file, {one.names}));
  }
  // Where each breaks it, the first is named; of two, one of them.
  for (const Case& one :
       std::vector<Case>{{[](Runs& runs) { runs[3] = runs[2]; }, "the same run twice"},
                         {all([](auto& run) {
                            run.result.identity.run_index *= 7;
                            run.result.identity.run_count = 50;
                          }),
                          "run 7 of a series of 50"},
                         {all([](auto& run) { run.result.rules.workload = "focal-loss"; }),
                          "focal-loss trains no retinanet"},
                         {[](Runs& runs) { std::swap(runs[3].log_text, runs[2].log_text); },
                          "another workload or seed"},
                         {[](Runs& runs) {
                            runs[3].result.status.state = RunState::kInvalid;
                            runs[2].result.status.state = RunState::kAborted;
                          },
                          "more than one run is not valid"},
                         {[](Runs& runs) {
                            for (std::string* log : {&runs[1].log_text, &runs[4].log_text}) {
                              log->replace(log->rfind("success"), 7, "aborted");
                            }
                          },
                          "more than one run did not reach its target"}}) {
    Runs runs = whole;
    one.edit(runs);
    const ErrorParts found = refusal(runs);
    CAPTURE(found);
    CHECK(std::count_if(whole.begin(), whole.end(),
                        [&](const PackagedRun& run) { return run.file == found.about; }) == 1);
    CHECK(found.names(one.names));
  }
  Runs four = whole;
  four.pop_back();
  CHECK_THAT(refusal(four, true, ExitCode::kUsage), is_about("submit --mlperf", {"4 results"}));
  Runs place_twice = whole;
  place_twice[3].result.identity.run_index = 3;
  CHECK_THAT(refusal(place_twice), is_about("submit --mlperf", {"run 3 of 5"}));
  Runs one_missed = whole;
  one_missed[3].result.status.state = RunState::kInvalid;
  CHECK(refusal(one_missed).about.empty());
}

TEST_CASE("what is not MLPerf's own is a rehearsal", "[mlperf]") {
  std::vector<PackagedRun> runs = Series().runs();
  CHECK(refusal(runs, false).names("--rehearsal"));
  for (PackagedRun& run : runs) run.result.rules.mlperf_equivalent = true;
  CHECK(refusal(runs, false).about.empty());
  CHECK(package(runs, false).at("systems/a-machine.json").find("REHEARSAL") == std::string::npos);
}

TEST_CASE("a package scores its runs, and closed ones converge as the reference does", "[mlperf]") {
  // Each look at the log's clock is a second: all runs take as long.
  const Package open = whole_package(Series().runs());
  CHECK_THAT(open.score, Catch::Matches("[0-9.]+ min .*"));
  CHECK(open.files.at("benchmarks/retinanet/a-machine/README.md").find(open.score) !=
        std::string::npos);
  // Two epochs at a batch of 16 are fewer than the reference's four, which binds closed runs alone.
  CHECK_FALSE(open.convergence.empty());
  const auto closed = [](double batch_size, std::size_t epochs) {
    return Series(
               [=](int, Result& result, TrainingLogFacts& facts) {
                 result.rules.division = facts.division = "closed";
                 result.rules.mlperf_equivalent = facts.mlperf_equivalent = true;
                 result.rules.workload = facts.workload = "retinanet-train";
                 result.settings.requested["division"] = "closed";
                 facts.batch_size = static_cast<std::int64_t>(batch_size);
               },
               epochs)
        .runs();
  };
  CHECK_THAT(refusal(closed(16, 2), false), is_about("submit --mlperf", {"16"}));
  const Package same = whole_package(closed(16, 4), false);
  CHECK_FALSE(same.files.contains("results/a-machine/retinanet/scaling.json"));
  // Four epochs at 320, of 4.11, are explained by chance, and scaled.
  const Package scaled = whole_package(closed(320, 4), false);
  const auto scaling =
      nlohmann::json::parse(scaled.files.at("results/a-machine/retinanet/scaling.json"));
  CHECK(scaling.at("scaling_factor").get<double>() == Approx(74.0 / 18 / 4));
  CHECK(scaling.contains("notice"));
}

TEST_CASE("a run without a log never enters a package", "[mlperf]") {
  const Series series;
  fs::path log = series.files[1];
  fs::remove(log.replace_extension(".log"));
  CHECK_THAT(refusal_of([&] { read_packaged_run(series.files[1]); }, ExitCode::kInvalid),
             is_about(series.files[1].string(), {"no log"}));
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
