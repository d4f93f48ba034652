#include "harness/system/peaks/highway.hpp"

#include <cstdint>
#include <string>

#include "harness/system/peaks/kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "harness/system/peaks/highway.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

// What is the same for all targets, although this file is read once for each.
#ifndef HARNESS_PEAKS_CONSTANTS
#define HARNESS_PEAKS_CONSTANTS
namespace harness {
namespace {
constexpr int kFmaSteps = 4096;
constexpr double kLaneOffset = 0.01;
constexpr double kChainOffset = 0.05;
}  // namespace
}  // namespace harness
#endif

HWY_BEFORE_NAMESPACE();
namespace harness {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Enough independent chains to hide the latency of a multiply-add (4 cycles on two units of x86, on
// four units of the larger ARM cores), few enough to stay in registers with the two factors: 32
// registers with AVX-512, NEON and SVE, 16 elsewhere.
#undef HARNESS_CHAINS
#undef HARNESS_CHAIN_COUNT
#if HWY_ARCH_ARM_A64 || (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)
#define HARNESS_CHAIN_COUNT 24
// clang-format off
#define HARNESS_CHAINS(X)                               \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)               \
  X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)         \
  X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23)
// clang-format on
#else
#define HARNESS_CHAIN_COUNT 12
#define HARNESS_CHAINS(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#endif

/// factors: a and b of x <- a x + b; result: the last x of each lane of each chain.
template <class D, typename T>
HWY_INLINE void multiply_add_chains(D d, const T* factors, T* result) {
  const auto a = hn::Set(d, factors[0]);
  const auto b = hn::Set(d, factors[1]);
  const auto start = hn::MulAdd(hn::Iota(d, 0), hn::Set(d, static_cast<T>(kLaneOffset)),
                                hn::Set(d, static_cast<T>(1)));
#define HARNESS_START(I) auto x##I = hn::Add(start, hn::Set(d, static_cast<T>(kChainOffset * (I))));
#define HARNESS_STEP(I) x##I = hn::MulAdd(x##I, a, b);
#define HARNESS_KEEP(I) hn::StoreU(x##I, d, result + (I)*hn::Lanes(d));
  HARNESS_CHAINS(HARNESS_START)
  for (int step = 0; step < kFmaSteps; ++step) {
    HARNESS_CHAINS(HARNESS_STEP)
  }
  HARNESS_CHAINS(HARNESS_KEEP)
#undef HARNESS_START
#undef HARNESS_STEP
#undef HARNESS_KEEP
}

void fma_fp32(const float* factors, float* result) {
  multiply_add_chains(hn::ScalableTag<float>(), factors, result);
}

void describe_fp32(int* lanes, int* chains, std::int64_t* target) {
  *lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<float>()));
  *chains = HARNESS_CHAIN_COUNT;
  *target = HWY_TARGET;
}

void fma_fp64(const double* factors, double* result) {
#if HWY_HAVE_FLOAT64
  multiply_add_chains(hn::ScalableTag<double>(), factors, result);
#else
  (void)factors;
  (void)result;
#endif
}

void describe_fp64(int* lanes, int* chains, std::int64_t* target) {
#if HWY_HAVE_FLOAT64
  *lanes = static_cast<int>(hn::Lanes(hn::ScalableTag<double>()));
#else
  *lanes = 0;
#endif
  *chains = HARNESS_CHAIN_COUNT;
  *target = HWY_TARGET;
}

/// count: a multiple of 256 words, so of any vector of up to 1024 bytes.
void copy(const std::uint32_t* HWY_RESTRICT from, std::uint32_t* HWY_RESTRICT to,
          std::size_t count) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < count; i += lanes) hn::Stream(hn::Load(d, from + i), d, to + i);
  // Streamed stores wait in buffers; the copy is done when they are out.
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace harness
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <cmath>

