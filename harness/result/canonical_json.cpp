#include "harness/result/canonical_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargestExactInteger = (std::int64_t{1} << 53) - 1;
// Lines longer than this are broken into one element a line.
constexpr std::size_t kLineWidth = 100;

// Decodes one code point at `position` and moves past it. Strict: no overlong forms, no surrogates.
char32_t next_code_point(std::string_view text, std::size_t& position) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned lead = byte(position);
  const std::size_t length = lead < 0x80             ? 1
                             : (lead & 0xE0) == 0xC0 ? 2
                             : (lead & 0xF0) == 0xE0 ? 3
                             : (lead & 0xF8) == 0xF0 ? 4
                                                     : 0;
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  char32_t point = length == 1 ? lead : lead & (0x7FU >> length);
  bool good = length != 0;
  for (std::size_t i = 1; i < length; ++i) {
    const unsigned next = byte(position + i);
    good = good && (next & 0xC0) == 0x80;
    point = (point << 6) | (next & 0x3F);
  }
  good =
      good && point >= kSmallest[length] && point <= 0x10FFFF && (point < 0xD800 || point > 0xDFFF);
  if (!good) throw std::invalid_argument("a string is not UTF-8: " + printable(text, 60));
  position += length;
  return point;
}

std::u16string utf16(std::string_view text) {
  std::u16string units;
  for (std::size_t position = 0; position < text.size();) {
    char32_t point = next_code_point(text, position);
    if (point >= 0x10000) {
      point -= 0x10000;
      units += static_cast<char16_t>(0xD800 + (point >> 10));
      units += static_cast<char16_t>(0xDC00 + (point & 0x3FF));
    } else {
      units += static_cast<char16_t>(point);
    }
  }
  return units;
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::string string_text(std::string_view text) {
  for (std::size_t position = 0; position < text.size();) next_code_point(text, position);
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (byte < 0x20) {
          out += "\\u00";
          out += kHex[byte >> 4];
          out += kHex[byte & 15];
        } else {
          out += c;
        }
    }
  }
  return out + '"';
}

std::string scalar_text(const json& value) {
  switch (value.type()) {
    case json::value_t::null:
      return "null";
    case json::value_t::boolean:
      return value.get<bool>() ? "true" : "false";
    case json::value_t::number_float:
      return number_text(value.get<double>());
    case json::value_t::number_unsigned:
      if (value.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestExactInteger)) break;
      return std::to_string(value.get<std::uint64_t>());
    case json::value_t::number_integer:
      if (value.get<std::int64_t>() > kLargestExactInteger ||
          value.get<std::int64_t>() < -kLargestExactInteger) {
        break;
      }
      return std::to_string(value.get<std::int64_t>());
    case json::value_t::string:
      return string_text(value.get_ref<const std::string&>());
    default:
      throw std::invalid_argument("a value that JSON does not have");
  }
  throw std::invalid_argument("the integer " + value.dump() + " is beyond 2^53 - 1");
}

