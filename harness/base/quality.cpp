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

}  // namespace harness
