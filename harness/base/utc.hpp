// Times of day as result files hold them.
#pragma once

#include <optional>
#include <string_view>

namespace harness {

/// Seconds since 1970 of a time in the form 2026-01-31T12:00:00.123Z; empty for any other text.
std::optional<double> utc_seconds(std::string_view text);

/// Seconds since 1970 now, by this machine's clock.
double utc_seconds_now();

}  // namespace harness
