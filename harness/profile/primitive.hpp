// What one execution of a primitive computes and moves, told from its problem.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "harness/base/recording.hpp"

namespace harness {

/// Elements of a tensor of the primitive: of a convolution by its problem, of others by "8x64x100".
/// Empty where that cannot be told.
std::optional<double> elements(const Primitive& primitive, const TensorLayout& tensor);

/// FLOPs of one execution: of convolutions, matrix products and inner products. 0 for those that
/// move data, empty where it cannot be told.
std::optional<double> flops(const Primitive& primitive);

/// Bytes that have to move, each tensor once; empty where that cannot be told.
std::optional<double> bytes(const Primitive& primitive);

/// Whether its layout has blocks, as those of packed weights have: ABcd16b16a.
bool is_blocked(const TensorLayout& tensor);

/// "convolution backward_data"; "reorder" for a kind that has no direction.
std::string pass_name(const std::string& kind, const std::string& direction);

/// One that oneDNN falls back to where it has nothing better.
bool is_reference_implementation(std::string_view implementation);

}  // namespace harness
