// Output for people, compared by whole lines.
#pragma once

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace harness {

inline std::vector<std::string> text_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// Whether `line` is `pattern`, in which each '*' stands for any text.
inline bool is_like(std::string_view line, std::string_view pattern) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos) return line == pattern;
  if (!line.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (std::size_t at = star; at <= line.size(); ++at) {
    if (is_like(line.substr(at), rest)) return true;
  }
  return false;
}

/// A text that has these lines, one behind the other: each whole, with '*' for what may vary.
class HasLines : public Catch::MatcherBase<std::string> {
 public:
  explicit HasLines(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
  bool match(const std::string& text) const override {
    const std::vector<std::string> lines = text_lines(text);
    return std::search(lines.begin(), lines.end(), patterns_.begin(), patterns_.end(), is_like) !=
           lines.end();
  }
  std::string describe() const override {
    std::string all = "has the lines:";
    for (const std::string& pattern : patterns_) all += "\n" + pattern;
    return all;
  }

 private:
  std::vector<std::string> patterns_;
};

}  // namespace harness
