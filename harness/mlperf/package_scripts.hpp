// The parts of a package that let others repeat its runs.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/result/result.hpp"

namespace harness {

/// Adds README.md (with `score`, in words), setup.sh, init_datasets.sh, run_and_time.sh and
/// SYSTEM_harness.json below FOLDER/SYSTEM, and FOLDER/implementations/harness/README.md. Each says
/// `mark`. Paths of the machine that ran are left out, here and in what follows.
void add_benchmark_folder(std::map<std::string, std::string>& files, const std::string& folder,
                          const std::string& system, const std::string& mark, const Result& result,
                          const std::string& score);

/// The command that repeats the run, or with `runs` a series of so many; seeds come anew.
std::string repeat_command(const Result& result, std::optional<std::int64_t> runs = std::nullopt);

/// Name and hash of the data; "none" without any.
std::string data_text(const Result& result);

/// Weights, types, settings, kernels.
nlohmann::json measurements(const std::string& mark, const Result& result);

/// What stands for the source code.
std::string implementation_text(const std::string& mark, const Result& result);

/// "harness 0.1.0, LibTorch 2.7.0"
std::string framework_of(const Result& result);

}  // namespace harness
