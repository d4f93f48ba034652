// The pictures of an ablation.
#pragma once

#include <vector>

#include "harness/report/html_data.hpp"
#include "harness/result/ablation.hpp"

namespace harness {

/// Waterfall, ratios, phases (where they are few), turns. Precondition: there are variants.
std::vector<PagePlot> ablation_plots(const Ablation& ablation);

}  // namespace harness
