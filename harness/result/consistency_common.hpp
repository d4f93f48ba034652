// The checks of agreement that all kinds of result files share, and what collects their findings.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/result/result_common.hpp"
#include "harness/result/schema.hpp"

namespace harness {

/// Collects what does not hold, up to kMostProblems.
class ProblemList {
 public:
  void expect(bool holds, const std::string& path, std::string reason);
  /// `stored` against what was computed from the samples, but for what rounding may change.
  void expect_same(const std::string& path, const std::optional<double>& stored,
                   const std::optional<double>& computed);
  /// The bounds and the confidence; the center stands under another name in some objects.
  void expect_same_bounds(const std::string& path, const Interval& stored,
                          const Interval& computed);
  std::vector<SchemaProblem> take() { return std::move(problems_); }

 private:
  std::vector<SchemaProblem> problems_;
};

/// Equal but for what another library version may round otherwise.
bool nearly_equal(double a, double b);

/// Order of times and runs, division, status, and a reason for each null anywhere in `document`.
void check_common(const ResultCommon& common, const nlohmann::json& document,
                  ProblemList& problems);
/// `passed` of each check and of the whole, and the target against the settings' one; `path` is
/// where the report stands.
void check_quality(const QualityReport& report, const Settings& settings, const std::string& path,
                   ProblemList& problems);

}  // namespace harness
