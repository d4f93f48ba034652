// Coefficients of 2 log(1 + e) / e in 16 pieces.
#pragma once

#include <cmath>
#include <cstddef>

namespace harness::kernels::focal {

inline constexpr std::size_t kPieces = 16;
inline constexpr std::size_t kPieceTerms = 4;

/// c[k][i]: the coefficient of e^k for i / 16 <= e <= (i + 1) / 16.
struct LogPieces {
  alignas(64) float c[kPieceTerms][kPieces];
};

/// Interpolates at the Chebyshev points, which is nearly the best there is: relative error 2.5e-8.
inline LogPieces make_log_pieces() {
  LogPieces pieces;
  for (std::size_t i = 0; i < kPieces; ++i) {
    double x[kPieceTerms];
    double slope[kPieceTerms];  // divided differences
    for (std::size_t k = 0; k < kPieceTerms; ++k) {
      const double angle = 3.14159265358979323846 * (static_cast<double>(k) + 0.5) / kPieceTerms;
      x[k] = (static_cast<double>(i) + 0.5 - 0.5 * std::cos(angle)) / kPieces;
      slope[k] = 2 * std::log1p(x[k]) / x[k];
    }
    for (std::size_t order = 1; order < kPieceTerms; ++order) {
      for (std::size_t k = kPieceTerms - 1; k >= order; --k) {
        slope[k] = (slope[k] - slope[k - 1]) / (x[k] - x[k - order]);
      }
    }
    // Newton's form to powers of e.
    double power[kPieceTerms] = {};
    for (std::size_t k = kPieceTerms; k-- > 0;) {
      for (std::size_t j = kPieceTerms - 1; j > 0; --j) power[j] = power[j - 1] - x[k] * power[j];
      power[0] = slope[k] - x[k] * power[0];
    }
    for (std::size_t k = 0; k < kPieceTerms; ++k) pieces.c[k][i] = static_cast<float>(power[k]);
  }
  return pieces;
}

inline const LogPieces& log_pieces() {
  static const LogPieces pieces = make_log_pieces();
  return pieces;
}

}  // namespace harness::kernels::focal
