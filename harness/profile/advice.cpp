#include "harness/profile/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "harness/base/text.hpp"
#include "harness/profile/views.hpp"

namespace harness {
namespace {

constexpr double kWorthwhile = 0.01;  // of a step

// Seconds in the system that some dozens of its ticks tell apart from the program's own.
constexpr double kSoundSystemTime = 0.2;

class Adviser {
 public:
  Adviser(const ProfileTables& tables, const AdviceFacts& facts)
      : tables_(tables), facts_(facts), step_{tables} {
    step_.bandwidth = facts.copy_bandwidth > 0 ? facts.copy_bandwidth : operator_bandwidth(tables);
    step_.fault_seconds = facts.fault_seconds;
    step_.system_factor = system_factor(tables, step_.bandwidth);
    step_.without_faults = facts.allocator == "system";
    step_.unrecorded = unrecorded_share();
  }

  std::vector<Advice> run() {
    memory();
    remedies();
    slow_implementations();
    cache_misses();
    threads();
    precision();
    drop_small();
    const auto rank = [](const Advice& advice) { return advice.expected_seconds.value_or(0); };
    std::stable_sort(found_.begin(), found_.end(), [&](const Advice& a, const Advice& b) {
      if (a.changes_numbers != b.changes_numbers) return b.changes_numbers;
      return rank(a) > rank(b);
    });
    return std::move(found_);
  }

 private:
  /// Recording costs time at each operator, and none within a primitive.
  double unrecorded_share() const {
    double outside = 0;
    for (const OperatorRow& row : tables_.operators) outside += std::max(row.gap_seconds(), 0.0);
    if (outside <= 0 || facts_.step_seconds <= 0) return 1;
    const double cost = tables_.step_seconds - facts_.step_seconds;
    return std::clamp(1 - cost / outside, 0.0, 1.0);
  }

  // What one change brings counts together, however many reasons there are for it.
  void drop_small() {
    std::map<std::optional<AdvisedChange>, double> sums;
    for (const Advice& advice : found_) {
      sums[advice.change] += advice.expected_seconds.value_or(0);
    }
    const double least = kWorthwhile * facts_.step_seconds;
    std::erase_if(found_, [&](const Advice& advice) {
      if (!advice.expected_seconds) return false;
      if (*advice.expected_seconds <= 0) return true;
      return advice.change ? sums[advice.change] < least : *advice.expected_seconds < least;
    });
  }

  bool possible(const char* setting, const char* value) const {
    const AdvisedChange wanted{setting, value};
    return std::find(facts_.possible.begin(), facts_.possible.end(), wanted) !=
           facts_.possible.end();
  }

  void memory() {
    if (!possible("allocator", "pooled")) return;
    double faults = 0, seconds = 0, in_primitives = 0;
    for (const OperatorRow& row : tables_.operators) {
      faults += row.page_faults;
      const double cost = step_.fault_cost(row);
      seconds += cost;
      if (tables_.system && row.self_seconds > 0) {
        in_primitives += cost * std::clamp(row.primitive_seconds / row.self_seconds, 0.0, 1.0);
      }
    }
    // Between operators, too, there is memory to take back.
    if (tables_.system) {
      const SystemTime& system = *tables_.system;
      seconds = system.page_faults > 0
                    ? std::min(step_.system_factor * system.seconds, tables_.step_seconds)
                    : 0;
    }
    found_.push_back({"memory",
                      fmt::format("{} a step: memory goes back to the system and is requested "
                                  "again",
                                  page_faults_text(faults)),
                      price_of_faults(), AdvisedChange{"allocator", "pooled"}, seconds, false,
                      in_primitives});
  }

  std::string price_of_faults() const {
    const std::string at =
        step_.bandwidth > 0 ? " at " + format_quantity(step_.bandwidth, "B/s") : std::string();
    if (!tables_.system) {
      return fmt::format(
          "{} a fault in a loop here, as the profile is older than schema 1.5.0 and tells none of "
          "its own; at most what an operator took beyond moving its bytes{}",
          format_quantity(facts_.fault_seconds, "s"), at);
    }
    const SystemTime& system = *tables_.system;
    std::string text = fmt::format(
        "{} that the step's thread spent in the operating system, {} for each of its "
        "{:.3g} million faults",
        format_quantity(system.seconds, "s"), format_quantity(system.fault_seconds(), "s"),
        system.page_faults * 1e-6);
    if (step_.system_factor > 1) {
      text += fmt::format(
          "; times {:.2f}, for half of what operators took beyond that and moving "
          "their bytes{}",
          step_.system_factor, at);
    }
    if (system.seconds * static_cast<double>(tables_.steps) < kSoundSystemTime) {
      text += "; a short sample: profile with more --steps";
    }
    return text;
  }

