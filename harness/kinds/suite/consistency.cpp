#include "harness/kinds/suite/consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/quality.hpp"
#include "harness/base/text.hpp"
#include "harness/result/consistency_common.hpp"

namespace harness {
namespace {

class Finder {
 public:
  explicit Finder(const Suite& suite) : suite_(suite) {}

  std::vector<SchemaProblem> find(const nlohmann::json& document) {
    check_common(suite_, document, problems_);
    for (std::size_t i = 0; i < suite_.tasks.size(); ++i) {
      const std::string path = fmt::format("/tasks/{}", i);
      task(suite_.tasks[i], path);
      if (suite_.tasks[i].quality)
        share(*suite_.tasks[i].quality, document, path + "/quality/share");
    }
    const auto named = [](const auto& setting) { return split(plain_text(setting), ','); };
    const nlohmann::json& effective = suite_.settings.effective;
    planned(named(effective.at("tasks")), named(effective.at("scenarios")));
    score();
    return problems_.take();
  }

 private:
  void share(const SuiteQuality& quality, const nlohmann::json& document, const std::string& path) {
    const nlohmann::json& stored = document.at(nlohmann::json::json_pointer(path));
    problems_.expect_same(path,
                          stored.is_null() ? std::nullopt : std::optional(stored.get<double>()),
                          share_of_fp32(quality));
  }

  void task(const SuiteTask& task, const std::string& path) {
    problems_.expect_once(names_, name_of(task), path);
    if (task.run) {
      problems_.expect_once(files_, task.run->file, path + "/run/file");
      problems_.expect_once(uuids_, task.run->uuid, path + "/run/uuid");
    }
    problems_.expect(task.available || !task.run, path + "/available", "false, with a run");
    problems_.expect(task.run || !task.figure, path + "/figure", "there, without a run");
    problems_.expect(task.run || !task.quality, path + "/quality", "there, without a run");
    if (task.quality) quality(task, path + "/quality");
    problems_.expect(task.ratio.has_value() == task.reference.has_value(), path + "/ratio",
                     "ratio and reference go together");
    problems_.expect(!task.ratio || suite_.reference, path + "/ratio",
                     "there, although nothing is said of a reference");
    if (!task.ratio || !task.reference) return;
    problems_.expect(counts(task), path + "/ratio", "there, although the run does not count");
    if (!counts(task)) return;
    problems_.expect_same(path + "/ratio", task.ratio, ratio_of(*task.figure, *task.reference));
  }

  void quality(const SuiteTask& task, const std::string& path) {
    const SuiteQuality& quality = *task.quality;
    const bool good = quality.passed.value_or(true);
    problems_.expect(task.run->state != RunState::kValid || good, path + "/passed",
                     "false, although the run is valid");
    if (!quality.target) return;
    Quality plain;
    plain.metric = quality.metric;
    plain.direction = quality.direction;
    plain.value = quality.value;
    // Checks of its own can only make it worse.
    const bool reached = quality_passed(plain, quality.target).value_or(true);
    problems_.expect(!quality.passed.value_or(false) || reached, path + "/passed",
                     "true, although the value misses the target");
  }

  /// Nothing that was planned goes unmentioned.
  void planned(const std::vector<std::string>& tasks, const std::vector<std::string>& scenarios) {
    std::size_t number = 0;
    for (const std::string& workload : tasks) {
      for (const std::string& scenario : scenarios) {
        ++number;
        problems_.expect(names_.contains(workload + "/" + scenario), "/tasks",
                         fmt::format("{}/{} is not there, although the settings name it",
                                     printable(workload, 64), printable(scenario, 64)));
      }
    }
    problems_.expect(
        suite_.tasks.size() == number, "/tasks",
        fmt::format("{} of them, but the settings name {}", suite_.tasks.size(), number));
  }

  void score() {
    const SuiteScore again = score_of(suite_);
    problems_.expect_same("/score/value", suite_.score.value, again.value);
    problems_.expect(suite_.score.counted == again.counted, "/score/counted",
                     "is not what the ratios of the tasks give");
    problems_.expect(std::equal(suite_.score.missing.begin(), suite_.score.missing.end(),
                                again.missing.begin(), again.missing.end(),
                                [](const LeftOut& a, const LeftOut& b) {
                                  return a.name == b.name && a.reason == b.reason;
                                }),
                     "/score/left_out", "is not what the tasks give");
  }

  const Suite& suite_;
  ProblemList problems_{};
  std::set<std::string> names_{};
  std::set<std::string> files_{};
  std::set<std::string> uuids_{};
};

}  // namespace

std::vector<SchemaProblem> find_inconsistencies(const Suite& suite,
                                                const nlohmann::json& document) {
  return Finder(suite).find(document);
}

}  // namespace harness
