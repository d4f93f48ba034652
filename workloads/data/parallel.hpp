// Independent pieces of a preparation, done by several threads under one watcher.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

namespace harness::workloads {

/// How a long preparation may run and whom it tells. Both functions are called from the thread that
/// started it, about ten times a second; `interrupted` throws to end it.
struct Preparation {
  int threads = 2;
  std::function<void(const std::string& what, std::int64_t done, std::int64_t total)> progress =
      [](const std::string&, std::int64_t, std::int64_t) {};
  std::function<void()> interrupted = [] {};
};

/// Calls `work(i)` once for each i in [0, count), in any order, from `preparation.threads` threads.
/// When a call throws, no new ones start, and the exception of the lowest such i is rethrown after
/// all threads have ended.
void parallel_for(std::size_t count, const std::string& what, const Preparation& preparation,
                  const std::function<void(std::size_t)>& work);

}  // namespace harness::workloads
