// Two profiles of one workload: where the one's step takes longer than the other's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/profile/tables.hpp"

namespace harness {

/// A name's time in a recorded step of either profile; empty where it does not occur.
struct DifferenceRow {
  std::string name{};
  std::string detail{};  ///< the phase of a module; the implementation of a primitive
  std::optional<double> first_seconds{};
  std::optional<double> other_seconds{};
  double first_calls = 0;
  double other_calls = 0;

  /// Above 0: the other one takes longer.
  double change() const { return other_seconds.value_or(0) - first_seconds.value_or(0); }
};

struct ProfileDifference {
  double first_step = 0;  ///< seconds of a recorded step
  double other_step = 0;
  /// Each by what it costs, whichever way: the largest change first. The changes of `parts`,
  /// `modules` and `operators` add up to that of the step.
  std::vector<DifferenceRow> parts{};       ///< by_part()
  std::vector<DifferenceRow> modules{};     ///< by whole name and phase, which both kernels share
  std::vector<DifferenceRow> operators{};   ///< by_operator()
  std::vector<DifferenceRow> primitives{};  ///< by kind, direction, type and implementation
  /// Primitives by what they compute ("convolution forward f32"), whichever way: implementations
  /// go by other names in other versions and on other machines. The longest of both first.
  std::vector<DifferenceRow> work{};
};

ProfileDifference difference_of(const ProfileTables& first, const ProfileTables& other);

}  // namespace harness