  void remedies() {
    for (const OfferedRemedy& offered : facts_.remedies) {
      step_.recorded = offered.recorded_seconds;
      step_.replayed = offered.replayed_seconds;
      std::optional<Advice> advice = offered.remedy.price(step_);
      if (!advice) continue;
      advice->change = offered.remedy.change;
      found_.push_back(std::move(*advice));
    }
  }

  void slow_implementations() {
    double slow = 0, slow_flops = 0, fast = 0, fast_flops = 0;
    std::set<std::string> names;
    for (const PrimitiveRow& row : tables_.primitives) {
      const double flops = row.flops.value_or(0) * row.calls;
      if (is_reference_implementation(row.primitive.implementation)) {
        slow += row.seconds;
        slow_flops += flops;
        names.insert(row.primitive.kind + " as " + row.primitive.implementation);
      } else if (flops > 0) {
        fast += row.seconds;
        fast_flops += flops;
      }
    }
    if (names.empty()) return;
    Advice advice{"slow implementations",
                  fmt::format("{} a step in {}", format_quantity(slow, "s"),
                              join({names.begin(), names.end()}, ", ")),
                  "their operations at the rate of the other primitives",
                  std::nullopt,
                  std::nullopt,
                  false};
    if (slow_flops > 0 && fast_flops > 0) {
      advice.primitive_seconds = std::max(slow - slow_flops * fast / fast_flops, 0.0);
      advice.expected_seconds = advice.primitive_seconds;
    }
    found_.push_back(std::move(advice));
  }

  void cache_misses() {
    double created = 0;
    for (const PrimitiveRow& row : tables_.primitives) created += row.created;
    if (created < 1) return;
    found_.push_back({"primitive cache",
                      fmt::format("{:.3g} primitives a step are created again: set "
                                  "ONEDNN_PRIMITIVE_CACHE_CAPACITY above 1024, or keep them",
                                  created),
                      "", std::nullopt, std::nullopt, false});
  }

  void threads() {
    if (facts_.threads == facts_.usable_cores) return;
    found_.push_back(
        {"threads",
         fmt::format("{} on {}; 'harness project FILE --set threads={}' tells what that "
                     "brings",
                     format_count(facts_.threads, "thread"),
                     format_count(facts_.usable_cores, "usable physical core"),
                     facts_.usable_cores),
         "", AdvisedChange{"threads", std::to_string(facts_.usable_cores)}, std::nullopt, false});
  }

  void precision() {
    // From int8 to bf16 nothing is replayed: the primitives are other ones.
    if (facts_.precision == "int8" || !possible("precision", "bf16")) return;
    Advice advice{"precision",
                  fmt::format("{} arithmetic throughout", facts_.precision),
                  "replays of all primitives in bf16",
                  AdvisedChange{"precision", "bf16"},
                  std::nullopt,
                  true};
    if (facts_.projected_bf16) {
      advice.expected_seconds = std::max(facts_.step_seconds - *facts_.projected_bf16, 0.0);
    }
    found_.push_back(std::move(advice));
  }

  const ProfileTables& tables_;
  const AdviceFacts& facts_;
  PricedStep step_;
  std::vector<Advice> found_{};
};

}  // namespace

std::vector<Advice> advise(const ProfileTables& tables, const AdviceFacts& facts) {
  return Adviser(tables, facts).run();
}

double unexplained_seconds(const ProfileTables& tables, double step_seconds,
                           const std::vector<Advice>& advice) {
  double left = step_seconds - working_seconds(tables);
  for (const Advice& one : advice) {
    if (one.changes_numbers) continue;
    left -= one.expected_seconds.value_or(0) - one.primitive_seconds;
  }
  return std::max(left, 0.0);
}

}  // namespace harness
