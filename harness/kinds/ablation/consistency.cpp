#include "harness/kinds/ablation/consistency.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "harness/kinds/ablation/turns_consistency.hpp"
#include "harness/result/consistency_common.hpp"
#include "harness/result/consistency_cost.hpp"
#include "harness/result/consistency_times.hpp"

namespace harness {
namespace {

using nlohmann::json;

class Finder {
 public:
  explicit Finder(const Ablation& ablation) : ablation_(ablation) {}

  std::vector<SchemaProblem> find(const json& document) {
    check_common(ablation_, document, problems_);
    names(document);
    check_turns(ablation_, problems_);
    check_peaks(ablation_.peaks, problems_);
    figures(document);
    for (std::size_t i = 0; i < ablation_.variants.size(); ++i) quality(i);
    check_duration(ablation_, seconds_of_steps(), problems_);
    return problems_.take();
  }

 private:
  static std::string path_of(std::size_t i) { return fmt::format("/variants/{}", i); }

  void names(const json& document) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < ablation_.variants.size(); ++i) {
      const Variant& variant = ablation_.variants[i];
      problems_.expect_once(seen, variant.name, path_of(i) + "/name");
      const std::string& previous = variant.to_previous.to;
      peer(i);
      problems_.expect(
          document.at("variants").at(i).at("settings").is_null() == variant.peer.has_value(),
          path_of(i) + "/settings", "a peer has none, and only a peer");
      problems_.expect(previous.empty() || (previous != variant.name && seen.contains(previous)),
                       path_of(i) + "/ratio_to_previous/to",
                       "'" + previous + "' is no variant that stands before it");
    }
    for (std::size_t i = 0; i < ablation_.left_out.size(); ++i) {
      problems_.expect(!seen.contains(ablation_.left_out[i].name),
                       fmt::format("/left_out/{}/name", i), "was measured all the same");
    }
  }

  void peer(std::size_t i) {
    const std::vector<Variant>& variants = ablation_.variants;
    const bool in_place = variants[i].peer || i == 0 || !variants[i - 1].peer;
    problems_.expect(in_place, path_of(i) + "/name", "stands behind a peer, and is none");
    if (!variants[i].peer) return;
    problems_.expect(i > 0, path_of(i) + "/peer", "the first variant is no peer");
    problems_.expect(!variants[i].quality, path_of(i) + "/quality", "a peer has none");
    problems_.expect(!variants[i].cost, path_of(i) + "/cost", "a peer has none");
    problems_.expect(
        ablation_.status.state != RunState::kValid || variants[i].peer->doubt.empty(),
        "/status/state",
        fmt::format("valid, although the times of '{}' are doubtful", variants[i].name));
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
      if (stored.cost) {
        check_cost(*stored.cost, stored.median_seconds, ablation_.peaks, path + "/cost", problems_);
      }
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
      // Processes of their own settle before turns of short steps, by as many as they need.
      const json& effective = ablation_.settings.effective;
      const bool settles =
          effective.contains("clusters") && effective.value("steps_per_turn", 1) > 1;
      check_quality(*report, ablation_.settings,
                    settles ? std::nullopt : std::optional(steps_before_quality()),
                    path_of(i) + "/quality", problems_);
      if (settles) reached(*report, path_of(i) + "/quality/reached_at_step");
    }
    if (ablation_.variants[i].peer) return;
    if (ablation_.status.state != RunState::kValid) return;
    problems_.expect(
        report && report->passed.value_or(true), "/status/state",
        fmt::format("valid, although '{}' did not reach the quality", ablation_.variants[i].name));
  }

  void reached(const QualityReport& report, const std::string& path) {
    const bool passed = report.passed.value_or(false);
    problems_.expect(report.reached_at_step.has_value() == passed, path,
                     passed ? "null, but it passed" : "a step, but it did not pass");
    if (!report.reached_at_step) return;
    problems_.expect(*report.reached_at_step >= steps_before_quality(), path,
                     fmt::format("{}, but {} steps were planned", *report.reached_at_step,
                                 steps_before_quality()));
  }

  /// At least: it was evaluated once, behind the rounds of the first cluster, or of one process.
  std::int64_t steps_before_quality() const {
    const nlohmann::json& effective = ablation_.settings.effective;
    const auto count = [&](const char* key) { return effective.value(key, std::int64_t{0}); };
    return count("warmup_steps") +
           (count("warmup_rounds") + count("rounds")) * count("steps_per_turn");
  }

  const Ablation& ablation_;
  ProblemList problems_;
};

}  // namespace

std::vector<SchemaProblem> find_inconsistencies(const Ablation& ablation, const json& document) {
  return Finder(ablation).find(document);
}

}  // namespace harness
