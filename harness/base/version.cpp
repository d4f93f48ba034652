#include "harness/base/version.hpp"

#include "harness/base/git_info.hpp"

namespace harness {

const Version& version() {
  static const Version info{HARNESS_VERSION, kGitCommit, kGitDirty};
  return info;
}

std::string version_line() {
  const Version& info = version();
  return "harness " + info.version + " (commit " + info.git_commit.substr(0, 12) +
         (info.git_dirty ? ", modified)" : ")");
}

}  // namespace harness
