// Rows of a Transformer in the vectors of the best instruction set that the machine has. Needs no
// LibTorch.
#pragma once

#include <cstdint>

namespace harness::kernels::encoder {

struct Rows {
  /// to = (from - mean) / sqrt(variance + epsilon) * weight + bias; `to` may be `from`.
  void (*normalise)(const float* from, std::int64_t width, const float* weight, const float* bias,
                    float epsilon, float* to) = nullptr;
  /// In place: exp(scale * (x - largest)) / their sum.
  void (*softmax)(float* values, std::int64_t count, float scale) = nullptr;
  /// to += from.
  void (*add)(const float* from, std::int64_t width, float* to) = nullptr;
  /// To bf16's bits, to nearest even.
  void (*round)(const float* from, std::int64_t width, std::uint16_t* to) = nullptr;
};

const Rows& rows();

}  // namespace harness::kernels::encoder
