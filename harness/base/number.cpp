#include "harness/base/number.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

template <class Number>
Number checked(const std::string& what, Number value, Number low, Number high) {
  if (value < low) throw Error(what, fmt::format("too small: at least {}", low));
  if (value > high) throw Error(what, fmt::format("too large: at most {}", high));
  return value;
}

}  // namespace

std::optional<std::int64_t> parse_clamped(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ptr != end || text.empty()) return std::nullopt;
  if (parsed.ec == std::errc{}) return value;
  if (parsed.ec != std::errc::result_out_of_range) return std::nullopt;
  using Limits = std::numeric_limits<std::int64_t>;
  return text.front() == '-' ? Limits::min() : Limits::max();
}

std::optional<double> parse_unbounded(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ptr != end || text.empty()) return std::nullopt;
  if (parsed.ec == std::errc::result_out_of_range)
    return std::strtod(std::string(text).c_str(), nullptr);
  if (parsed.ec != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::int64_t in_range(const std::string& what, std::int64_t value, std::int64_t low,
                      std::int64_t high) {
  return checked(what, value, low, high);
}

double in_range(const std::string& what, double value, double low, double high) {
  return checked(what, value, low, high);
}

std::int64_t integer_in(const std::string& what, std::string_view text, std::int64_t low,
                        std::int64_t high) {
  if (const auto value = parse_clamped(text)) return in_range(what, *value, low, high);
  throw Error(what, fmt::format("not a whole number from {} to {}", low, high));
}

double number_in(const std::string& what, std::string_view text, double low, double high) {
  if (const auto value = parse_unbounded(text)) return in_range(what, *value, low, high);
  using Limits = std::numeric_limits<double>;
  if (low == Limits::lowest() && high == Limits::max()) throw Error(what, "not a number");
  throw Error(what, fmt::format("not a number from {} to {}", low, high));
}

}  // namespace harness
