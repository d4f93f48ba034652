#include "harness/kinds/ablation/gains.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/named.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/stats/stats.hpp"
#include "harness/system/capture.hpp"

namespace harness {
namespace {

Ablation read_ablation(const std::string& file, const Profile& profile) {
  CheckedFile checked = check_file(file);
  require_sound(checked, checked.report.problems_code);
  const auto* ablation = checked.report.as<Ablation>();
  if (ablation == nullptr) {
    throw Error(printable(file), "is no ablation", "'harness ablate' writes one");
  }
  if (ablation->rules.workload != profile.rules.workload) {
    throw Error(printable(file),
                "is of the workload '" + printable(ablation->rules.workload) +
                    "', and the profile of '" + profile.rules.workload + "'",
                "", ExitCode::kInconclusive);
  }
  return checked.report.take<Ablation>();
}

/// What keeps a measured gain from being held against an expected one.
void note_differences(const Ablation& ablation, const Profile& profile, const std::string& file,
                      std::vector<std::string>& notes) {
  for (const char* key : {"batch_size", "threads"}) {
    const std::string there = setting_text(ablation.settings, key);
    const std::string here = setting_text(profile.settings, key);
    if (there == here) continue;
    notes.push_back(fmt::format("{}: {} is {} there, {} in the profile", file, key, there, here));
  }
  if (system_fingerprint(ablation.system) != system_fingerprint(profile.system)) {
    notes.push_back(file + ": measured on another machine than the profile");
  }
}

/// What differs between two variants; several changes of kernels are several entries.
std::vector<AdvisedChange> changes_between(const VariantSettings& from, const VariantSettings& to) {
  std::vector<AdvisedChange> changes;
  for (const auto& [name, value] : to.chosen) {
    if (from.of(name) != value) changes.push_back({name, value});
  }
  for (const auto& [name, implementation] : to.kernels) {
    const auto before = from.kernels.find(name);
    if (before == from.kernels.end() || before->second != implementation) {
      changes.push_back({name, implementation});
    }
  }
  return changes;
}

/// Seconds that a speed-up saves of `before`.
double saved(double before, double speedup) { return before * (1 - 1 / speedup); }

MeasuredGains gains_of(const Ablation& ablation) {
  MeasuredGains gains;
  for (const Variant& variant : ablation.variants) {
    const Speedup& speedup = variant.to_previous;
    const Variant* before = find_named(ablation.variants, speedup.to);
    if (before == nullptr || !speedup.value || !before->median_seconds) continue;
    const auto changes = changes_between(before->settings, variant.settings);
    if (changes.size() != 1) continue;
    const Interval& ratio = *speedup.value;
    Interval gain{saved(*before->median_seconds, ratio.center), {}, {}, ratio.confidence};
    if (ratio.low) gain.low = saved(*before->median_seconds, *ratio.low);
    if (ratio.high) gain.high = saved(*before->median_seconds, *ratio.high);
    gains.emplace(changes.front(), gain);
  }
  return gains;
}

/// The middle of several processes' gains.
Interval together(const std::vector<Interval>& gains) {
  if (gains.size() == 1) return gains.front();
  std::vector<double> centers;
  for (const Interval& gain : gains) centers.push_back(gain.center);
  const auto [least, greatest] = std::minmax_element(centers.begin(), centers.end());
  // All lie on one side of the true median by chance once in 2^(n-1).
  const double confidence = 1 - std::ldexp(1.0, 1 - static_cast<int>(centers.size()));
  return {median(centers), *least, *greatest, confidence};
}

std::vector<Ablation> measured_ablations(const std::vector<std::string>& files,
                                         const Profile& profile, std::vector<std::string>& notes) {
  std::vector<Ablation> ablations;
  for (const std::string& file : files) {
    Ablation next = read_ablation(file, profile);
    for (const Ablation& one : ablations) {
      if (one.identity.uuid == next.identity.uuid) {
        throw Error("--measured " + printable(file), "is the same ablation as one before it");
      }
    }
    ablations.push_back(std::move(next));
    note_differences(ablations.back(), profile, printable(file), notes);
  }
  return ablations;
}

}  // namespace

MeasuredGains measured_gains(std::span<const Ablation> ablations) {
  std::map<AdvisedChange, std::vector<Interval>> all;
  for (const Ablation& ablation : ablations) {
    for (const auto& [change, gain] : gains_of(ablation)) all[change].push_back(gain);
  }
  MeasuredGains gains;
  for (const auto& [change, found] : all) gains.emplace(change, together(found));
  return gains;
}

void add_measured(const std::vector<std::string>& files, const Profile& profile,
                  AdviceReport& report) {
  const std::vector<Ablation> ablations = measured_ablations(files, profile, report.notes);
  report.measured = measured_gains(ablations);
  report.ablations = ablations.size();
  if (!ablations.empty() && report.measured.empty()) {
    report.notes.push_back("no ablation holds a variant that differs from another in one thing");
  }
}

}  // namespace harness
