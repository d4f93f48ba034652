#include "harness/result/json_clean.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace harness {
namespace {

using nlohmann::json;

constexpr std::int64_t kLargestExactInteger = (std::int64_t{1} << 53) - 1;

void clean(json& value, const std::string& path) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    throw std::logic_error("result " + path + " is not finite: leave it out, with a reason");
  }
  if ((value.is_number_unsigned() &&
       value.get<std::uint64_t>() > static_cast<std::uint64_t>(kLargestExactInteger)) ||
      (value.is_number_integer() && !value.is_number_unsigned() &&
       (value.get<std::int64_t>() > kLargestExactInteger ||
        value.get<std::int64_t>() < -kLargestExactInteger))) {
    throw std::logic_error("result " + path + " is an integer beyond 2^53 - 1");
  }
  if (value.is_string()) {
    auto& text = value.get_ref<std::string&>();
    text = text_for_result(text);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) clean(value[i], fmt::format("{}/{}", path, i));
  } else if (value.is_object()) {
    json cleaned = json::object();
    for (auto& [key, child] : value.items()) {
      clean(child, fmt::format("{}/{}", path, key));
      cleaned[text_for_result(key)] = std::move(child);
    }
    value = std::move(cleaned);
  }
}

}  // namespace

std::string text_for_result(const std::string& text) {
  // Within quotes and escapes, the library's writer replaces what is not UTF-8, one U+FFFD for each
  // bad byte sequence.
  std::string clean = json::parse(json(text).dump(-1, ' ', false, json::error_handler_t::replace))
                          .get<std::string>();
  if (clean.size() <= kLongestText) return clean;
  std::size_t cut = kLongestText - 3;
  while (cut > 0 && (static_cast<unsigned char>(clean[cut]) & 0xC0) == 0x80) --cut;
  return clean.substr(0, cut) + "...";
}

void clean_for_result(json& document) { clean(document, ""); }

}  // namespace harness
