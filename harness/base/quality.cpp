#include "harness/base/quality.hpp"

#include <algorithm>
#include <utility>

namespace harness {

Quality share_of_tolerance(const std::string& metric, std::vector<Check> checks) {
  Quality quality{metric, Direction::kLower, 0.0, "", std::move(checks)};
  for (const Check& check : quality.checks) {
    if (check.error && check.tolerance > 0) {
      if (quality.value) quality.value = std::max(*quality.value, *check.error / check.tolerance);
    } else if (!check.error || !check.passed) {
      quality.value.reset();
      if (quality.reason.empty()) {
        quality.reason = check.name;
        quality.reason += check.error ? " differs" : " is not finite";
      }
    }
  }
  return quality;
}

std::optional<bool> quality_passed(const Quality& quality, std::optional<double> target) {
  const bool checks = std::all_of(quality.checks.begin(), quality.checks.end(),
                                  [](const Check& check) { return check.passed; });
  if (!checks) return false;
  if (!target) return quality.checks.empty() ? std::nullopt : std::optional(true);
  if (!quality.value) return false;
  return quality.direction == Direction::kLower ? *quality.value <= *target
                                                : *quality.value >= *target;
}

}  // namespace harness
