// The processes behind a run in several ranks.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <sstream>
#include <string>

namespace harness {

/// The process of a rank below `leader`, by the order in its environment; 0 where it is gone.
inline pid_t rank_process(pid_t leader, int rank) {
  const std::string id = std::to_string(leader);
  std::ifstream children("/proc/" + id + "/task/" + id + "/children");
  for (pid_t child = 0; children >> child;) {
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
