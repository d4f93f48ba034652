// What has to be said of an ablation before its figures are read, for the terminal and for the
// page.
#pragma once

#include <string>
#include <vector>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/report/report_lines.hpp"

namespace harness {

/// Where memory did not hold all variants together: a line for each group, and what that means for
/// ratios and medians. Empty where all were measured together.
std::vector<std::string> group_lines(const Ablation& ablation);

/// A line for each peer whose times are doubtful.
std::vector<std::string> doubt_lines(const Ablation& ablation);

/// Whether the times of `variant` say nothing.
bool is_doubtful(const Variant& variant);

/// Told by the fastest variant whose times can be believed.
ReportLine line_of_ablation(const Ablation& ablation, const ReportFile& file);

}  // namespace harness
