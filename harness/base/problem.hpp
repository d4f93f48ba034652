// The shapes of a primitive, told from its problem, which is in benchdnn's syntax.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// A convolution's extents by benchdnn's names (mb, ic, oc, ih, kh, sh, dh, ph, ...), each of at
/// most 2^31. A width that is not named is like the height, and a depth that is not is 1.
class ConvolutionExtents {
 public:
  /// Empty for what is no convolution's problem.
  static std::optional<ConvolutionExtents> parse(std::string_view problem);

  std::int64_t of(const std::string& name) const;  ///< precondition: one of benchdnn's names
  /// Of one pass (forward, or either gradient), a multiply-add counted as two.
  double flops() const;
  /// One that minimal filtering (Winograd) can compute: 3x3, stride 1, no groups, no dilation.
  bool allows_minimal_filtering() const;

 private:
  std::map<std::string, std::int64_t> values_{};
};

/// "8x64x100x100" -> its numbers, each from 0 to 2^31; empty for anything else.
std::optional<std::vector<std::int64_t>> parse_extents(std::string_view text);

}  // namespace harness
