// The threads, batch sizes and precisions that a plan leaves to measuring.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/plan/plan.hpp"

namespace harness {

/// Never empty; the first of each is what the plan has. One of each: nothing is left to choose.
struct SetUpChoices {
  std::vector<int> threads{};
  std::vector<std::int64_t> batch_sizes{};
  std::vector<std::string> precisions{};

  bool open() const {
    return threads.size() > 1 || batch_sizes.size() > 1 || precisions.size() > 1;
  }
  /// Whether the setting of that name is left to measuring.
  bool leaves(std::string_view setting) const {
    return (setting == "threads" && threads.size() > 1) ||
           (setting == "batch_size" && batch_sizes.size() > 1) ||
           (setting == "precision" && precisions.size() > 1);
  }
};

/// Where the tier of a scenario has `search_seconds`: all numbers of threads from every usable CPU
/// down by halves, unless threads were asked for; for scenarios with `largest_batch` the powers of
/// four up to it, unless a batch size was asked for or another one would be a departure; where the
/// run is held to a quality, all precisions that the workload offers, unless one was asked for or
/// the rules have a word on it.
SetUpChoices set_up_choices(const RunPlan& plan);

}  // namespace harness
