// What two results of one workload must share to be of one set-up, and what is worth naming where
// they differ.
#pragma once

#include <map>
#include <string>

#include "harness/result/result.hpp"
#include "harness/result/setting.hpp"

namespace harness {

/// Settings that are not exempt, data, weights, machine and software of a run, name -> value, safe
/// to print. The workload's own settings are `set KEY`, those that nobody declared `setting NAME`,
/// versions `software NAME`. A setting that the file does not hold has its default; what is a file
/// is known by its hash, wherever it lies.
std::map<std::string, std::string> set_up_of(const Result& run);

/// What it means that two sides differ in the fact of that name. Exempt: worth naming, no more.
SetUpPart part_of(const std::string& fact);

}  // namespace harness
