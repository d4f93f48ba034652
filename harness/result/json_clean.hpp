// Makes a document fit to be written: what can be mended is, what cannot is a programmer's error.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace harness {

/// Longest text in a result, in bytes; schemas allow as many characters and readers refuse more.
inline constexpr std::size_t kLongestText = 4096;

/// `text` as UTF-8 of at most kLongestText bytes: bytes that are not UTF-8 become U+FFFD, what is
/// too long ends in "...".
std::string text_for_result(const std::string& text);

/// Cleans every string and key below `document`. Throws std::logic_error, naming the JSON pointer,
/// for a number that is not finite or an integer beyond +-(2^53 - 1).
void clean_for_result(nlohmann::json& document);

}  // namespace harness
