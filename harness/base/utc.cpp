#include "harness/base/utc.hpp"

#include <array>
#include <chrono>

namespace harness {
namespace {

/// A number of exactly these digits.
std::optional<int> digits(std::string_view text, std::size_t at, std::size_t count) {
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

}  // namespace

std::optional<double> utc_seconds(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  if (text.size() != kForm.size()) return std::nullopt;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] != '0' && text[i] != kForm[i]) return std::nullopt;
  }
  const std::array<std::optional<int>, 7> parts = {
      digits(text, 0, 4),  digits(text, 5, 2),  digits(text, 8, 2), digits(text, 11, 2),
      digits(text, 14, 2), digits(text, 17, 2), digits(text, 20, 3)};
  for (const std::optional<int>& part : parts) {
    if (!part) return std::nullopt;
  }
  const std::chrono::year_month_day day{std::chrono::year(*parts[0]),
                                        std::chrono::month(static_cast<unsigned>(*parts[1])),
                                        std::chrono::day(static_cast<unsigned>(*parts[2]))};
  if (!day.ok()) return std::nullopt;
  const auto days = std::chrono::sys_days(day).time_since_epoch().count();
  return 86400.0 * static_cast<double>(days) + 3600.0 * *parts[3] + 60.0 * *parts[4] + *parts[5] +
         *parts[6] * 1e-3;
}

double utc_seconds_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

}  // namespace harness
