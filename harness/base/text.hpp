// Small helpers for text that people read or type.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace harness {

/// Up to three of `candidates` that `name` may have meant (edit distance), best first.
std::vector<std::string> nearest_names(const std::string& name,
                                       const std::vector<std::string>& candidates);

/// "did you mean NAME?" or "known: a, b, c" when nothing is near.
std::string did_you_mean(const std::string& name, const std::vector<std::string>& candidates);

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);

/// The whole text as a number; empty for anything else (trailing text, overflow, "nan", "inf").
std::optional<long long> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);

/// `value` in `unit` for a person: 1.234 s, 12.3 ms, 4.5 GiB, 402 GFLOP/s, 0.812.
std::string format_quantity(double value, std::string_view unit);

/// Seconds that are left, always in the same form: 38 s, 3 min 38 s.
std::string format_time_left(double seconds);

/// "1 round", "6 rounds".
std::string format_count(long long count, const std::string& noun);

/// `text` in lines of at most `columns` characters (UTF-8), broken at blanks only; all but the
/// first start with `indent` blanks. No newline at the end.
std::string wrap(std::string_view text, std::size_t columns, std::size_t indent);

/// Control characters as \xNN and at most `limit` bytes, so that hostile text cannot drive a
/// terminal.
std::string printable(std::string_view text, std::size_t limit = 200);

/// Whether `text` is 8-4-4-4-12 hexadecimal digits in small letters.
bool is_uuid(std::string_view text);

/// Pointers to `texts` and a null at the end, as exec() takes them, for as long as `texts` stands.
std::vector<char*> exec_list(std::vector<std::string>& texts);

/// UTC now as 2026-01-31T12:00:00.123Z.
std::string utc_now();

/// `text` as one word of a shell command.
std::string shell_word(const std::string& text);
/// The same for a line that a person reads and pastes: in quotes only where the shell needs them.
std::string pasted_word(const std::string& text);

}  // namespace harness
