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

void convolve_depthwise_part(const Depthwise& convolution, Int part, Int parts) {
  const DepthwiseShape& shape = convolution.shape;
  const Int channels =
      divide_up(divide_up(shape.channels, divide_up(shape.channels, kMostChannels)), kVectors) *
      kVectors;
  const Int cuts = divide_up(shape.channels, channels);
  const Int tasks = shape.batch * shape.out_height() * cuts;
  const auto convolve = depthwise::convolve_row();
  for (Int task = tasks * part / parts; task < tasks * (part + 1) / parts; ++task) {
    const Int begin = task % cuts * channels;
    convolve(convolution, task / cuts, begin, std::min(begin + channels, shape.channels));
  }
}

void convolve_depthwise(const Depthwise& convolution) {
  const DepthwiseShape& shape = convolution.shape;
  const Int outputs = shape.batch * shape.out_height() * shape.out_width() * shape.channels;
  const bool shared = omp_in_parallel() == 0 && 9 * outputs >= kWorthSharing;
#pragma omp parallel if (shared)
  convolve_depthwise_part(convolution, omp_get_thread_num(), omp_get_num_threads());
}

const char* depthwise_name() {
  static const std::string name = std::string("depthwise:") + depthwise::target_name();
  return name.c_str();
}

}  // namespace harness::kernels
