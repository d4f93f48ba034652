// Files of this program that lie beside results and are none.
#pragma once

#include <filesystem>
#include <string>

namespace harness {

/// "a.jsonl there holds the samples of a run without a result": one that was stopped, or whose
/// result went elsewhere. Empty where there are none.
std::string samples_without_result(const std::filesystem::path& folder);

/// What the file is in place of a result, and what to give: "holds the samples of a.json: give that
/// file". Empty for what is none of ours, or cannot be read.
std::string what_instead(const std::filesystem::path& file);

}  // namespace harness
