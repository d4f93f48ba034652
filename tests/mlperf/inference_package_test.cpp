#include "harness/mlperf/inference_package.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <tuple>
#include <utility>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/scenario/loadgen/log_reader.hpp"
#include "harness/workload/capabilities.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sample_suite.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

const std::string kAnswers = "[\n" + std::string(20'000, 'a') + "\n]\n";
/// What is packed of LoadGen's logs.
const std::vector<std::string> kLogs = {
    "performance/run_1/mlperf_log_detail.txt", "performance/run_1/mlperf_log_summary.txt",
    "accuracy/mlperf_log_detail.txt", "accuracy/mlperf_log_summary.txt",
    "accuracy/mlperf_log_accuracy.json"};

/// What LoadGen logs of a test that the checker takes; `of_accuracy`: of the test of accuracy.
json logged(bool of_accuracy) {
  json log = {{"loadgen_version", "6.0.17"},
              {"effective_scenario", "SingleStream"},
              {"effective_test_mode", of_accuracy ? "AccuracyOnly" : "PerformanceOnly"},
              {"effective_min_duration_ms", 600'000},
              {"effective_max_duration_ms", 0},
              {"effective_performance_sample_count", 1024},
              {"effective_accuracy_sample_count", 50'000},
              {"effective_qsl_rng_seed", 2465351861681999779U},
              {"effective_sample_index_rng_seed", 14276810075590677512U},
              {"effective_schedule_rng_seed", 3936089224930324775U}};
  if (!of_accuracy) {
    log["result_validity"] = "VALID";
    log["early_stopping_met"] = true;
    log["early_stopping_latency_ss"] = 4'000'000;
  }
  return log;
}

void write_log(const fs::path& folder, const json& log) {
  fs::create_directories(folder);
  std::string text;
  for (const auto& [key, value] : log.items()) {
    const json metadata = {{"is_error", key.starts_with("error_")}, {"is_warning", false}};
    text +=
        ":::MLLOG " + json{{"key", key}, {"value", value}, {"metadata", metadata}}.dump() + "\n";
  }
  write_file_atomically(folder / "mlperf_log_detail.txt", text);
  write_file_atomically(folder / "mlperf_log_summary.txt", "MLPerf Results Summary\n");
  write_file_atomically(folder / "mlperf_log_accuracy.json", kAnswers);
}

/// As if the run had left its logs as they are now.
void list_logs(PackagedTest& test) {
  std::vector<FileHash>& files = test.result.loadgen->files;
  files.clear();
  for (const char* folder : {"performance/run_1", "accuracy"}) {
    for (FileHash& log : loadgen::files_of_test(test.logs, folder)) {
      files.push_back(std::move(log));
    }
  }
}

/// A run of ten minutes, result and logs, as `harness run` leaves it.
class Run {
 public:
  explicit Run(
      const std::function<void(Result&, json&, json&)>& edit = [](Result&, json&, json&) {},
      const std::string& name = "classify-1") {
    Result result = sample_query_run(sample_result().identity.uuid, "classify", "single-stream");
    result.loadgen->seconds = 600.5;
    result.loadgen->version = "6.0.17";
    result.rules.division = "open";
    result.quality = QualityReport{{"top-1", Direction::kHigher, 0.8677, "", {}, {}}, 0.8503, true};
    result.dataset->details[kTimesOver] = "5";
    result.settings.effective["data"] = "/home/somebody/secret";
    result.settings.effective["set"] = {{"times-over", "5"}};
    json timed = logged(false);
    json accuracy = logged(true);
    edit(result, timed, accuracy);
    file = folder / (name + ".json");
    const fs::path logs = folder / (name + ".loadgen");
    write_log(logs / "performance/run_1", timed);
    write_log(logs / "accuracy", accuracy);
    test = packaged_test(file, result);
    list_logs(test);
  }

  TemporaryFolder folder;
  fs::path file;
  PackagedTest test;
};

std::map<std::string, std::string> package(const std::vector<PackagedTest>& tests) {
  static const InferenceRules rules = load_inference_rules(home_folder(), kInferenceRules);
  return make_inference_package(tests, rules);
}

/// How the last of them is refused; nothing when all are packed.
ErrorParts refusal(const std::vector<PackagedTest>& tests) {
  ErrorParts found = refusal_of([&] { package(tests); }, ExitCode::kInvalid);
  if (!found.about.empty()) CHECK(found.about == tests.back().file);
  return found;
}

ErrorParts refusal_of_run(const std::function<void(Result&, json&, json&)>& edit) {
  return refusal({Run(edit).test});
}

}  // namespace

TEST_CASE("a run of ten minutes makes the package that MLPerf Inference lays out", "[mlperf]") {
  const Run run;
  const auto files = package({run.test});
  const std::string test = "open/unaffiliated/results/Made-up-9000/classify/SingleStream/";
  std::vector<std::string> names;
  for (const auto& [name, content] : files) {
    names.push_back(name);
    INFO(name);
    CHECK(content.find("somebody") == std::string::npos);
    const bool of_loadgen = name.find("mlperf_log_") != std::string::npos;
    const bool says_it = content.find("REHEARSAL") != std::string::npos;
    // The checker reads accuracy.txt line by line, and looks for nothing else.
    CHECK(says_it == !(of_loadgen || name.ends_with("accuracy.txt")));
  }
  CHECK(names ==
        std::vector<std::string>{
            "open/unaffiliated/model_mapping.json", test + "README.md",
            test + "accuracy/accuracy.txt", test + "accuracy/mlperf_log_accuracy.json",
            test + "accuracy/mlperf_log_detail.txt", test + "accuracy/mlperf_log_summary.txt",
            test + "measurements.json", test + "performance/run_1/mlperf_log_detail.txt",
            test + "performance/run_1/mlperf_log_summary.txt", test + "user.conf",
            "open/unaffiliated/src/README.md", "open/unaffiliated/systems/Made-up-9000.json"});
  CHECK(json::parse(files.at("open/unaffiliated/model_mapping.json")).at("classify") == "resnet");

  // As the checker's patterns have it.
  const std::string& accuracy = files.at(test + "accuracy/accuracy.txt");
  std::smatch found;
  REQUIRE(std::regex_search(accuracy, found, std::regex("^accuracy=([0-9.]+)%")));
  CHECK(found[1] == "86.770");
  CHECK(accuracy.find("\nhash=" + sha256_hex(kAnswers) + "\n") != std::string::npos);
  CHECK(files.at(test + "accuracy/mlperf_log_accuracy.json").size() <= 10'240);
  CHECK(files.at(test + "performance/run_1/mlperf_log_detail.txt") ==
        read_file(run.test.logs / "performance/run_1/mlperf_log_detail.txt", 1 << 20));

  const json system = json::parse(files.at("open/unaffiliated/systems/Made-up-9000.json"));
  CHECK(system.size() == 36);
  CHECK(system.at("submitter") == "unaffiliated");
  CHECK(system.at("division") == "open");
  CHECK(system.at("status") == "rdi");
  CHECK(system.at("system_type") == "edge");
  // Python takes other things for nothing, too: 0, null, an empty list.
  for (const auto& [field, value] : system.items()) {
    INFO(field);
    CHECK(value.is_string());
    CHECK_FALSE(value.get<std::string>().empty());
  }
  CHECK(system.at("number_of_nodes") == "1");
  CHECK(system.at("accelerators_per_node") == "0");
  const json measured = json::parse(files.at(test + "measurements.json"));
  for (const char* field : {"input_data_types", "retraining", "starting_weights_filename",
                            "weight_data_types", "weight_transformations"}) {
    INFO(field);
    CHECK_FALSE(measured.at(field).empty());
  }
  CHECK(files.at(test + "user.conf").find("*.SingleStream.min_duration_ms = 600000\n") !=
        std::string::npos);
  const std::string& readme = files.at(test + "README.md");
  CHECK(readme.find("asked for 5 times") != std::string::npos);
  CHECK(readme.find("--data \"$DATA_DIR\"") != std::string::npos);
  CHECK(readme.find("--set 'times-over=5'") != std::string::npos);
}

TEST_CASE("several scenarios of one machine share a package", "[mlperf]") {
  const Run one;
  const Run other([](Result& result, json& timed, json& accuracy) {
    result.rules.scenario = "offline";
    timed["effective_scenario"] = accuracy["effective_scenario"] = "Offline";
  });
  const auto files = package({one.test, other.test});
  CHECK(files.contains("open/unaffiliated/results/Made-up-9000/classify/Offline/README.md"));
  CHECK(files.contains("open/unaffiliated/results/Made-up-9000/classify/SingleStream/README.md"));
  CHECK(refusal({one.test, one.test}).names("twice"));
  const Run elsewhere([](Result& result, json& timed, json&) {
    timed["effective_scenario"] = "Offline";
    result.system["fingerprint"] = "another";
  });
  CHECK(refusal({one.test, elsewhere.test}).names("another machine"));
  const Run later([](Result& result, json& timed, json&) {
    timed["effective_scenario"] = "Offline";
    result.identity.git_commit.front() = 'f';
  });
  CHECK(refusal({one.test, later.test}).names("another commit"));
}

TEST_CASE("what the checker would not count, and what it overlooks, is refused", "[mlperf]") {
  CHECK(refusal_of_run([](Result&, json&, json&) {}).about.empty());
  const std::vector<std::tuple<const char*, json, const char*>> timed = {
      {"effective_min_duration_ms", 60'000, "60.0 s"},
      {"effective_schedule_rng_seed", 1, "seeds"},
      {"effective_qsl_rng_seed", 2465351861681999780U, "seeds"},
      {"effective_performance_sample_count", 1023, "1023 samples"},
      {"early_stopping_met", false, "early stopping"},
      {"error_runtime", "it broke", "it broke"},
      {"error_runtime", "", "LoadGen logged an error"},
      // The checker believes the shortest time that was asked for, and overlooks the verdict.
      {"effective_max_duration_ms", 1000, "after 1.0 s"},
      {"result_validity", "INVALID", "INVALID"}};
  for (const auto& [key, value, what] : timed) {
    const ErrorParts found = refusal_of_run(
        [&, key = key, value = value](Result&, json& log, json&) { log[key] = value; });
    CAPTURE(key, found);
    CHECK(found.names(what));
  }
  const ErrorParts fewer = refusal_of_run(
      [](Result&, json&, json& log) { log["effective_accuracy_sample_count"] = 10'000; });
  for (const char* what : {"10000 samples", "50000", "times-over=5"}) CHECK(fewer.names(what));
  CHECK(refusal_of_run([](Result&, json&, json& log) {
          log["error_runtime"] = "it broke";
        }).names("it broke"));
  const ErrorParts embed =
      refusal_of_run([](Result& result, json&, json&) { result.rules.workload = "embed"; });
  for (const char* what : {"embed", "classify, detect-full"}) CHECK(embed.names(what));
  CHECK(refusal_of_run([](Result& result, json&, json&) {
          result.quality.reset();
        }).names("no top-1"));
  CHECK(refusal_of_run([](Result& result, json&, json&) {
          result.loadgen->seconds = 1;
        }).names("took 1.0 s"));
  CHECK(refusal_of_run([](Result& result, json&, json&) {
          result.status.state = RunState::kInvalid;
        }).why == "is not valid");
  const auto server = [](std::int64_t bound_ns) {
    return refusal_of_run([&](Result&, json& log, json&) {
      log["effective_scenario"] = "Server";
      log["effective_target_latency_ns"] = bound_ns;
    });
  };
  CHECK(server(15'000'000).about.empty());
  for (const char* what : {"0.016 s", "0.015 s"}) CHECK(server(16'000'000).names(what));
}

TEST_CASE("logs that are missing or cut are no package", "[mlperf]") {
  for (const char* name :
       {"performance/run_1/mlperf_log_detail.txt", "performance/run_1/mlperf_log_summary.txt",
        "accuracy/mlperf_log_accuracy.json", "accuracy/mlperf_log_detail.txt"}) {
    INFO(name);
    Run cut;
    write_file_atomically(cut.test.logs / name, "");
    list_logs(cut.test);
    CHECK_THROWS_AS(package({cut.test}), Error);
    fs::remove(cut.test.logs / name);
    list_logs(cut.test);
    CHECK_THROWS_AS(package({cut.test}), Error);
  }
  const Run whole;
  fs::remove_all(whole.test.logs);
  CHECK_THAT(refusal_of([&] { packaged_test(whole.file, whole.test.result); }, ExitCode::kInvalid),
             is_about(whole.file.string(), {"no logs"}));
}

TEST_CASE("logs are those that the run left, whatever they are called since", "[mlperf]") {
  for (const std::string& name : kLogs) {
    INFO(name);
    const Run run;
    fs::rename(run.test.logs, run.folder / "x.loadgen");
    PackagedTest renamed = packaged_test(run.folder / "x.json", run.test.result);
    CHECK(refusal({renamed}).about.empty());
    const fs::path log = renamed.logs / name;
    const std::string text = read_file(log, 1 << 20);
    write_file_atomically(log, text + "\n");
    CHECK(refusal({renamed}).names(name));
    write_file_atomically(log, text);
    CHECK(refusal({renamed}).about.empty());
    std::erase_if(renamed.result.loadgen->files,
                  [&](const FileHash& file) { return file.file.ends_with(name); });
    CHECK(refusal({renamed}).names(name));
  }
}

TEST_CASE("what LoadGen logs behind its verdict cannot be cut away", "[mlperf]") {
  const Run run([](Result&, json& timed, json&) { timed["early_stopping_met"] = false; });
  CHECK(refusal({run.test}).names("early stopping"));
  fs::rename(run.test.logs, run.folder / "x.loadgen");
  const PackagedTest renamed = packaged_test(run.folder / "x.json", run.test.result);
  const fs::path log = renamed.logs / kLogs.front();
  std::string kept;
  for (const std::string& line : split(read_file(log, 1 << 20), '\n')) {
    if (line.find("early_stopping_met") == std::string::npos) kept += line + "\n";
  }
  write_file_atomically(log, kept);
  CHECK(refusal({renamed}).names(kLogs.front()));
}
