// JSON as text in the two forms we write: canonical (to be hashed) and readable (to be read).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace harness {

/// `value` as ECMAScript's Number::toString writes it (RFC 8785, section 3.2.2.3): the shortest
/// digits that read back as the same double. Throws std::invalid_argument for NaN and infinities.
std::string number_text(double value);

/// The canonical form of RFC 8785 (JCS): no white space, keys in the order of their UTF-16 code
/// units, numbers by number_text(), strings with the fewest escapes. Throws std::invalid_argument,
/// naming the JSON pointer, for a number that is not finite, an integer beyond +-(2^53 - 1) (its
/// double is not exact, so readers would disagree), or a string that is not UTF-8. Precondition:
/// nested at most a few thousand deep. `left_out` names a member of the object `value` itself that
/// is passed over.
std::string canonical_json(const nlohmann::json& value, std::string_view left_out = {});

/// The same data indented by two spaces, with every object or array that fits into one line on one
/// line, and a newline at the end. Throws like canonical_json().
std::string readable_json(const nlohmann::json& value);

}  // namespace harness
