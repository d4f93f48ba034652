#include "harness/base/text.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <numeric>

namespace harness {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

template <class Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec != std::errc{} || parsed.ptr != end || text.empty()) return std::nullopt;
  return value;
}

std::string scaled(double value, double base, const std::vector<const char*>& prefixes,
                   std::string_view unit) {
  std::size_t i = 0;
  while (std::abs(value) >= base && i + 1 < prefixes.size()) {
    value /= base;
    ++i;
  }
  // Beyond the last prefix: not with hundreds of digits.
  if (std::abs(value) >= 1e6) return fmt::format("{:.3g} {}{}", value, prefixes[i], unit);
  const int digits = std::abs(value) >= 100 ? 0 : std::abs(value) >= 10 ? 1 : 2;
  return fmt::format("{:.{}f} {}{}", value, digits, prefixes[i], unit);
}

}  // namespace

std::vector<std::string> nearest_names(const std::string& name,
                                       const std::vector<std::string>& candidates) {
  // Long input is no typing slip; capping it also bounds the quadratic distance.
  if (name.size() > 64) return {};
  std::vector<std::pair<std::size_t, std::string>> scored;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const bool contained = name.size() >= 3 && candidate.find(name) != std::string::npos;
    if (contained || distance <= std::max<std::size_t>(2, candidate.size() / 3)) {
      scored.emplace_back(contained ? 0 : distance, candidate);
    }
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto& entry : scored) {
    if (names.size() < 3) names.push_back(entry.second);
  }
  return names;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& given) {
  std::vector<std::string> candidates;  // a workload and an operator may have one name
  for (const std::string& one : given) {
    if (std::find(candidates.begin(), candidates.end(), one) == candidates.end()) {
      candidates.push_back(one);
    }
  }
  const std::vector<std::string> near = nearest_names(name, candidates);
  if (!near.empty()) return "did you mean " + join(near, ", ") + "?";
  return candidates.empty() ? "there are none" : "known: " + join(candidates, ", ");
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = text.find(separator, begin);
    parts.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return parts;
    begin = end + 1;
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::optional<long long> parse_integer(std::string_view text) {
  return parse_whole<long long>(text);
}

std::optional<double> parse_number(std::string_view text) {
  const std::optional<double> value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string format_quantity(double value, std::string_view unit) {
  if (value < 0) return fmt::format("-{}", format_quantity(-value, unit));
  if (unit == "s") {
    if (value >= 120)
      return fmt::format("{:.0f} min {:02.0f} s", std::floor(value / 60), std::fmod(value, 60));
    if (value >= 1 || value == 0) return fmt::format("{:.3f} s", value);
    if (value >= 1e-3) return fmt::format("{:.2f} ms", value * 1e3);
    return fmt::format("{:.2f} us", value * 1e6);
  }
  if (unit == "B") return scaled(value, 1024, {"", "Ki", "Mi", "Gi", "Ti", "Pi"}, "B");
  if (unit == "FLOP" || unit == "FLOP/s" || unit == "B/s") {
    return scaled(value, 1000, {"", "k", "M", "G", "T", "P"}, unit);
  }
  if (unit == "1") return fmt::format("{:.6g}", value);
  return fmt::format("{:.4g} {}", value, unit);
}

std::string format_time_left(double seconds) {
  const double whole = std::round(seconds);
  if (whole < 60) return fmt::format("{:.0f} s", whole);
  return fmt::format("{:.0f} min {:02.0f} s", std::floor(whole / 60), std::fmod(whole, 60));
}

std::string format_count(long long count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string wrap(std::string_view text, std::size_t columns, std::size_t indent) {
  const auto width = [](std::string_view part) {
    return static_cast<std::size_t>(std::count_if(part.begin(), part.end(), [](char c) {
      return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // not a byte that continues one
    }));
  };
  std::string out;
  std::size_t column = 0;
  bool fresh = true;  // nothing but the indent stands in this line yet
  for (const std::string& word : split(text, ' ')) {
    if (word.empty() && fresh && !out.empty()) continue;  // a gap that ends with the line
    if (!fresh && column + 1 + width(word) > columns) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += "\n" + std::string(indent, ' ');
      column = indent;
      fresh = true;
      if (word.empty()) continue;
    }
    if (!fresh) {
      out += ' ';
      ++column;
    }
    out += word;
    column += width(word);
    fresh = false;
  }
  return out;
}

namespace {

/// Bytes of the character that `text`, which is not empty, begins with; 0 where it is none of
/// UTF-8.
std::size_t bytes_of_character(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = at(0) < 0x80   ? 1
                             : at(0) < 0xC2 ? 0
                             : at(0) < 0xE0 ? 2
                             : at(0) < 0xF0 ? 3
                             : at(0) < 0xF5 ? 4
                                            : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  // Longer than it need be, half of a pair, or beyond the last character.
  const unsigned second = length > 2 ? at(1) : 0x90U;
  const bool odd = (at(0) == 0xE0 && second < 0xA0) || (at(0) == 0xED && second >= 0xA0) ||
                   (at(0) == 0xF0 && second < 0x90) || (at(0) == 0xF4 && second >= 0x90);
  return odd ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= limit) return out + "...";
    const std::size_t length = bytes_of_character(text);
    const auto first = static_cast<unsigned char>(text[0]);
    // U+0080 to U+009F, two bytes in UTF-8, are control characters too.
    const auto last = static_cast<unsigned char>(text[length == 2 ? 1 : 0]);
    const bool control_pair = length == 2 && first == 0xC2 && last < 0xA0;
    if (length == 0 || control_pair || first < 0x20 || first == 0x7f) {
      out += fmt::format("\\x{:02x}", last);
      text.remove_prefix(std::max<std::size_t>(length, 1));
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out;
}

bool is_uuid(std::string_view text) {
  constexpr std::string_view kForm = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  if (text.size() != kForm.size()) return false;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool hexadecimal =
        std::string_view("0123456789abcdef").find(text[i]) != std::string::npos;
    if (kForm[i] == '-' ? text[i] != '-' : !hexadecimal) return false;
  }
  return true;
}

std::vector<char*> exec_list(std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (std::string& text : texts) list.push_back(text.data());
  list.push_back(nullptr);
  return list;
}

std::string utc_now() {
  const auto now = std::chrono::system_clock::now();
  const auto ms =
      std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03d}Z",
                     fmt::gmtime(static_cast<std::time_t>(ms / 1000)), ms % 1000);
}

std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      word.append("'\\''");
    } else {
      word.push_back(letter);
    }
  }
  return word.append("'");
}

std::string pasted_word(const std::string& text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos;
  return plain ? text : shell_word(text);
}

}  // namespace harness