// Calls write_child(key, child) in canonical order; a failure gets the JSON pointer put before it.
template <class WriteChild>
void each_child(const json& value, const WriteChild& write_child) {
  std::string at;
  try {
    if (value.is_array()) {
      std::size_t index = 0;
      for (const json& child : value) {
        at = std::to_string(index++);
        write_child(std::string_view(), child);
      }
      return;
    }
    // Keys are kept in the order of their bytes, and for ASCII that is the order wanted.
    bool ascii = true;
    for (auto member = value.begin(); ascii && member != value.end(); ++member) {
      ascii = is_ascii(member.key());
    }
    for (auto member = value.begin(); ascii && member != value.end(); ++member) {
      at = member.key();
      write_child(std::string_view(member.key()), *member);
    }
    if (ascii) return;
    std::vector<std::pair<std::u16string, json::const_iterator>> members;
    members.reserve(value.size());
    for (auto member = value.begin(); member != value.end(); ++member) {
      members.emplace_back(utf16(member.key()), member);
    }
    std::sort(members.begin(), members.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    for (const auto& [ignored, member] : members) {
      at = member.key();
      write_child(std::string_view(member.key()), *member);
    }
  } catch (const std::invalid_argument& error) {
    if (at.empty()) throw;
    const std::string what = error.what();
    throw std::invalid_argument("/" + at + (what.starts_with('/') ? "" : ": ") + what);
  }
}

void append_canonical(const json& value, std::string_view left_out, std::string& out) {
  if (!value.is_structured()) {
    out += scalar_text(value);
    return;
  }
  out += value.is_array() ? '[' : '{';
  bool first = true;
  each_child(value, [&](std::string_view key, const json& child) {
    if (!left_out.empty() && value.is_object() && key == left_out) return;
    if (!first) out += ',';
    first = false;
    if (value.is_object()) out += string_text(key) + ':';
    append_canonical(child, {}, out);
  });
  out += value.is_array() ? ']' : '}';
}

// Appends `value` on one line, and gives up (false) as soon as it is too long for one.
bool append_line(const json& value, std::size_t limit, std::string& out) {
  if (!value.is_structured()) {
    out += scalar_text(value);
    return out.size() <= limit;
  }
  if (value.size() > kLineWidth) return false;
  out += value.is_array() ? '[' : '{';
  bool first = true;
  bool fits = true;
  each_child(value, [&](std::string_view key, const json& child) {
    if (!fits) return;
    if (!first) out += ", ";
    first = false;
    if (value.is_object()) out += string_text(key) + ": ";
    fits = append_line(child, limit, out);
  });
  out += value.is_array() ? ']' : '}';
  return fits && out.size() <= limit;
}

void append_readable(const json& value, std::size_t indent, std::string& out) {
  const std::size_t begin = out.size();
  const std::size_t room = kLineWidth > indent ? kLineWidth - indent : 0;
  if (append_line(value, begin + room, out) || !value.is_structured()) return;
  out.resize(begin);
  out += value.is_array() ? "[\n" : "{\n";
  bool first = true;
  each_child(value, [&](std::string_view key, const json& child) {
    if (!first) out += ",\n";
    first = false;
    out.append(indent + 2, ' ');
    if (value.is_object()) out += string_text(key) + ": ";
    append_readable(child, indent + 2, out);
  });
  out += '\n';
  out.append(indent, ' ');
  out += value.is_array() ? ']' : '}';
}

}  // namespace

std::string number_text(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("a number that is not finite");
  if (value == 0) return "0";  // -0 too
  char buffer[32];
  const auto end = std::to_chars(std::begin(buffer), std::end(buffer), std::abs(value),
                                 std::chars_format::scientific)
                       .ptr;
  const std::string_view text(buffer, static_cast<std::size_t>(end - buffer));
  const std::size_t e = text.find('e');
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c != '.') digits += c;
  }
  // The value is 0.DIGITS * 10^point, as in ECMA-262's Number::toString (n there).
  const int point = std::atoi(std::string(text.substr(e + 1)).c_str()) + 1;
  const auto k = static_cast<int>(digits.size());
  std::string out = value < 0 ? "-" : "";
  if (k <= point && point <= 21) {
    out += digits + std::string(static_cast<std::size_t>(point - k), '0');
  } else if (0 < point && point <= 21) {
    out += digits.substr(0, static_cast<std::size_t>(point)) + '.' +
           digits.substr(static_cast<std::size_t>(point));
  } else if (-6 < point && point <= 0) {
    out += "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  } else {
    out += digits.substr(0, 1);
    if (k > 1) out += '.' + digits.substr(1);
    out += (point > 0 ? "e+" : "e-") + std::to_string(std::abs(point - 1));
  }
  return out;
}

std::string canonical_json(const json& value, std::string_view left_out) {
  std::string out;
  append_canonical(value, left_out, out);
  return out;
}

std::string readable_json(const json& value) {
  std::string out;
  append_readable(value, 0, out);
  return out + '\n';
}

}  // namespace harness
