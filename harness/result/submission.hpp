// Where a shared result lies: one folder a machine, one file a result, named by what it holds, so
// that two people's submissions never touch the same file.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/result/result_common.hpp"

namespace harness {

/// "amd-epyc-zen4-2-cores": the processor and its cores, of small letters, digits and '-' whatever
/// the file says; `facts` is its `system`. Where the model's name has no number, AMD's generation
/// stands behind it.
std::string machine_slug(const nlohmann::json& facts);

/// MACHINE/DATE-COMMIT-WORKLOAD-UUID8.json; relative, of two steps, neither of them hidden or
/// leading upwards, whatever the file says.
std::filesystem::path submission_path(const ResultCommon& result);

}  // namespace harness
