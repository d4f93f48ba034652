#include "kernels/int8/affine.hpp"

#include <algorithm>
#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>
#include <stdexcept>

namespace harness::kernels {

Affine affine_of(const Range& range) {
  if (!std::isfinite(range.low) || !std::isfinite(range.high) || range.low > 0 || range.high < 0) {
    throw std::invalid_argument("int8: a range of activations is finite and holds 0");
  }
  constexpr double kSteps = 255;
  const double width = static_cast<double>(range.high) - range.low;
  // Nothing but zeros: any scale serves. One that float32 cannot hold as a normal number does not.
  constexpr double kNarrowest = 1e-30;
  if (width < kNarrowest) return {};
  const auto scale = static_cast<float>(width / kSteps);
  const double zero = std::nearbyint(-static_cast<double>(range.low) / scale);
  return {scale, static_cast<std::int32_t>(std::clamp(zero, 0.0, kSteps))};
}

bool adds_in_32_bits() {
#if defined(__x86_64__)
  // Asked of oneDNN, whose primitives multiply: it may be told to leave instructions out.
  const auto has = [](dnnl::cpu_isa wanted) {
    const auto bits = static_cast<unsigned>(wanted);
    return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & bits) == bits;
  };
  static const bool wide = has(dnnl::cpu_isa::avx2_vnni) || has(dnnl::cpu_isa::avx512_core_vnni);
  return wide;
#else
  return true;
#endif
}

}  // namespace harness::kernels
