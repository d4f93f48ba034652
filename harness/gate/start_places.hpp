// What a place in the order of starts costs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace harness {

/// Who starts first finds other memory and caches than who starts next: on a virtual machine the
/// second of two starts took half as long again as the first. Over a few clusters each side has
/// each place equally often, so what is left between the places is theirs. It is learned from the
/// clusters before: none is judged by itself, or by one that comes later.
class StartPlaces {
 public:
  /// Seconds of all sides until they were ready, in their order, without what their places cost;
  /// as they are until a few clusters have told. To be called cluster by cluster, in order.
  /// Precondition: seconds above 0.
  std::vector<double> without(std::int64_t cluster, const std::vector<double>& seconds);

 private:
  void learn();

  std::size_t sides_ = 0;                       ///< another number is another order: all anew
  std::int64_t clusters_ = 0;                   ///< of the few that is not whole yet
  std::vector<double> sums_{};                  ///< of these, by place: logarithms
  std::vector<std::vector<double>> learned_{};  ///< by place, then few: logarithms
};

}  // namespace harness
