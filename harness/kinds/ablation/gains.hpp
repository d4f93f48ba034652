// What ablations say of advice that was tried.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/report/text/advice_text.hpp"
#include "harness/result/profile.hpp"

namespace harness {

/// The ablations in `files`, each once. Says in `notes` what keeps a gain that they measured from
/// being held against an expected one. Throws Error for a file that is no sound ablation of the
/// profile's workload.
std::vector<Ablation> measured_ablations(const std::vector<std::string>& files,
                                         const Profile& profile, std::vector<std::string>& notes);

/// Of each variant that differs from the one it builds on in one thing. A gain that several
/// ablations tell of is the median of theirs, from the least to the greatest: where memory lies
/// differs from process to process, which no interval of a single one knows of.
MeasuredGains measured_gains(std::span<const Ablation> ablations);

/// Both, for a report: what was measured, and by how many.
void add_measured(const std::vector<std::string>& files, const Profile& profile,
                  AdviceReport& report);

}  // namespace harness
