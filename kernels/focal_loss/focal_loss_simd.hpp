// The arithmetic of the focal loss, without LibTorch. One source for all instruction sets; the
// widest that the CPU has is picked at run time.
#pragma once

#include <cstdint>
#include <string>

namespace harness::kernels::focal {

/// Of a logit x with p = 1 / (1 + exp(-x)); Lin et al. 2017, eq. 5.
///   background (target 0): weight * p^gamma * log(1 + exp(x))
///   target (target 1):     weight * (1 - p)^gamma * log(1 + exp(-x))
struct Term {
  double weight = 1;  ///< alpha or 1 - alpha, and the normalisation; >= 0
  double gamma = 2;   ///< >= 0; 2 is fast
};

/// Sum of the background terms of `count` logits; writes their derivatives when `gradient` is not
/// null. `position`: index of the first logit in its map; it decides which logits are added up in
/// which lane, so that the sum depends on no address. `stream`: write past the caches where the
/// alignment allows; then call fence() on the same thread before anyone reads.
double background_loss(const float* logits, float* gradient, std::int64_t count,
                       std::int64_t position, const Term& term, bool stream);
/// The same for bf16 logits and derivatives (rounded to nearest even), each a float's upper 16
/// bits. The arithmetic is fp32.
double background_loss(const std::uint16_t* logits, std::uint16_t* gradient, std::int64_t count,
                       std::int64_t position, const Term& term, bool stream);
void fence();

/// A single term and its derivative, in double precision.
struct Value {
  double loss = 0;
  double derivative = 0;
};
Value target_loss(double logit, const Term& term);

/// exp(-|x|) and log(1 + exp(-|x|)) as the terms above take them; for tests of their accuracy.
/// Where exp(-|x|) is below the least normal float, both are some value from 0 up to it.
void exp_and_log(const float* logits, float* exponential, float* logarithm, std::int64_t count);

/// The instruction set in use, in Highway's words: "AVX3", "NEON".
std::string instruction_set();

}  // namespace harness::kernels::focal
