#include <fmt/format.h>

#include <cmath>

#include "harness/result/consistency.hpp"
#include "harness/result/consistency_common.hpp"

namespace harness {
namespace {

using nlohmann::json;

// Means of many small numbers, rounded by whoever added them up. A sum that overflowed is like
// none.
bool about(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  return std::abs(a - b) <= 1e-6 * std::max({std::abs(a), std::abs(b), 1e-3});
}

class Finder {
 public:
  explicit Finder(const Profile& profile) : profile_(profile), tables_(profile.tables) {}

  std::vector<SchemaProblem> find() {
    owners();
    steps();
    sums();
    overhead();
    return problems_.take();
  }

 private:
  void steps() {
    const Metric* recorded = find_metric(profile_.metrics, kRecordedStep);
    const std::size_t count = recorded == nullptr ? 0 : recorded->samples.size();
    problems_.expect(tables_.steps == count, "/profile/steps",
                     fmt::format("{}, but {} recorded steps have a time", tables_.steps, count));
  }

  void owners() {
    for (std::size_t i = 0; i < tables_.primitives.size(); ++i) {
      const auto& owner = tables_.primitives[i].owner;
      problems_.expect(!owner || *owner < tables_.operators.size(),
                       fmt::format("/profile/primitives/{}/operator", i),
                       fmt::format("{}, but there are {} operators", owner.value_or(0),
                                   tables_.operators.size()));
    }
  }

  void sums() {
    double inside = 0;
    std::vector<double> of_primitives(tables_.operators.size());
    double owned = 0;
    double all = 0;
    for (const PrimitiveRow& row : tables_.primitives) {
      all += row.seconds;
      if (!row.owner || *row.owner >= of_primitives.size()) continue;
      owned += row.seconds;
      of_primitives[*row.owner] += row.seconds;
    }
    for (std::size_t i = 0; i < tables_.operators.size(); ++i) {
      const OperatorRow& row = tables_.operators[i];
      inside += row.self_seconds;
      problems_.expect(
          about(row.primitive_seconds, of_primitives[i]),
          fmt::format("/profile/operators/{}/primitive_seconds", i),
          fmt::format("{}, but its primitives took {}", row.primitive_seconds, of_primitives[i]));
    }
    problems_.expect(about(inside + tables_.between_seconds, tables_.step_seconds),
                     "/profile/step_seconds",
                     fmt::format("{}, but operators and what lies between them took {}",
                                 tables_.step_seconds, inside + tables_.between_seconds));
    problems_.expect(about(tables_.attributed_share, all > 0 ? owned / all : 1),
                     "/profile/attributed_share", "is not what the primitives' owners say");
  }

  void overhead() {
    Profile again = profile_;
    measure_overhead(again);
    problems_.expect(again.overhead.has_value() == profile_.overhead.has_value(),
                     "/profile/overhead", "is not what the steps say");
    if (!again.overhead || !profile_.overhead) return;
    problems_.expect_same("/profile/overhead/center", profile_.overhead->center,
                          again.overhead->center);
    problems_.expect_same_bounds("/profile/overhead", *profile_.overhead, *again.overhead);
  }

  const Profile& profile_;
  const ProfileTables& tables_;
  ProblemList problems_;
};

}  // namespace

std::vector<SchemaProblem> find_inconsistencies(const Profile& profile, const json& document) {
  std::vector<SchemaProblem> problems =
      find_inconsistencies(static_cast<const Result&>(profile), document);
  std::vector<SchemaProblem> own = Finder(profile).find();
  problems.insert(problems.end(), own.begin(), own.end());
  return problems;
}

}  // namespace harness
