// Numbers as people type them. Every mistake is one Error that names what was typed and the bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace harness {

/// The whole text as a whole number. One that does not fit into 64 bits counts as the greatest or
/// the least that does. Empty for any other text.
std::optional<std::int64_t> parse_clamped(std::string_view text);

/// The whole text as a number. One beyond what a double holds is infinite. Empty for any other
/// text, "inf" and "nan" included.
std::optional<double> parse_unbounded(std::string_view text);

/// `value` when it lies from `low` to `high`. Else throws Error: WHAT, "too small: at least LOW" or
/// "too large: at most HIGH".
std::int64_t in_range(const std::string& what, std::int64_t value, std::int64_t low,
                      std::int64_t high);
double in_range(const std::string& what, double value, double low, double high);

/// `text` as a number in that range. Throws Error also for what is no number.
std::int64_t integer_in(const std::string& what, std::string_view text, std::int64_t low,
                        std::int64_t high);
double number_in(const std::string& what, std::string_view text, double low, double high);

}  // namespace harness
