#include "harness/base/problem.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "harness/base/text.hpp"

namespace harness {
namespace {

// Larger ones are no shape that anybody trains with, and their products would be no numbers.
constexpr long long kLargestExtent = 1LL << 31;

constexpr std::array<std::string_view, 22> kExtentNames = {
    "g",  "mb", "ic", "oc", "id", "ih", "iw", "od", "oh", "ow", "kd",
    "kh", "kw", "sd", "sh", "sw", "pd", "ph", "pw", "dd", "dh", "dw"};

bool is_extent(std::string_view name) {
  return std::find(kExtentNames.begin(), kExtentNames.end(), name) != kExtentNames.end();
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::optional<ConvolutionExtents> ConvolutionExtents::parse(std::string_view problem) {
  ConvolutionExtents extents;
  std::size_t at = 0;
  while (at < problem.size()) {
    if (problem[at] == '_') {
      ++at;
      continue;
    }
    const std::size_t name_begin = at;
    while (at < problem.size() && is_letter(problem[at])) ++at;
    const std::string name(problem.substr(name_begin, at - name_begin));
    if (name.starts_with('n')) break;  // benchdnn's name for the problem, to the end
    const std::size_t digits = at;
    while (at < problem.size() && is_digit(problem[at])) ++at;
    const auto number = parse_integer(problem.substr(digits, at - digits));
    if (!is_extent(name) || !number || *number > kLargestExtent) return std::nullopt;
    if (!extents.values_.emplace(name, *number).second) return std::nullopt;
  }
  for (const char* needed : {"ic", "oc", "ih", "oh", "kh"}) {
    if (!extents.values_.contains(needed) || extents.of(needed) < 1) return std::nullopt;
  }
  if (extents.of("g") < 1 || extents.of("mb") < 1) return std::nullopt;
  return extents;
}

std::int64_t ConvolutionExtents::of(const std::string& name) const {
  const auto found = values_.find(name);
  if (found != values_.end()) return found->second;
  if (name.size() == 2 && name[1] == 'w') return of({name[0], 'h'});
  return name[0] == 'p' || name[0] == 'd' ? 0 : 1;
}

bool ConvolutionExtents::allows_minimal_filtering() const {
  const auto is = [this](const char* name, std::int64_t value) { return of(name) == value; };
  return is("g", 1) && is("id", 1) && is("kd", 1) && is("kh", 3) && is("kw", 3) && is("sh", 1) &&
         is("sw", 1) && is("dh", 0) && is("dw", 0);
}

double ConvolutionExtents::flops() const {
  const auto n = [this](const char* extent) { return static_cast<double>(of(extent)); };
  return 2 * n("mb") * n("oc") * n("od") * n("oh") * n("ow") * n("ic") / n("g") * n("kd") *
         n("kh") * n("kw");
}

std::optional<std::vector<std::int64_t>> parse_extents(std::string_view text) {
  std::vector<std::int64_t> extents;
  for (const std::string& part : split(text, 'x')) {
    const auto number = parse_integer(part);
    if (!number || *number < 0 || *number > kLargestExtent) return std::nullopt;
    extents.push_back(*number);
  }
  return extents;
}

}  // namespace harness
