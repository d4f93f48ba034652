// What two results of one workload must share to be of one set-up, and what is worth naming where
// they differ.
#pragma once

#include <map>
#include <string>

#include "harness/result/result.hpp"

namespace harness {

/// Settings, data, weights, machine and software of a run, name -> value, safe to print. The
/// workload's own settings are `set KEY`.
std::map<std::string, std::string> set_up_of(const Result& run);

}  // namespace harness
