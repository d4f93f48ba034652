#include "harness/result/profile_consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "harness/result/consistency.hpp"
#include "harness/result/consistency_common.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr double kRounding = 1e-6;
// The recording has a clock of its own.
constexpr double kOtherClock = 0.01;

// By which a system may be wrong that counts its own time in ticks.
constexpr double kTick = 0.02;

// Means of many small numbers, rounded by whoever added them up. A sum that overflowed is like
// none.
bool about(double a, double b) {
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  return std::abs(a - b) <= kRounding * std::max({std::abs(a), std::abs(b), 1e-3});
}

class Finder {
 public:
  explicit Finder(const Profile& profile) : profile_(profile), tables_(profile.tables) {}

  std::vector<SchemaProblem> find() {
    owners();
    steps();
    sums();
    counts();
    system();
    order();
    overhead();
    return problems_.take();
  }

 private:
  void steps() {
    const Metric* recorded = find_metric(profile_.metrics, kRecordedStep);
    const std::size_t count = recorded == nullptr ? 0 : recorded->samples.size();
    problems_.expect(tables_.steps == count, "/profile/steps",
                     fmt::format("{}, but {} recorded steps have a time", tables_.steps, count));
    if (count == 0) return;
    double sum = 0;
    for (const Sample& sample : recorded->samples) sum += sample.value.value_or(0);
    // What is recorded of a step begins before its clock does and ends after it.
    const double timed = sum / static_cast<double>(count);
    problems_.expect(
        tables_.step_seconds >= timed * (1 - kOtherClock) - kOtherClock * 0.1,
        "/profile/step_seconds",
        fmt::format("{}, but the recorded steps took {}", tables_.step_seconds, timed));
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

  struct Owned {
    double seconds = 0;
    double reorder_seconds = 0;
    double flops = 0;
  };

  void sums() {
    double inside = 0;
    std::vector<Owned> of_primitives(tables_.operators.size());
    double owned = 0;
    double all = 0;
    for (const PrimitiveRow& row : tables_.primitives) {
      all += row.seconds;
      if (!row.owner || *row.owner >= of_primitives.size()) continue;
      owned += row.seconds;
      Owned& sum = of_primitives[*row.owner];
      sum.seconds += row.seconds;
      if (row.primitive.kind == "reorder") sum.reorder_seconds += row.seconds;
      sum.flops += row.flops.value_or(0) * row.calls;
    }
    for (std::size_t i = 0; i < tables_.operators.size(); ++i) {
      const OperatorRow& row = tables_.operators[i];
      inside += row.self_seconds;
      const std::string path = fmt::format("/profile/operators/{}", i);
      const auto same = [&](const char* member, double stored, double computed) {
        problems_.expect(about(stored, computed), fmt::format("{}/{}", path, member),
                         fmt::format("{}, but its primitives took {}", stored, computed));
      };
      same("primitive_seconds", row.primitive_seconds, of_primitives[i].seconds);
      same("reorder_seconds", row.reorder_seconds, of_primitives[i].reorder_seconds);
      // Operators of our own have more than their primitives.
      problems_.expect(
          row.flops >= of_primitives[i].flops * (1 - kRounding), path + "/flops",
          fmt::format("{}, but its primitives have {}", row.flops, of_primitives[i].flops));
    }
    problems_.expect(about(inside + tables_.between_seconds, tables_.step_seconds),
                     "/profile/step_seconds",
                     fmt::format("{}, but operators and what lies between them took {}",
                                 tables_.step_seconds, inside + tables_.between_seconds));
    problems_.expect(about(tables_.attributed_share, all > 0 ? owned / all : 1),
                     "/profile/attributed_share", "is not what the primitives' owners say");
  }

  // Means over the steps of whole numbers of calls.
  void counts() {
    const auto steps = static_cast<double>(tables_.steps);
    const auto whole = [&](double calls, const std::string& path) {
      const double count = calls * steps;
      problems_.expect(
          count > 0.5 && std::abs(count - std::round(count)) <= kRounding * count, path + "/calls",
          fmt::format("{} in each of {} steps are no whole number together", calls, tables_.steps));
    };
    for (std::size_t i = 0; i < tables_.operators.size(); ++i) {
      whole(tables_.operators[i].calls, fmt::format("/profile/operators/{}", i));
    }
    for (std::size_t i = 0; i < tables_.primitives.size(); ++i) {
      const PrimitiveRow& row = tables_.primitives[i];
      const std::string path = fmt::format("/profile/primitives/{}", i);
      whole(row.calls, path);
      // Half of all calls take the median or longer; of one call or two it is the mean.
      const double at_median = row.primitive.milliseconds * 1e-3 * row.calls;
      const bool is_mean = row.calls * steps < 2.5;
      problems_.expect(
          is_mean ? about(at_median, row.seconds) : at_median <= 2 * row.seconds * (1 + kRounding),
          path + "/median_milliseconds",
          fmt::format("{}, but {} calls took {} s", row.primitive.milliseconds, row.calls,
                      row.seconds));
    }
  }

  // What the steps' thread left to the system is part of its time, in each operator and in the
  // step.
  void system() {
    const auto within = [](double part, double whole, double tick) {
      return part <= whole * (1 + kRounding) + tick + kRounding;
    };
    double sum = 0;
    for (std::size_t i = 0; i < tables_.operators.size(); ++i) {
      const OperatorRow& row = tables_.operators[i];
      sum += row.system_seconds;
      problems_.expect(
          within(row.system_seconds, row.self_seconds, kTick * std::max(row.calls, 1.0)),
          fmt::format("/profile/operators/{}/system_seconds", i),
          fmt::format("{}, but it took {}", row.system_seconds, row.self_seconds));
    }
    if (!tables_.system) {
      problems_.expect(sum == 0, "/profile/system",
                       "is missing, but operators have seconds in the system");
      return;
    }
    const auto& [seconds, faults] = *tables_.system;
    const double count = faults * static_cast<double>(tables_.steps);
    problems_.expect(std::abs(count - std::round(count)) <= kRounding * count,
                     "/profile/system/page_faults", "is no mean of whole numbers");
    problems_.expect(within(sum, seconds, 0), "/profile/system/seconds",
                     fmt::format("{}, but the operators have {}", seconds, sum));
    problems_.expect(within(seconds, tables_.step_seconds, kTick), "/profile/system/seconds",
                     fmt::format("{}, but a step took {}", seconds, tables_.step_seconds));
  }

  // The longest first, and memory as time went by.
  void order() {
    const auto descending = [&](const auto& rows, const auto& value, const char* name) {
      for (std::size_t i = 1; i < rows.size(); ++i) {
        problems_.expect(value(rows[i]) <= value(rows[i - 1]),
                         fmt::format("/profile/{}/{}", name, i),
                         "is more than the one before it: the most comes first");
      }
    };
    descending(
        tables_.operators, [](const OperatorRow& row) { return row.self_seconds; }, "operators");
    descending(
        tables_.primitives, [](const PrimitiveRow& row) { return row.seconds; }, "primitives");
    descending(
        tables_.allocations, [](const LargeAllocation& item) { return item.bytes; }, "allocations");
    for (std::size_t i = 0; i < tables_.memory.size(); ++i) {
      const double before = i == 0 ? 0 : tables_.memory[i - 1].seconds;
      problems_.expect(tables_.memory[i].seconds >= before, fmt::format("/profile/memory/{}/0", i),
                       "is earlier than the point before it");
    }
  }

  void overhead() {
    Profile again = profile_;
    measure_overhead(again);
    problems_.expect(again.overhead.has_value() == profile_.overhead.has_value(),
                     "/profile/overhead", "is not what the steps say");
    if (!again.overhead || !profile_.overhead) return;
    problems_.expect_same_interval("/profile/overhead", *profile_.overhead, *again.overhead);
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
