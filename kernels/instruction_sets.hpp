// The instruction sets that vector code is compiled for: included before Highway, which compiles
// for the rest.
#pragma once

// Vectors are kept in arrays, which those of no fixed size (SVE) cannot be; NEON runs there. A
// build may leave out more: -DHARNESS_LEFT_OUT_TARGETS="(HWY_SSSE3|HWY_SSE4)".
#ifndef HARNESS_LEFT_OUT_TARGETS
#define HARNESS_LEFT_OUT_TARGETS 0
#endif
#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HARNESS_LEFT_OUT_TARGETS)
