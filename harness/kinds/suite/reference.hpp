// The suite result that a suite's figures are held against.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "harness/kinds/suite/suite.hpp"

namespace harness {

/// A suite by its file.
struct SuiteFile {
  std::filesystem::path path{};
  std::string digest{};
  Suite suite{};
};

/// The suite result in `path`: a file, or a folder with one of `tier` below it (or one alone, of
/// any); empty for a folder without one. Throws Error where there are several, and for one that is
/// damaged or no suite.
std::optional<SuiteFile> find_suite(const std::filesystem::path& path, const std::string& tier);

/// What a result says of the reference that it was held against.
SuiteReference refer_to(const SuiteFile& reference);

}  // namespace harness
