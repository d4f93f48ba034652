// The terms of the focal loss in vectors, for the instruction set that is being compiled: Highway
// includes this once for each, hence no `#pragma once`. To be included by focal_loss_simd.cpp.
#include <hwy/highway.h>

#include <cstddef>

#include "kernels/focal_loss/focal_loss_pieces.hpp"
#include "kernels/focal_loss/focal_loss_simd.hpp"

// What is the same for all targets.
#ifndef HARNESS_FOCAL_TERMS_CONSTANTS
#define HARNESS_FOCAL_TERMS_CONSTANTS
namespace harness::kernels::focal {

// exp(-|x|) is taken as if |x| were no larger: the least normal float.
inline constexpr float kLowest = -87.33654F;
// 1.5 * 2^23: added to a float below 2^22 it rounds to an integer, left in the lowest bits.
inline constexpr float kRound = 12582912.0F;

// exp(r) = 1 + r (kExp[0] + r (kExp[1] + ...)) for |r| <= ln(2) / 2: minimax, relative
// error 9.2e-8.
inline constexpr float kExp[] = {0.99999970685F, 0.49999148860F, 0.16667636930F, 0.041898020686F,
                                 0.0082902995463F};
// 2 log(1 + e) = e (kLog[0] + e (kLog[1] + ...)) for 0 <= e <= 1: minimax, relative error 3.0e-8.
inline constexpr float kLog[] = {1.99999994F,   -0.999989862F,  0.666381941F,
                                 -0.496859734F, 0.382120604F,   -0.273266084F,
                                 0.156453435F,  -0.0590114946F, 0.0104656587F};

}  // namespace harness::kernels::focal
#endif

#if defined(HARNESS_FOCAL_TERMS_TOGGLE) == defined(HWY_TARGET_TOGGLE)
#ifdef HARNESS_FOCAL_TERMS_TOGGLE
#undef HARNESS_FOCAL_TERMS_TOGGLE
#else
#define HARNESS_FOCAL_TERMS_TOGGLE
#endif

HWY_BEFORE_NAMESPACE();
namespace harness::kernels::focal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of 16 floats: a look-up among 16 costs next to nothing there beside multiplications, so
// the logarithm is 16 short polynomials instead of a long one.
#undef HARNESS_FOCAL_PIECES
#define HARNESS_FOCAL_PIECES (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3)

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Everything below works on N vectors step by step, so that the latency of one is filled with the
// others.

/// sum <- c[0] + r (c[1] + r (...)), without the last, multiplication by r.
template <std::size_t N, std::size_t K>
HWY_INLINE void polynomial(const float (&c)[K], const V (&r)[N], V (&sum)[N]) {
  const D d;
  for (std::size_t i = 0; i < N; ++i)
    sum[i] = hn::MulAdd(r[i], hn::Set(d, c[K - 1]), hn::Set(d, c[K - 2]));
  for (std::size_t k = K - 2; k > 0; --k) {
    for (std::size_t i = 0; i < N; ++i) sum[i] = hn::MulAdd(r[i], sum[i], hn::Set(d, c[k - 1]));
  }
}

HWY_INLINE V minus_abs(V x) { return hn::Or(x, hn::Set(D(), -0.0F)); }

