// The processes behind a run in several ranks.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace harness {

/// Those that its first thread started.
inline std::vector<pid_t> children_of(pid_t process) {
  const std::string id = std::to_string(process);
  std::ifstream file("/proc/" + id + "/task/" + id + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

/// The process of a rank below `leader`, by the order in its environment; 0 where it is gone.
inline pid_t rank_process(pid_t leader, int rank) {
  for (const pid_t child : children_of(leader)) {
    std::ifstream file("/proc/" + std::to_string(child) + "/environ");
    std::stringstream environment;
    environment << file.rdbuf();
    if (environment.str().find("\"rank\":" + std::to_string(rank) + ",") != std::string::npos) {
      return child;
    }
  }
  return 0;
}

}  // namespace harness
