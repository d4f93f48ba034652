// The first floats of a vector, from and to memory that need not be aligned and ends behind them.
// Included once for each instruction set, so the guard toggles.
#if defined(HARNESS_KERNELS_PART_OF_VECTOR_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HARNESS_KERNELS_PART_OF_VECTOR_INL
#undef HARNESS_KERNELS_PART_OF_VECTOR_INL
#else
#define HARNESS_KERNELS_PART_OF_VECTOR_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::HWY_NAMESPACE {

// Where an instruction set has no loads and stores by a mask, Highway 1.0.3 reads the whole vector,
// and on SSE4 an aligned one.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX2
inline constexpr bool kMasksMemory = true;
#else
inline constexpr bool kMasksMemory = false;
#endif

/// `count` floats, 0 to all of a vector; 0 behind them.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_part(D d, const float* from, std::int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kMasksMemory) {
    return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(count)), d, from);
  } else {
    HWY_ALIGN float part[hn::MaxLanes(d)] = {};
    std::copy_n(from, count, part);
    return hn::Load(d, part);
  }
}

template <class D>
HWY_INLINE void store_part(hwy::HWY_NAMESPACE::Vec<D> value, D d, float* to, std::int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (kMasksMemory) {
    hn::BlendedStore(value, hn::FirstN(d, static_cast<std::size_t>(count)), d, to);
  } else {
    HWY_ALIGN float part[hn::MaxLanes(d)];
    hn::Store(value, d, part);
    std::copy_n(part, count, to);
  }
}

/// A whole vector where `count` floats fill one, else the part that is there.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_at_most(D d, const float* from, std::int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr auto kLanes = static_cast<std::int64_t>(hn::MaxLanes(D()));
  return count >= kLanes ? hn::LoadU(d, from) : load_part(d, from, count);
}

template <class D>
HWY_INLINE void store_at_most(hwy::HWY_NAMESPACE::Vec<D> value, D d, float* to,
                              std::int64_t count) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (count >= static_cast<std::int64_t>(hn::MaxLanes(D()))) {
    hn::StoreU(value, d, to);
  } else {
    store_part(value, d, to, count);
  }
}

}  // namespace harness::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