namespace harness {
namespace {

HWY_EXPORT(fma_fp32);
HWY_EXPORT(fma_fp64);
HWY_EXPORT(describe_fp32);
HWY_EXPORT(describe_fp64);
HWY_EXPORT(copy);

struct Shape {
  int lanes;
  int chains;
  std::int64_t target;
};

/// The values the loop is fed with. Not constants to the compiler, or it would fold the loop.
template <typename T>
const T* factors() {
  static const volatile double opaque[2] = {1.0 - 1.0 / 4096, 3.0 / 4096};
  static const T values[2] = {static_cast<T>(opaque[0]), static_cast<T>(opaque[1])};
  return values;
}

template <typename T>
bool is_right(const void* result, const Shape& shape) {
  // x <- a x + b draws x towards b / (1 - a) = 3 and has it at 1/e of its distance after 4096
  // steps. Rounding, fused or not, stays below 1e-4; one per cent of the steps missing does not.
  const double a = factors<T>()[0];
  const double b = factors<T>()[1];
  const double limit = b / (1 - a);
  const double left = std::pow(a, kFmaSteps);
  const T* values = static_cast<const T*>(result);
  for (int chain = 0; chain < shape.chains; ++chain) {
    for (int lane = 0; lane < shape.lanes; ++lane) {
      const double start = 1 + lane * kLaneOffset + chain * kChainOffset;
      const double expected = limit + (start - limit) * left;
      if (!(std::abs(values[chain * shape.lanes + lane] - expected) < 1e-3)) return false;
    }
  }
  return true;
}

Shape shape_fp32() {
  Shape shape{};
  HWY_DYNAMIC_DISPATCH(describe_fp32)(&shape.lanes, &shape.chains, &shape.target);
  return shape;
}

Shape shape_fp64() {
  Shape shape{};
  HWY_DYNAMIC_DISPATCH(describe_fp64)(&shape.lanes, &shape.chains, &shape.target);
  return shape;
}

/// Highway's names of its targets, except for those that nobody else uses.
std::string instruction_set(std::int64_t target) {
  const std::string name = hwy::TargetName(target);
  return name.starts_with("AVX3") ? "AVX-512" : name;
}

FlopKernel describe(const char* tag, const Shape& shape) {
  FlopKernel kernel;
  kernel.tag = tag;
  kernel.method = instruction_set(shape.target) + " multiply-add, " + std::to_string(shape.chains) +
                  " chains of " + std::to_string(shape.lanes) + " lanes";
  kernel.flops = 2.0 * kFmaSteps * shape.chains * shape.lanes;
  return kernel;
}

}  // namespace

FlopKernel fma_fp32_kernel() {
  FlopKernel kernel = describe("fma.fp32", shape_fp32());
  kernel.run = [](void* result) {
    HWY_DYNAMIC_DISPATCH(fma_fp32)(factors<float>(), static_cast<float*>(result));
  };
  kernel.check = [](const void* result) { return is_right<float>(result, shape_fp32()); };
  return kernel;
}

FlopKernel fma_fp64_kernel() {
  const Shape shape = shape_fp64();
  FlopKernel kernel = describe("fma.fp64", shape);
  if (shape.lanes == 0) {
    kernel.reason = "no fp64 vectors on this CPU";
    return kernel;
  }
  kernel.run = [](void* result) {
    HWY_DYNAMIC_DISPATCH(fma_fp64)(factors<double>(), static_cast<double*>(result));
  };
  kernel.check = [](const void* result) { return is_right<double>(result, shape_fp64()); };
  return kernel;
}

void stream_copy(const void* from, void* to, std::size_t bytes) {
  HWY_DYNAMIC_DISPATCH(copy)
  (static_cast<const std::uint32_t*>(from), static_cast<std::uint32_t*>(to),
   bytes / sizeof(std::uint32_t));
}

std::string stream_copy_method() {
#if HWY_ARCH_X86
  const char* stores = "non-temporal stores";
#else
  const char* stores = "plain stores";
#endif
  return instruction_set(shape_fp32().target) + " " + stores;
}

}  // namespace harness

#endif  // HWY_ONCE
