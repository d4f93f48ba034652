#include "harness/result/ablation_consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/result/consistency_common.hpp"
#include "harness/result/consistency_times.hpp"

namespace harness {
namespace {

using nlohmann::json;

class Finder {
 public:
  explicit Finder(const Ablation& ablation) : ablation_(ablation) {
    const json& effective = ablation.settings.effective;
    warmup_rounds_ = effective.value("warmup_rounds", std::int64_t{0});
    planned_rounds_ = warmup_rounds_ + effective.value("rounds", std::int64_t{0});
    steps_per_turn_ = effective.value("steps_per_turn", std::size_t{1});
  }

  std::vector<SchemaProblem> find(const json& document) {
    check_common(ablation_, document, problems_);
    names();
    for (std::size_t i = 0; i < ablation_.variants.size(); ++i) turns(i);
    figures(document);
    for (std::size_t i = 0; i < ablation_.variants.size(); ++i) quality(i);
    check_duration(ablation_, seconds_of_steps(), problems_);
    return problems_.take();
  }

 private:
  static std::string path_of(std::size_t i) { return fmt::format("/variants/{}", i); }

  void names() {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < ablation_.variants.size(); ++i) {
      const Variant& variant = ablation_.variants[i];
      problems_.expect_once(seen, variant.name, path_of(i) + "/name");
      const std::string& previous = variant.to_previous.to;
      problems_.expect(previous.empty() || (previous != variant.name && seen.contains(previous)),
                       path_of(i) + "/ratio_to_previous/to",
                       "'" + previous + "' is no variant that stands before it");
    }
    for (std::size_t i = 0; i < ablation_.left_out.size(); ++i) {
      problems_.expect(!seen.contains(ablation_.left_out[i].name),
                       fmt::format("/left_out/{}/name", i), "was measured all the same");
    }
  }

  // Only whole rounds are kept, so each variant has a turn in each of them.
  void turns(std::size_t i) {
    const std::vector<Turn>& turns = ablation_.variants[i].turns;
    const std::size_t rounds = ablation_.variants.front().turns.size();
    const bool ended = ablation_.status.state == RunState::kValid;
    problems_.expect(
        turns.size() == rounds && (!ended || static_cast<std::int64_t>(rounds) == planned_rounds_),
        path_of(i) + "/turns",
        fmt::format("{} turns, where the first variant has {} and {} were planned", turns.size(),
                    rounds, planned_rounds_));
    for (std::size_t k = 0; k < turns.size(); ++k) {
      const Turn& turn = turns[k];
      const std::string path = fmt::format("{}/turns/{}", path_of(i), k);
      problems_.expect(turn.round == static_cast<std::int64_t>(k + 1), path + "/round",
                       fmt::format("{}, but it is turn {}", turn.round, k + 1));
      problems_.expect(turn.warmup == (turn.round <= warmup_rounds_), path + "/warmup",
                       fmt::format("{} in round {}, with {} warm-up rounds", turn.warmup,
                                   turn.round, warmup_rounds_));
      const std::vector<std::size_t> order = turn_order(turn.round, ablation_.variants.size());
      const bool in_order = turn.order >= 1 &&
                            turn.order <= static_cast<std::int64_t>(order.size()) &&
                            order[static_cast<std::size_t>(turn.order - 1)] == i;
      problems_.expect(in_order, path + "/order",
                       fmt::format("{}: rounds go forwards and backwards in turn", turn.order));
      problems_.expect(
          turn.step_seconds.size() == steps_per_turn_, path + "/step_seconds",
          fmt::format("{} steps, but a turn has {}", turn.step_seconds.size(), steps_per_turn_));
      for (const auto& [phase, seconds] : turn.phase_seconds) {
        problems_.expect(
            seconds.size() == turn.step_seconds.size(),
            fmt::format("{}/phase_seconds/{}", path, pointer_step(phase)),
            fmt::format("{} numbers for {} steps", seconds.size(), turn.step_seconds.size()));
      }
      phases_within_steps(turn, path);
    }
  }