/// y <- exp(y) for y <= 0.
template <std::size_t N>
HWY_INLINE void exp_of_nonpositive(V (&y)[N]) {
  const D d;
  const hn::RebindToSigned<D> di;
  V n[N];
  V r[N];
  V sum[N];
  // Max gives its second argument when there is a NaN.
  for (std::size_t i = 0; i < N; ++i) y[i] = hn::Max(hn::Set(d, kLowest), y[i]);
  for (std::size_t i = 0; i < N; ++i) {
    n[i] = hn::MulAdd(y[i], hn::Set(d, 1.44269504F), hn::Set(d, kRound));
  }
  for (std::size_t i = 0; i < N; ++i) r[i] = hn::Sub(n[i], hn::Set(d, kRound));
#if HWY_NATIVE_FMA
  // ln(2) as a float is wrong by 2e-9: at most 2.4e-7 after the multiplication by 126.
  for (std::size_t i = 0; i < N; ++i) r[i] = hn::NegMulAdd(r[i], hn::Set(d, 0.693147181F), y[i]);
#else
  // The first part of ln(2) has few enough digits for an exact product.
  for (std::size_t i = 0; i < N; ++i) {
    const V high = hn::Sub(y[i], hn::Mul(r[i], hn::Set(d, 0.693359375F)));
    r[i] = hn::Sub(high, hn::Mul(r[i], hn::Set(d, -2.12194440e-4F)));
  }
#endif
  polynomial(kExp, r, sum);
  for (std::size_t i = 0; i < N; ++i) sum[i] = hn::MulAdd(r[i], sum[i], hn::Set(d, 1.0F));
  // Times 2^n: the integer in n's lowest bits goes to the exponent, what is above falls off.
  for (std::size_t i = 0; i < N; ++i) {
    const auto power = hn::ShiftLeft<23>(hn::BitCast(di, n[i]));
    y[i] = hn::BitCast(d, hn::Add(hn::BitCast(di, sum[i]), power));
  }
}

/// What depends on the term but not on the logit. With `scale` s: p and 1 - p come out as s p and
/// s (1 - p).
struct Factors {
  V scale, half_gamma, weight;
#if HARNESS_FOCAL_PIECES
  V pieces[kPieceTerms];
#endif

  HWY_INLINE Factors(double s, const Term& term)
      : scale(hn::Set(D(), static_cast<float>(s))),
        half_gamma(hn::Set(D(), static_cast<float>(term.gamma / 2))),
        weight(hn::Set(D(), static_cast<float>(term.weight))) {
#if HARNESS_FOCAL_PIECES
    const LogPieces& table = log_pieces();
    for (std::size_t k = 0; k < kPieceTerms; ++k) pieces[k] = hn::Load(D(), table.c[k]);
#endif
  }
};

/// 2 log(1 + e) / e for 0 <= e <= 1.
template <std::size_t N>
HWY_INLINE void log_series(const Factors& f, const V (&e)[N], const V (&one_plus)[N], V (&sum)[N]) {
#if HARNESS_FOCAL_PIECES
  // The piece is in the four highest bits of 1 + e < 2. (A comparison with the table's size, as
  // Highway's own constructor of indices makes, would cost: the instruction takes the lowest bits.)
  const D d;
  const hn::RebindToUnsigned<D> du;
  V below_two[N];
  for (std::size_t i = 0; i < N; ++i) {
    below_two[i] = hn::Min(one_plus[i], hn::Set(d, 1.99999988F));
  }
  const auto coefficient = [&](std::size_t k, std::size_t i) {
    const auto piece = hn::ShiftRight<19>(hn::BitCast(du, below_two[i]));
    return hn::TableLookupLanes(f.pieces[k], hn::Indices512<float>{piece.raw});
  };
  for (std::size_t i = 0; i < N; ++i) sum[i] = coefficient(kPieceTerms - 1, i);
  for (std::size_t k = kPieceTerms - 1; k > 0; --k) {
    for (std::size_t i = 0; i < N; ++i) sum[i] = hn::MulAdd(e[i], sum[i], coefficient(k - 1, i));
  }
#else
  (void)one_plus;
  (void)f;
  polynomial(kLog, e, sum);
#endif
}

/// e = exp(-|x|).
template <std::size_t N>
HWY_INLINE void exp_of_minus_abs(const V (&x)[N], V (&e)[N]) {
  for (std::size_t i = 0; i < N; ++i) e[i] = minus_abs(x[i]);
  exp_of_nonpositive(e);
}

