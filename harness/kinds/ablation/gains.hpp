// What ablations say of advice that was tried.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/report/text/advice_text.hpp"
#include "harness/result/profile.hpp"

namespace harness {

/// Of each variant that differs from the one it builds on in one thing. A gain that several
/// ablations tell of is the median of theirs, from the least to the greatest: where memory lies
/// differs from process to process, which no interval of a single one knows of.
MeasuredGains measured_gains(std::span<const Ablation> ablations);

/// Of the ablations in `files`, each once, for a report: what they measured, how many they are, and
/// what keeps their gains from being held against expected ones. Throws Error for a file that is no
/// sound ablation of the profile's workload.
void add_measured(const std::vector<std::string>& files, const Profile& profile,
                  AdviceReport& report);

}  // namespace harness
