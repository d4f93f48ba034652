#include "harness/mlperf/inference_package.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "harness/mlperf/package_scripts.hpp"
#include "harness/mlperf/system_description.hpp"
#include "harness/scenario/loadgen/log_reader.hpp"
#include "harness/scenario/loadgen/test_plan.hpp"
#include "harness/workload/capabilities.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kTimed = "performance/run_1";
constexpr const char* kAccuracy = "accuracy";
constexpr const char* kDetail = "mlperf_log_detail.txt";
constexpr const char* kSummary = "mlperf_log_summary.txt";
constexpr const char* kAnswers = "mlperf_log_accuracy.json";
constexpr std::size_t kLargestLog = std::size_t{64} << 20;
constexpr std::size_t kLargestAnswers = std::size_t{4} << 30;
/// Of the answers, at either end: the checker takes no more than 10 KiB of them.
constexpr std::size_t kKeptAnswers = 4096;

[[noreturn]] void refuse(const PackagedTest& test, const std::string& why,
                         const std::string& hint = {}) {
  throw Error(printable(test.file), why, hint, ExitCode::kInvalid);
}

/// A setting as LoadGen took it; null where the log has none.
json setting(const loadgen::TestLog& log, const char* name) {
  return log.effective.value(name, json());
}

double number_of(const loadgen::TestLog& log, const char* name) {
  const json value = setting(log, name);
  return value.is_number() ? value.get<double>() : 0;
}

/// What is packed is what the run left: each log has a SHA-256 in the result. Both may be called
/// otherwise since, so a log is known by its place below the folder of logs.
void check_logs(const PackagedTest& test) {
  const std::vector<FileHash>& files = test.result.loadgen->files;
  for (const std::string& log :
       {fmt::format("{}/{}", kTimed, kDetail), fmt::format("{}/{}", kTimed, kSummary),
        fmt::format("{}/{}", kAccuracy, kDetail), fmt::format("{}/{}", kAccuracy, kSummary),
        fmt::format("{}/{}", kAccuracy, kAnswers)}) {
    const std::string found = sha256_of_file(test.logs / log);
    const bool left = std::any_of(files.begin(), files.end(), [&](const FileHash& file) {
      return file.file.ends_with(".loadgen/" + log) && file.sha256 == found;
    });
    if (!left) refuse(test, fmt::format("its log {} is not as the run left it", log));
  }
}

const InferenceModel& model_of(const PackagedTest& test, const InferenceRules& rules) {
  const auto found = std::find_if(
      rules.models.begin(), rules.models.end(),
      [&](const InferenceModel& model) { return model.workload == test.result.rules.workload; });
  if (found != rules.models.end()) return *found;
  std::vector<std::string> known;
  for (const InferenceModel& model : rules.models) known.push_back(model.workload);
  refuse(test,
         fmt::format("MLPerf's checker counts no task like {}",
                     printable(test.result.rules.workload, 60)),
         "those it does: " + join(known, ", "));
}

void check_result(const PackagedTest& test, const InferenceModel& model) {
  const Result& result = test.result;
  if (result.status.state != RunState::kValid) refuse(test, "is not valid");
  const bool has_quality = result.quality && result.quality->quality.value.has_value();
  if (!has_quality || result.quality->quality.metric != model.metric) {
    refuse(test, fmt::format("has no {}, which is packed beside its speed", model.metric));
  }
}

void check_errors(const PackagedTest& test, const loadgen::TestLog& log) {
  if (log.errors > 0) refuse(test, "LoadGen logged an error: " + join(log.reasons, "; "));
}

void check_seeds(const PackagedTest& test, const loadgen::TestLog& log,
                 const InferenceRules& rules) {
  const loadgen::RoundSeeds seeds = loadgen::seeds_of_round(rules.round);
  const std::map<const char*, std::uint64_t> of_round = {{"qsl_rng_seed", seeds.samples},
                                                         {"sample_index_rng_seed", seeds.order},
                                                         {"schedule_rng_seed", seeds.schedule}};
  for (const auto& [name, seed] : of_round) {
    // As text: a double does not hold it.
    if (plain_text(setting(log, name)) == std::to_string(seed)) continue;
    refuse(test, fmt::format("its seeds are not those of MLPerf Inference {}", rules.ruleset),
           "--tier submission has them");
  }
}

