// rules/checks.json: what the checks behind a quality have to be, and how many samples a step
// consumes. Both follow from the workload, so a result that says otherwise was not measured.
#pragma once

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/result/result.hpp"

namespace harness {

/// How the error of a check follows from its texts.
enum class ErrorMeasure {
  kAbsolute,
  kRelative,
  kOverOnePlus,
  kBoxes,
  kAtLeastRelative,
  kAtLeastOfNorm,
};

/// A kind of check of a quality.
struct QuantityRule {
  std::string name{};      ///< * stands for any text
  nlohmann::json count{};  ///< a number, a JSON pointer into the result, or null: any number
  std::map<std::string, double> missing{};  ///< precision -> so many fewer are enough
  bool one_of_many = false;                 ///< which of many values is shown depends on the run
  ErrorMeasure error = ErrorMeasure::kAbsolute;
  std::map<std::string, double> floor{};  ///< precision -> share of the norm of all norms
  std::map<std::string, std::pair<double, double>> tolerance{};  ///< precision -> from, to
};

struct QualityChecks {
  std::string metric{};
  std::vector<std::string> workloads{};
  double relative_rounding = 0;  ///< of the texts of a check
  double absolute_rounding = 0;
  std::optional<std::string> expected_sha256{};
  std::vector<QuantityRule> quantities{};
};

struct CheckRules {
  std::map<std::string, std::string> samples_per_step{};  ///< workload -> JSON pointer
  std::vector<QualityChecks> qualities{};

  /// Those of a quality in that precision, which each quantity has a tolerance for. Null for a
  /// quality without rules.
  const QualityChecks* of(const std::string& workload, const std::string& metric,
                          const std::string& precision) const;
  /// Whether there are any of such a quality, in whatever precision.
  bool has(const std::string& workload, const std::string& metric) const;
};

/// Reads rules/checks.json below `home`, once for all calls. Throws Error as load_rules() does.
const CheckRules& load_check_rules(const std::filesystem::path& home);

/// What `quality`, measured in `precision`, has that its rules do not allow, or lacks. `document`
/// is the result it is part of, at the JSON pointer `path`. Precondition: the rules are those of
/// that precision.
std::vector<Violation> check_checks(const QualityChecks& rules, const Quality& quality,
                                    const std::string& precision, const nlohmann::json& document,
                                    const std::string& path);

/// Throughput over the step times, and the samples of a training, against what a step consumes.
std::vector<Violation> check_samples_per_step(const CheckRules& rules, const Result& result,
                                              const nlohmann::json& document);

}  // namespace harness
