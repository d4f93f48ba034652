#include "harness/result/series.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/base/text.hpp"

namespace harness {
namespace {

// More would tell nothing new.
constexpr std::size_t kMostNumbers = 8;

/// "2, 4 and 7 to 50": the numbers from 1 to `count` that are not in `there`.
std::string missing_numbers(const std::set<std::int64_t>& there, std::int64_t count) {
  std::vector<std::string> parts;
  std::int64_t next = 1;
  const auto add = [&](std::int64_t first, std::int64_t last) {
    if (first > last) return;
    parts.push_back(first == last ? std::to_string(first) : fmt::format("{} to {}", first, last));
  };
  for (const std::int64_t number : there) {
    if (parts.size() >= kMostNumbers) break;
    add(next, number - 1);
    next = number + 1;
  }
  if (parts.size() < kMostNumbers) {
    add(next, count);
  } else {
    parts.emplace_back("more");
  }
  if (parts.size() == 1) return parts.front();
  const std::string last = parts.back();
  parts.pop_back();
  return join(parts, ", ") + " and " + last;
}

}  // namespace

void SeriesBook::add(const std::string& name, const ResultCommon& run) {
  const Identity& identity = run.identity;
  runs_[identity.series_id].push_back(
      {name, identity.uuid, identity.run_index, identity.run_count, was_stopped(run.status)});
}

std::vector<std::string> SeriesBook::contradictions() const {
  std::vector<std::string> lines;
  for (const auto& [id, runs] : runs_) {
    std::map<std::int64_t, const Run*> places;
    for (const Run& run : runs) {
      if (run.count != runs.front().count) {
        lines.push_back(fmt::format("series {}: {} is of {} runs, {} of {}", id.substr(0, 8),
                                    runs.front().name, runs.front().count, run.name, run.count));
        break;
      }
      if (run.stopped) continue;
      const auto [place, vacant] = places.emplace(run.index, &run);
      if (vacant || place->second->uuid == run.uuid) continue;
      lines.push_back(fmt::format("series {}: {} and {} are both run {} of {}", id.substr(0, 8),
                                  place->second->name, run.name, run.index, run.count));
    }
  }
  return lines;
}

std::vector<std::string> SeriesBook::gaps() const {
  std::vector<std::string> lines;
  for (const auto& [id, runs] : runs_) {
    std::set<std::int64_t> there;
    bool stopped = false;
    for (const Run& run : runs) {
      there.insert(run.index);
      stopped = stopped || run.stopped;
    }
    const std::int64_t count = runs.front().count;
    const bool breaks_off =
        stopped && *there.rbegin() == static_cast<std::int64_t>(there.size()) && !there.empty();
    if (static_cast<std::int64_t>(there.size()) >= count || breaks_off) continue;
    lines.push_back(fmt::format("series {}: {} of {} runs are here, without {}", id.substr(0, 8),
                                there.size(), count, missing_numbers(there, count)));
  }
  return lines;
}

}  // namespace harness
