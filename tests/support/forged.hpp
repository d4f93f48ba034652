// Files of honest measurements, to be altered and judged as `harness validate` does.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/result_json.hpp"
#include "harness/stats/stats.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/temporary_folder.hpp"

namespace harness {

/// What a command of the program under test leaves behind: its one result.
inline nlohmann::json measured(std::vector<std::string> command) {
  const TemporaryFolder folder;
  command.insert(command.end(), {"--out", folder.path().string()});
  const Outcome outcome = run_harness(command);
  CAPTURE(outcome.err);
  REQUIRE(outcome.code == 0);
  const std::vector<std::filesystem::path> files = files_ending(folder.path(), ".json");
  REQUIRE(files.size() == 1);
  return nlohmann::json::parse(read_file(files[0], 64 << 20));
}

/// The verdict on a document whose digest fits, as that of a careful forger does.
inline CheckedFile judged(nlohmann::json document) {
  document["digest"] = digest_of(document);
  return check_result("forged.json", document);
}

/// Index of the metric of that tag.
inline std::size_t place_of(const nlohmann::json& document, const std::string& tag) {
  const nlohmann::json& metrics = document.at("metrics");
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].at("tag") == tag) return i;
  }
  FAIL("no metric " << tag);
  return 0;
}

inline nlohmann::json& metric_of(nlohmann::json& document, const std::string& tag) {
  return document["metrics"][place_of(document, tag)];
}

/// Applies `change` to a metric's values and computes its summary again, so that only what follows
/// from other metrics is wrong.
inline void rewrite(nlohmann::json& document, const std::string& tag,
                    const std::function<double(std::size_t place, double value)>& change) {
  nlohmann::json& object = metric_of(document, tag);
  Metric metric = metric_from_json(object);
  for (std::size_t i = 0; i < metric.samples.size(); ++i) {
    if (metric.samples[i].value) metric.samples[i].value = change(i, *metric.samples[i].value);
  }
  summarise(metric);
  object = metric_json(metric);
}

/// `value` in the place of one sample.
inline void rewrite(nlohmann::json& document, const std::string& tag, std::size_t place,
                    double value) {
  rewrite(document, tag, [&](std::size_t i, double old) { return i == place ? value : old; });
}

/// "/metrics/{time.step}/unit" with the place of the metric.
inline std::string with_place(const nlohmann::json& document, std::string pointer) {
  const std::size_t begin = pointer.find('{');
  if (begin == std::string::npos) return pointer;
  const std::size_t end = pointer.find('}');
  const std::size_t place = place_of(document, pointer.substr(begin + 1, end - begin - 1));
  return pointer.replace(begin, end - begin + 1, std::to_string(place));
}

struct Forgery {
  const char* what;
  std::function<void(nlohmann::json&)> edit;
  const char* pointer;  ///< that has to be named; {TAG} stands for the place of a metric
};

inline bool names(const CheckedFile& checked, const std::string& pointer) {
  const auto& problems = checked.report.problems;
  return std::any_of(problems.begin(), problems.end(),
                     [&](const SchemaProblem& problem) { return problem.path == pointer; });
}

inline std::string listed(const CheckedFile& checked) {
  std::string text = checked.report.summary;
  for (const SchemaProblem& problem : checked.report.problems) {
    text += "\n  " + problem.path + ": " + problem.reason;
  }
  return text;
}

/// The honest file is valid, and each forgery of it is refused at its place.
inline void refuse_all(const nlohmann::json& honest, const std::vector<Forgery>& forgeries) {
  const CheckedFile before = judged(honest);
  INFO(listed(before));
  REQUIRE(before.report.code == ExitCode::kOk);
  for (const Forgery& forgery : forgeries) {
    nlohmann::json copy = honest;
    forgery.edit(copy);
    const std::string pointer = with_place(honest, forgery.pointer);
    const CheckedFile checked = judged(std::move(copy));
    CAPTURE(forgery.what, pointer, listed(checked));
    CHECK(checked.report.code == ExitCode::kInvalid);
    CHECK(names(checked, pointer));
  }
}

/// Alters every value that a pattern finds (* stands for each member or place), one at a time, and
/// expects each to be refused, by its own pointer or that of what it is part of.
inline void refuse_changes(const nlohmann::json& honest, const std::vector<std::string>& patterns) {
  const nlohmann::json flat = honest.flatten();
  for (const std::string& pattern : patterns) {
    const std::vector<std::string> wanted = split(pattern, '/');
    std::size_t altered = 0;
    for (const auto& [pointer, value] : flat.items()) {
      const std::vector<std::string> steps = split(pointer, '/');
      const bool fits =
          steps.size() == wanted.size() && std::equal(steps.begin(), steps.end(), wanted.begin(),
                                                      [](const auto& step, const auto& want) {
                                                        return want == "*" || want == step;
                                                      });
      if (!fits || value.is_null()) continue;
      ++altered;
      nlohmann::json copy = honest;
      nlohmann::json& place = copy[nlohmann::json::json_pointer(pointer)];
      if (value.is_boolean()) {
        place = !value.get<bool>();
      } else if (value.is_number_integer()) {
        place = value.get<std::int64_t>() + 1;
      } else {
        place = value.get<double>() * 1.25 + 1e-3;
      }
      const CheckedFile checked = judged(std::move(copy));
      CAPTURE(pointer, listed(checked));
      CHECK(checked.report.code == ExitCode::kInvalid);
      const auto& problems = checked.report.problems;
      CHECK(std::any_of(problems.begin(), problems.end(), [&](const SchemaProblem& problem) {
        return !problem.path.empty() && (pointer + "/").starts_with(problem.path + "/");
      }));
    }
    CAPTURE(pattern);
    CHECK(altered > 0);
  }
}

}  // namespace harness
