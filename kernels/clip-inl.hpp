// A vector between two limits. Included once for each instruction set, so the guard toggles.
#if defined(HARNESS_KERNELS_CLIP_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef HARNESS_KERNELS_CLIP_INL
#undef HARNESS_KERNELS_CLIP_INL
#else
#define HARNESS_KERNELS_CLIP_INL
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::HWY_NAMESPACE {

/// A NaN stays one. Of two operands with one, x86's Min and Max give the second; Highway's on NEON
/// and without vectors give the number.
template <class V>
HWY_INLINE V clip(V x, V low, V high) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_ARCH_X86 && HWY_TARGET != HWY_SCALAR
  return hn::Min(high, hn::Max(low, x));
#else
  const V cut = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(cut, high), high, cut);
#endif
}

}  // namespace harness::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
