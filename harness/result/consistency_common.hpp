// The checks of agreement that all kinds of result files share, and what collects their findings.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
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
  /// These and the center, of an interval at `path`.
  void expect_same_interval(const std::string& path, const Interval& stored,
                            const Interval& computed);
  /// `name` stands at `path`, and is not among those that were `seen`.
  void expect_once(std::set<std::string>& seen, const std::string& name, const std::string& path);
  std::vector<SchemaProblem> take() { return std::move(problems_); }

 private:
  std::vector<SchemaProblem> problems_;
};

/// Seconds are read as doubles that count from the machine's start. After a year one reading is
/// rounded by up to 2 ns, and a span takes two.
inline constexpr double kClockRounding = 4e-9;

/// Equal but for what another library version may round otherwise.
bool nearly_equal(double a, double b);

/// Order of times and runs, dates against the clock, seed, division, status, and a reason for each
/// null anywhere in `document`.
void check_common(const ResultCommon& common, const nlohmann::json& document,
                  ProblemList& problems);
/// Value, error and `passed` of the checks and of the whole, the target against the settings' one;
/// `steps` were run before it, if that is known; `path` is where the report stands.
void check_quality(const QualityReport& report, const Settings& settings,
                   std::optional<std::int64_t> steps, const std::string& path,
                   ProblemList& problems);

}  // namespace harness
