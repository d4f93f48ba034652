#include "kernels/convolution/grouped.hpp"

#include <omp.h>

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/convolution/grouped_simd.hpp"

namespace harness::kernels {
namespace {

using grouped::Int;
using grouped::kSlice;
using grouped::kTaps;

/// Shares the tasks out: `kernel` does those of a thread, with memory of its own.
template <class Work, class Kernel>
void share(const Work& work, Kernel* kernel) {
  constexpr Int kLine = 16;  // floats of a cache line
  const Int floats = (work.memory_floats() + kLine - 1) / kLine * kLine;
  const Int most = omp_in_parallel() != 0 ? 1 : omp_get_max_threads();
  std::vector<float> memory(static_cast<std::size_t>(floats * most + kLine));
  const auto behind_line = reinterpret_cast<std::uintptr_t>(memory.data()) / sizeof(float) % kLine;
  float* const aligned = memory.data() + (kLine - static_cast<Int>(behind_line)) % kLine;
  const Int tasks = work.tasks();
#pragma omp parallel num_threads(static_cast<int>(most))
  {
    const Int thread = omp_get_thread_num();
    const Int threads = omp_get_num_threads();
    kernel(work, tasks * thread / threads, tasks * (thread + 1) / threads,
           aligned + thread * floats);
  }
}

}  // namespace

bool grouped_conv_supported(const GroupedConvShape& shape) {
  const Int group = shape.group_channels;
  const bool known_group = group == 4 || group == 8 || group == 16 || group == 32;
  return known_group && (shape.stride == 1 || shape.stride == 2) && shape.channels % kSlice == 0 &&
         shape.channels % group == 0;
}

void pack_grouped_weights(const GroupedConvShape& shape, const float* weights, const float* scale,
                          bool for_data, float* packed) {
  const Int group = shape.group_channels;
#pragma omp parallel for schedule(static)
  for (Int slice = 0; slice < shape.channels / kSlice; ++slice) {
    float* target = packed + slice * 9 * group * kSlice;
    for (Int row = 0; row < kTaps; ++row) {
      for (Int i = 0; i < group; ++i) {
        for (Int column = 0; column < kTaps; ++column) {
          for (Int lane = 0; lane < kSlice; ++lane) {
            const Int written = slice * kSlice + lane;
            const Int read = written / group * group + i;
            const Int out = for_data ? read : written;
            const Int in = (for_data ? written : read) % group;
            const float weight = weights[(out * 9 + row * kTaps + column) * group + in];
            *target++ = scale != nullptr ? weight * scale[out] : weight;
          }
        }
      }
    }
  }
}

void grouped_forward(const GroupedConvShape& shape, const float* input, const float* packed,
                     const float* bias, bool relu, float* output) {
  share(grouped::Pass{shape, false, input, nullptr, packed, bias, relu, output},
        grouped::kernels().pass);
}

void grouped_backward_data(const GroupedConvShape& shape, const float* grad_output,
                           const float* activated, const float* packed, float* grad_input) {
  share(grouped::Pass{shape, true, grad_output, activated, packed, nullptr, false, grad_input},
        grouped::kernels().pass);
}

void grouped_backward_weights(const GroupedConvShape& shape, bool bf16, const void* input,
                              const void* grad_output, const void* activated, const float* scale,
                              float* grad_weights) {
  share(grouped::WeightsPass{shape, bf16, input, grad_output, activated, scale, grad_weights},
        grouped::kernels().weights);
}

const char* grouped_name() {
  static const std::string name = std::string("grouped:") + grouped::target_name();
  return name.c_str();
}

}  // namespace harness::kernels
