// Which processes can be in memory together.
#pragma once

#include <cstddef>
#include <vector>

namespace harness {

/// Groups that each fit into `limit` bytes, in order, for processes that need `needs` bytes at
/// most. The first process is in all of them, so that each can be compared with it. Empty where it
/// does not fit beside one of the others.
std::vector<std::vector<std::size_t>> memory_groups(const std::vector<double>& needs, double limit);

}  // namespace harness
