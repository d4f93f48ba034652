// What LoadGen found, in the section of a run that it drove.
#pragma once

#include <vector>

#include "harness/report/html_data.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// Puts the facts before those of `facts`, and takes out of these what they say already. Nothing is
/// done for a run that LoadGen did not drive.
void add_loadgen(std::vector<PageFact>& facts, const Result& run);

}  // namespace harness
