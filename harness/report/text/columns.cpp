#include "harness/report/text/columns.hpp"

#include <fmt/format.h>

#include <vector>

#include "harness/base/text.hpp"

namespace harness {
namespace {

constexpr std::size_t kLongestName = 4096;

/// Where each character begins, and the end of the text.
std::vector<std::size_t> characters(const std::string& text) {
  std::vector<std::size_t> begins;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) begins.push_back(i);
  }
  begins.push_back(text.size());
  return begins;
}

}  // namespace

std::string cut_middle(const std::string& name, std::size_t width) {
  std::string shown = printable(name, kLongestName);
  const std::vector<std::size_t> begins = characters(shown);
  const std::size_t length = begins.size() - 1;
  if (length <= width) return shown;
  const std::size_t kept = width - 3;
  const std::size_t first = (kept + 1) / 2;
  return shown.substr(0, begins[first]) + "..." + shown.substr(begins[length - (kept - first)]);
}

std::string named_row(const std::string& name, std::size_t width, const std::string& rest,
                      std::size_t columns) {
  const std::string whole = cut_middle(name, columns);
  const bool fits = characters(whole).size() - 1 <= width;
  return fits ? fmt::format("{:<{}}{}\n", whole, width, rest)
              : fmt::format("{}\n{:{}}{}\n", whole, "", width, rest);
}

}  // namespace harness