  void phases_within_steps(const Turn& turn, const std::string& path) {
    const double rounding = kClockRounding * static_cast<double>(turn.phase_seconds.size() + 1);
    for (std::size_t k = 0; k < turn.step_seconds.size(); ++k) {
      double sum = 0;
      for (const auto& [phase, seconds] : turn.phase_seconds) {
        if (k >= seconds.size()) continue;
        sum += seconds[k];
        problems_.expect(seconds[k] >= 0,
                         fmt::format("{}/phase_seconds/{}/{}", path, pointer_step(phase), k),
                         "no time is below 0");
      }
      if (sum <= turn.step_seconds[k] * (1 + 1e-9) + rounding) continue;
      problems_.expect(
          false, fmt::format("{}/step_seconds/{}", path, k),
          fmt::format("{} s, but its phases together took {} s", turn.step_seconds[k], sum));
    }
  }

  double seconds_of_steps() const {
    double seconds = 0;
    for (const Variant& variant : ablation_.variants) {
      for (const Turn& turn : variant.turns) {
        for (const double step : turn.step_seconds) seconds += step;
      }
    }
    return seconds;
  }

  void figures(const json& document) {
    std::vector<std::string> builds_on;
    for (const Variant& variant : ablation_.variants) builds_on.push_back(variant.to_previous.to);
    Ablation again = ablation_;
    summarise(again, builds_on);
    for (std::size_t i = 0; i < again.variants.size(); ++i) {
      const Variant& stored = ablation_.variants[i];
      const Variant& computed = again.variants[i];
      const std::string path = path_of(i);
      problems_.expect_same(path + "/median_seconds", stored.median_seconds,
                            computed.median_seconds);
      speedup(path + "/ratio_to_first", stored.to_first, computed.to_first);
      speedup(path + "/ratio_to_previous", stored.to_previous, computed.to_previous);
      speedup(path + "/ratio_to_reference", stored.to_reference, computed.to_reference);
      phases(path + "/phases", stored.phases, computed.phases);
      const json& passed = document.at("variants").at(i).at("quality_passed");
      const bool judged = stored.quality && stored.quality->passed.has_value();
      problems_.expect(judged ? passed == stored.quality->passed.value_or(false) : passed.is_null(),
                       path + "/quality_passed", "is not what quality/passed says");
    }
  }

  void phases(const std::string& path, const std::vector<VariantPhase>& stored,
              const std::vector<VariantPhase>& computed) {
    problems_.expect(
        stored.size() == computed.size(), path,
        fmt::format("{} phases, but the turns have {}", stored.size(), computed.size()));
    for (std::size_t i = 0; i < std::min(stored.size(), computed.size()); ++i) {
      const std::string at = fmt::format("{}/{}", path, i);
      problems_.expect(stored[i].name == computed[i].name, at + "/name",
                       "'" + stored[i].name + "', but it must be '" + computed[i].name + "'");
      problems_.expect_same(at + "/median_seconds", stored[i].median_seconds,
                            computed[i].median_seconds);
      speedup(at + "/ratio_to_reference", stored[i].to_reference, computed[i].to_reference);
    }
  }

  void speedup(const std::string& path, const Speedup& stored, const Speedup& computed) {
    problems_.expect(stored.value.has_value() == computed.value.has_value(), path,
                     stored.value ? "there, without rounds to compute it from"
                                  : "null, although the rounds give one");
    if (!stored.value || !computed.value) return;
    problems_.expect(stored.to == computed.to, path + "/to",
                     fmt::format("'{}', but it must be '{}'", stored.to, computed.to));
    problems_.expect_same(path + "/median", stored.value->center, computed.value->center);
    problems_.expect_same_bounds(path, *stored.value, *computed.value);
  }

  void quality(std::size_t i) {
    const std::optional<QualityReport>& report = ablation_.variants[i].quality;
    if (report) {
      const std::int64_t steps = planned_rounds_ * static_cast<std::int64_t>(steps_per_turn_);
      check_quality(*report, ablation_.settings, steps, path_of(i) + "/quality", problems_);
    }
    if (ablation_.status.state != RunState::kValid) return;
    problems_.expect(
        report && report->passed.value_or(true), "/status/state",
        fmt::format("valid, although '{}' did not reach the quality", ablation_.variants[i].name));
  }

  const Ablation& ablation_;
  std::int64_t warmup_rounds_ = 0;
  std::int64_t planned_rounds_ = 0;
  std::size_t steps_per_turn_ = 1;
  ProblemList problems_;
};

}  // namespace

std::vector<SchemaProblem> find_inconsistencies(const Ablation& ablation, const json& document) {
  return Finder(ablation).find(document);
}

}  // namespace harness
