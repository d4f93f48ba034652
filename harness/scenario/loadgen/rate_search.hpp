// The highest rate of queries that a server holds, found by trying.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

namespace harness::loadgen {

/// Between a rate that `fits` and one, at most a tenth higher, that does not in two tries, the
/// first; 0 where none was found that does. `capacity` is what one query after another would give.
double highest_rate(double capacity, const std::function<bool(double rate)>& fits);

/// What a rate that a whole test has not held is multiplied by, after so many such tests; nothing
/// where no further one is worth it.
std::optional<double> rate_factor(std::size_t attempt);

}  // namespace harness::loadgen
