// Vectors of floats from and to bf16, which is a float's upper half. Included once for each
// instruction set, so the guard toggles.
#if defined(HARNESS_KERNELS_BF16_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HARNESS_KERNELS_BF16_INL
#undef HARNESS_KERNELS_BF16_INL
#else
#define HARNESS_KERNELS_BF16_INL
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::HWY_NAMESPACE {

template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_bf16(D d, const std::uint16_t* from) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> bits;
  const hn::Rebind<std::uint16_t, D> halves;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(bits, hn::LoadU(halves, from))));
}

/// To nearest even; a NaN stays one whatever its lower bits are.
template <class D>
HWY_INLINE void store_bf16(hwy::HWY_NAMESPACE::Vec<D> values, D, std::uint16_t* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> bits;
  const hn::Rebind<std::uint16_t, D> halves;
  const auto all = hn::BitCast(bits, values);
  const auto odd = hn::And(hn::ShiftRight<16>(all), hn::Set(bits, 1));
  const auto rounded = hn::Add(all, hn::Add(odd, hn::Set(bits, 0x7FFF)));
  const auto kept = hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(values)),
                                   hn::Or(all, hn::Set(bits, 0x400000)), rounded);
  hn::StoreU(hn::TruncateTo(halves, hn::ShiftRight<16>(kept)), halves, to);
}

}  // namespace harness::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