/// What the checker looks at, and the duration, of which it believes what was asked for.
void check_timed(const PackagedTest& test, const loadgen::TestLog& log, const InferenceModel& model,
                 const InferenceRules& rules) {
  constexpr double kMilliseconds = 1e3;
  constexpr double kNanoseconds = 1e9;
  check_errors(test, log);
  if (log.number("early_stopping_met") == 0.0) {
    refuse(test, "early stopping is not met: " + join(log.reasons, "; "));
  }
  if (!log.valid) refuse(test, "LoadGen calls it INVALID: " + join(log.reasons, "; "));
  const double asked = number_of(log, "min_duration_ms") / kMilliseconds;
  const double most = number_of(log, "max_duration_ms") / kMilliseconds;
  if (asked < rules.min_seconds || test.result.loadgen->seconds < rules.min_seconds) {
    refuse(test,
           fmt::format("took {:.1f} s and was to take {:.1f} s, MLPerf asks for {}",
                       test.result.loadgen->seconds, asked, rules.min_seconds),
           "--tier submission is so long");
  }
  if (most > 0 && most < rules.min_seconds) {
    refuse(test, fmt::format("was to end after {:.1f} s, whatever its shortest time", most));
  }
  check_seeds(test, log, rules);
  const double kept = number_of(log, "performance_sample_count");
  if (kept < static_cast<double>(model.samples_in_memory)) {
    refuse(test,
           fmt::format("draws from {} samples, MLPerf asks for {}", kept, model.samples_in_memory));
  }
  const double bound = number_of(log, "target_latency_ns") / kNanoseconds;
  if (setting(log, "scenario") == "Server" && bound > model.latency_bound) {
    refuse(test, fmt::format("allows a latency of {} s, MLPerf {} s", bound, model.latency_bound));
  }
}

void check_accuracy(const PackagedTest& test, const loadgen::TestLog& log,
                    const InferenceModel& model) {
  check_errors(test, log);
  const double samples = number_of(log, "accuracy_sample_count");
  if (samples == static_cast<double>(model.samples)) return;
  refuse(test,
         fmt::format("its evaluation set has {} samples, MLPerf's {} has {}", samples, model.model,
                     model.samples),
         "--data with MLPerf's own data; of classify also --set times-over=5");
}

/// The quality in the words that the checker looks for, and the hash of all answers.
std::string accuracy_text(const PackagedTest& test, const InferenceModel& model,
                          const std::string& answers) {
  constexpr double kPercent = 100;
  return fmt::format("{}={:.3f}%, total={}\nhash={}\n", model.accuracy,
                     kPercent * *test.result.quality->quality.value, model.samples,
                     sha256_hex(answers));
}

/// Both ends of a text that is longer than the checker takes.
std::string shortened(const std::string& answers) {
  if (answers.size() <= 2 * kKeptAnswers) return answers;
  return answers.substr(0, kKeptAnswers) + "\n...\n" +
         answers.substr(answers.size() - kKeptAnswers);
}

/// What LoadGen was told, by the names of its log.
std::string user_conf(const std::string& mark, const loadgen::TestLog& log,
                      const std::string& scenario) {
  std::string text = fmt::format(
      "# {}\n# LoadGen read no file: each of these was set by the program, and is as LoadGen took "
      "it.\n",
      mark);
  for (const auto& [name, value] : log.effective.items()) {
    if (name == "scenario" || name == "test_mode") continue;
    text += fmt::format("*.{}.{} = {}\n", scenario, name, plain_text(value));
  }
  return text;
}

std::string readme(const std::string& mark, const PackagedTest& test, const InferenceModel& model,
                   const std::string& scenario) {
  const Result& result = test.result;
  const LoadGenFigure& figure = result.loadgen->figure;
  std::string text = fmt::format(
      "{}\n\n# {} ({}), {}\n\nOne run of the workload `{}` by harness {} (commit {}{}), under "
      "MLPerf's LoadGen {}.\n\n- {}: {} {}\n- {}: {}, target {}\n- Data: {}\n",
      mark, result.rules.workload, model.model, scenario, result.rules.workload,
      result.identity.harness_version, result.identity.git_commit,
      result.identity.git_dirty ? ", modified" : "", result.loadgen->version, figure.tag,
      figure.value, figure.unit, result.quality->quality.metric, *result.quality->quality.value,
      result.quality->target ? fmt::format("{}", *result.quality->target) : "none",
      data_text(result));
  if (result.dataset && result.dataset->details.contains(kTimesOver)) {
    text += fmt::format(
        "- The checker counts {} samples for {}. This evaluation set has fewer: each of its "
        "pictures was asked for {} times, and the quality is that of the set.\n",
        model.samples, model.model, result.dataset->details.at(kTimesOver));
  }
  return text + fmt::format(
                    "- The model is not MLPerf's {}, whose limits it is held to "
                    "(`model_mapping.json`): the division is open.\n- To repeat: `{}`\n",
                    model.model, repeat_command(result));
}

