// Where ranks that are threads of one process find each other.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>

#include "harness/workload/ranks.hpp"

namespace harness {

/// Outlives the ranks.
class MeetingPoint {
 public:
  /// A rank that waits longer for what another tells of itself throws LostRank.
  RankPlace place(int rank, int world, double timeout_seconds) {
    RankPlace place;
    place.rank = rank;
    place.world = world;
    place.timeout_seconds = timeout_seconds;
    place.put = [this](const std::string& name, const std::string& bytes) {
      const std::lock_guard lock(mutex_);
      told_[name] = bytes;
      changed_.notify_all();
    };
    place.get = [this, timeout_seconds](const std::string& name) {
      std::unique_lock lock(mutex_);
      const auto limit = std::chrono::duration<double>(timeout_seconds);
      const bool there = changed_.wait_for(lock, limit, [&] { return told_.contains(name); });
      if (!there) throw LostRank("nobody told " + name);
      return told_.at(name);
    };
    return place;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::string> told_;
};

}  // namespace harness
