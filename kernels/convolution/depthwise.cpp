#include "kernels/convolution/depthwise.hpp"

#include <omp.h>

#include <algorithm>
#include <string>

#include "kernels/convolution/depthwise_simd.hpp"

namespace harness::kernels {
namespace {

using Int = std::int64_t;

// Multiply-adds below which waking the other threads costs more than they bring.
constexpr Int kWorthSharing = Int{1} << 17;
// Channels of a task, at most, and what their number is a multiple of: whole vectors everywhere.
constexpr Int kMostChannels = 256;
constexpr Int kVectors = 16;

Int divide_up(Int a, Int b) { return (a + b - 1) / b; }

}  // namespace

void convolve_depthwise(const Depthwise& convolution) {
  const DepthwiseShape& shape = convolution.shape;
  const Int rows = shape.batch * shape.out_height();
  const Int channels =
      divide_up(divide_up(shape.channels, divide_up(shape.channels, kMostChannels)), kVectors) *
      kVectors;
  const Int parts = divide_up(shape.channels, channels);
  const Int tasks = rows * parts;
  const auto convolve = depthwise::convolve_row();
  const bool shared = tasks > 1 && omp_in_parallel() == 0 &&
                      9 * rows * shape.out_width() * shape.channels >= kWorthSharing;
#pragma omp parallel for schedule(static) if (shared)
  for (Int task = 0; task < tasks; ++task) {
    const Int begin = task % parts * channels;
    convolve(convolution, task / parts, begin, std::min(begin + channels, shape.channels));
  }
}

const char* depthwise_name() {
  static const std::string name = std::string("depthwise:") + depthwise::target_name();
  return name.c_str();
}

}  // namespace harness::kernels