/// With y = -|x|, e = exp(y): the logistic function p and q = 1 - p (exact to the last bits also
/// where p is nearly 1), and 2 log(1 + e) = series * e, so that 2 log(1 + exp(x)) = series * e + (x
/// - y).
template <std::size_t N>
HWY_INLINE void logistic(const Factors& f, const V (&x)[N], const V (&e)[N], V (&p)[N], V (&q)[N],
                         V (&series)[N]) {
  const D d;
  V one_plus[N];
  for (std::size_t i = 0; i < N; ++i) one_plus[i] = hn::Add(e[i], hn::Set(d, 1.0F));
  log_series(f, e, one_plus, series);
  for (std::size_t i = 0; i < N; ++i) {
    const V larger = hn::Div(f.scale, one_plus[i]);
    const V smaller = hn::Mul(e[i], larger);
    const auto negative = hn::Lt(x[i], hn::Zero(d));
    p[i] = hn::IfThenElse(negative, smaller, larger);
    q[i] = hn::IfThenElse(negative, larger, smaller);
  }
}

/// The terms with gamma 2; the scale carries the weight. Adds the terms times 2 / scale to `sum`
/// and leaves the derivatives.
template <std::size_t N>
HWY_INLINE void square_terms(const Factors& f, const V (&x)[N], const V (&e)[N], V (&sum)[N],
                             V (&derivative)[N]) {
  V p[N];
  V q[N];
  V series[N];
  logistic(f, x, e, p, q, series);
  for (std::size_t i = 0; i < N; ++i) {
    // x - y is 2 max(x, 0), but for an infinite x, either one, it is infinite or NaN.
    const V twice_log = hn::MulAdd(series[i], e[i], hn::Sub(x[i], minus_abs(x[i])));
    const V square = hn::Mul(p[i], p[i]);
    sum[i] = hn::MulAdd(square, twice_log, sum[i]);
    derivative[i] = hn::Mul(square, hn::MulAdd(q[i], twice_log, p[i]));
  }
}

/// The terms with any gamma, for scale 1. Adds twice the terms, without weight, to `sum`.
template <std::size_t N>
HWY_INLINE void power_terms(const Factors& f, const V (&x)[N], const V (&e)[N], V (&sum)[N],
                            V (&derivative)[N]) {
  V p[N];
  V q[N];
  V series[N];
  logistic(f, x, e, p, q, series);
  V power[N];
  V rest[N];
  V twice_log[N];
  for (std::size_t i = 0; i < N; ++i) {
    const V log = hn::Mul(series[i], e[i]);
    twice_log[i] = hn::Add(log, hn::Sub(x[i], minus_abs(x[i])));
    // p^gamma = exp(gamma log(p)), 2 log(p) = 2 min(x, 0) - 2 log(1 + exp(y)). An exponent of -80
    // has an error of 4e-6 in its last digit, so what rounding takes away is kept in `rest`.
    const V twice_min = hn::Add(x[i], minus_abs(x[i]));
    const V twice_log_p = hn::Sub(twice_min, log);
    const V lost = hn::Sub(hn::Sub(twice_min, twice_log_p), log);
    power[i] = hn::Mul(f.half_gamma, twice_log_p);
    rest[i] = hn::MulAdd(f.half_gamma, lost, hn::MulSub(f.half_gamma, twice_log_p, power[i]));
  }
  exp_of_nonpositive(power);
  for (std::size_t i = 0; i < N; ++i) {
    power[i] = hn::MulAdd(power[i], rest[i], power[i]);
    sum[i] = hn::MulAdd(power[i], twice_log[i], sum[i]);
    const V slope = hn::Mul(f.half_gamma, hn::Mul(q[i], twice_log[i]));
    derivative[i] = hn::Mul(hn::Mul(f.weight, power[i]), hn::Add(p[i], slope));
  }
}

template <bool kSquare, std::size_t N>
HWY_INLINE void add_terms(const Factors& f, const V (&x)[N], const V (&e)[N], V (&sum)[N],
                          V (&derivative)[N]) {
  if constexpr (kSquare) {
    square_terms(f, x, e, sum, derivative);
  } else {
    power_terms(f, x, e, sum, derivative);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace harness::kernels::focal
HWY_AFTER_NAMESPACE();

#endif  // the target's turn
