// Comparisons as text for a terminal, as JSON and as a table.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/compare/comparison.hpp"

namespace harness {

/// What an interval says of a change: of a factor against 1, of a difference against 0.
std::string change_word(const Interval& change, bool is_factor);
std::string render_comparison(const Comparison& comparison);
nlohmann::json to_json(const Comparison& comparison);
/// A row for each quantity of each side.
std::string comparison_csv(const Comparison& comparison);

}  // namespace harness
