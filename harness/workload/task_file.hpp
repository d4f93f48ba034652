// A task file: run rules with somebody's own model in them.
#pragma once

#include <filesystem>

#include "harness/workload/rules.hpp"

namespace harness {

/// The workloads behind tasks: of a model that answers queries, and of one that is trained.
inline constexpr const char* kModelWorkload = "model";
inline constexpr const char* kTrainedModelWorkload = "model-train";

/// Reads and checks `file`. What it does not say is as in the rules of its workload below `home`.
/// The rules' hash is over all that is asked of a model, not over the model that answers (`file`,
/// `sha256` and `format` of the section) nor the summary: two models under one task are the same
/// work. Throws Error as load_rules_file() does.
Rules load_task_file(const std::filesystem::path& file, const std::filesystem::path& home,
                     const ScenarioInfos& scenarios);

}  // namespace harness
