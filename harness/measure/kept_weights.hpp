// What a run trained, for others to use.
#pragma once

#include <filesystem>

#include "harness/plan/plan.hpp"
#include "harness/result/result.hpp"
#include "harness/workload/workload.hpp"

namespace harness {

inline constexpr const char* kWeightsExtension = ".safetensors";

/// Where the setting keep_weights asks for it: writes the weights to `file`, labelled with the
/// result that they belong to. What hinders it is said in the result's recommendations: a measured
/// run is not lost for it.
void keep_weights(const Workload& workload, const RunPlan& plan, Result& result,
                  const std::filesystem::path& file);

}  // namespace harness
