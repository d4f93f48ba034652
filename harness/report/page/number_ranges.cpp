#include "harness/report/page/number_ranges.hpp"

#include "harness/base/text.hpp"

namespace harness {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// What makes the digits beside it part of a name, a version or a date.
bool belongs_to_name(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-';
}

/// Where the number that begins at `from` ends; `from` where none does.
std::size_t end_of_number(std::string_view text, std::size_t from) {
  if (from > 0 && (belongs_to_name(text[from - 1]) || text[from - 1] == '.')) return from;
  if (from > 1 && text[from - 1] == ':' && is_digit(text[from - 2])) return from;
  const auto digits = [&](std::size_t at) {
    while (at < text.size() && is_digit(text[at])) ++at;
    return at;
  };
  const auto is_point = [&](std::size_t at) {
    return at + 1 < text.size() && (text[at] == '.' || text[at] == ':') && is_digit(text[at + 1]);
  };
  std::size_t end = digits(from);
  if (end == from) return from;
  if (is_point(end) && text[end] == '.') end = digits(end + 1);
  const bool goes_on = end < text.size() && (belongs_to_name(text[end]) || is_point(end));
  return goes_on ? from : end;
}

double value_of(const std::string& number) { return parse_number(number).value_or(0); }

}  // namespace

NumberedText take_numbers(std::string_view text) {
  NumberedText taken;
  std::string between;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = end_of_number(text, i);
    if (end == i) {
      between += text[i++];
      continue;
    }
    taken.between.push_back(std::move(between));
    between.clear();
    taken.numbers.emplace_back(text.substr(i, end - i));
    i = end;
  }
  taken.between.push_back(std::move(between));
  return taken;
}

void NumberRanges::add(const std::vector<std::string>& numbers) {
  if (ranges_.empty()) {
    for (const std::string& number : numbers) ranges_.push_back({number, number});
    return;
  }
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const double value = value_of(numbers[i]);
    if (value < value_of(ranges_[i].least)) ranges_[i].least = numbers[i];
    if (value > value_of(ranges_[i].most)) ranges_[i].most = numbers[i];
  }
}

std::string NumberRanges::text(const std::vector<std::string>& between) const {
  std::string text = between.front();
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    text += ranges_[i].least;
    if (ranges_[i].most != ranges_[i].least) text += " to " + ranges_[i].most;
    text += between[i + 1];
  }
  return text;
}

}  // namespace harness
