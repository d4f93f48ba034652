// The part of a package that lets others repeat its runs.
#pragma once

#include <map>
#include <string>

#include "harness/result/result.hpp"

namespace harness {

/// Adds README.md, setup.sh, init_datasets.sh, run_and_time.sh and SYSTEM_harness.json below
/// FOLDER/SYSTEM, and FOLDER/implementations/harness/README.md. Each says `mark`. Paths of the
/// machine that ran are left out.
void add_benchmark_folder(std::map<std::string, std::string>& files, const std::string& folder,
                          const std::string& system, const std::string& mark, const Result& result);

}  // namespace harness