/// Adds a test's files below its scenario's folder.
void add_test(std::map<std::string, std::string>& files, const std::string& here,
              const std::string& mark, const PackagedTest& test, const InferenceModel& model,
              const loadgen::TestLog& timed) {
  const std::string scenario = plain_text(setting(timed, "scenario"));
  const std::string answers = read_file(test.logs / kAccuracy / kAnswers, kLargestAnswers);
  for (const char* folder : {kTimed, kAccuracy}) {
    for (const char* name : {kDetail, kSummary}) {
      files[fmt::format("{}/{}/{}", here, folder, name)] =
          read_file(test.logs / folder / name, kLargestLog);
    }
  }
  files[fmt::format("{}/{}/{}", here, kAccuracy, kAnswers)] = shortened(answers);
  files[fmt::format("{}/{}/accuracy.txt", here, kAccuracy)] = accuracy_text(test, model, answers);
  const json measured = measurements(mark, test.result);
  files[here + "/measurements.json"] = measured.dump(2, ' ', true) + "\n";
  files[here + "/user.conf"] = user_conf(mark, timed, scenario);
  files[here + "/README.md"] = readme(mark, test, model, scenario);
}

}  // namespace

PackagedTest packaged_test(const fs::path& file, Result result) {
  PackagedTest test{file.string(), std::move(result), file};
  if (!test.result.loadgen) {
    refuse(test, "is no run by LoadGen", "a package holds such runs, or five runs of training");
  }
  test.logs.replace_extension(".loadgen");
  if (!fs::is_directory(test.logs)) refuse(test, "has no logs of LoadGen beside it");
  return test;
}

std::map<std::string, std::string> make_inference_package(const std::vector<PackagedTest>& tests,
                                                          const InferenceRules& rules) {
  const std::string mark = fmt::format("REHEARSAL, no submission. {}", kUnverifiedNotice);
  const Result& first = tests.front().result;
  const std::string submitter = folder_name(submitter_name());
  const std::string platform = platform_name(first.system);
  const std::string system = folder_name(platform);
  const std::string root = "open/" + submitter;
  std::map<std::string, std::string> files;
  json mapping = {{"notice", mark}};
  std::set<std::string> places;
  for (const PackagedTest& test : tests) {
    const InferenceModel& model = model_of(test, rules);
    check_result(test, model);
    if (test.result.system.value("fingerprint", json()) !=
        first.system.value("fingerprint", json())) {
      refuse(test, "another machine than the first result's");
    }
    if (test.result.identity.git_commit != first.identity.git_commit) {
      refuse(test, "of another commit than the first result", "a package stands for one program");
    }
    check_logs(test);
    loadgen::require_whole_logs(test.logs / kTimed, false);
    loadgen::require_whole_logs(test.logs / kAccuracy, true);
    const loadgen::TestLog timed = loadgen::read_log(test.logs / kTimed / kDetail, true);
    check_timed(test, timed, model, rules);
    check_accuracy(test, loadgen::read_log(test.logs / kAccuracy / kDetail, false), model);
    const std::string here = fmt::format("{}/results/{}/{}/{}", root, system, model.workload,
                                         plain_text(setting(timed, "scenario")));
    if (!places.insert(here).second) {
      refuse(test,
             fmt::format("{} in {} is there twice", model.workload, test.result.rules.scenario),
             "choose one");
    }
    add_test(files, here, mark, test, model, timed);
    mapping[model.workload] = model.model;
  }
  const SystemDescriptionFacts facts = {
      submitter, "open", platform, framework_of(first),
      fmt::format("{} Commit {}.", mark, first.identity.git_commit)};
  files[fmt::format("{}/systems/{}.json", root, system)] =
      inference_system_description(facts, first.system).dump(2, ' ', true) + "\n";
  files[root + "/model_mapping.json"] = mapping.dump(2, ' ', true) + "\n";
  files[root + "/src/README.md"] = implementation_text(mark, first);
  return files;
}

}  // namespace harness
