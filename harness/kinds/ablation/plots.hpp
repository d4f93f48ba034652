// The pictures of an ablation.
#pragma once

#include <vector>

#include "harness/kinds/ablation/ablation.hpp"
#include "harness/report/html_data.hpp"

namespace harness {

/// Waterfall, ratios, phases (where they are few), turns. Precondition: there are variants.
std::vector<PagePlot> ablation_plots(const Ablation& ablation);

}  // namespace harness
