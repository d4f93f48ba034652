// What kernels/ offers, as the instrument lists it.
#pragma once

#include <string>
#include <vector>

#include "harness/workload/workload.hpp"

namespace harness::workloads {

/// The named operators with their implementations, or all of them when no name is given. What this
/// machine cannot run is listed with the reason.
std::vector<OperatorInfo> operator_infos(const std::vector<std::string>& names = {});

}  // namespace harness::workloads
