// Which harness this is: version and the commit it was built from.
#pragma once

#include <string>

namespace harness {

struct Version {
  std::string version{};     ///< 0.1.0
  std::string git_commit{};  ///< 40 hex digits, or "unknown" outside a git checkout
  bool git_dirty = false;    ///< tracked files differed from the commit when it was built
};

const Version& version();

/// "harness 0.1.0 (commit 1a2b3c4d5e6f, modified)"
std::string version_line();

}  // namespace harness
