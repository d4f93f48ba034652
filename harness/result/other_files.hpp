// Files of this program that lie beside results and are none.
#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// Whether it begins as the samples of a run or an ablation do.
bool holds_samples(const std::filesystem::path& file);

/// What the file is in place of a result, and what to give: "holds the samples of a.json: give that
/// file". Empty for what is none of ours, or cannot be read.
std::string what_instead(const std::filesystem::path& file);

}  // namespace harness
