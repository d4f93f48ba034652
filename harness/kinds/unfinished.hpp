// What lies in folders and did not come to its end.
#pragma once

#include <string>
#include <vector>

namespace harness {

struct Unfinished {
  std::string folder{};
  std::string what{};  ///< with how to go on, where that can be
};

/// Suites, series and single runs in `folder` and below it, by the folders' names. Links to folders
/// are not followed, and what cannot be read is passed over.
std::vector<Unfinished> unfinished_below(const std::string& folder);

/// "FOLDER: an unfinished suite; to go on: ...", as one line.
std::string line_of(const Unfinished& one);

}  // namespace harness
