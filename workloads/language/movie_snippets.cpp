#include "workloads/language/movie_snippets.hpp"

#include <cmath>
#include <cstddef>
#include <unordered_set>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/number.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {
namespace {

constexpr std::size_t kMostFileBytes = 64 << 20;
constexpr double kLeastRating = 0.5;

}  // namespace

MovieSnippets read_movie_snippets(const std::filesystem::path& file) {
  const std::string content = read_file(file, kMostFileBytes);
  MovieSnippets snippets;
  std::unordered_set<std::string> seen;
  std::size_t number = 0;
  for (const std::string& line : split(content, '\n')) {
    ++number;
    if (trim(line).empty()) continue;
    const std::vector<std::string> cells = split(line, '\t');
    const std::string what = file.string() + ", line " + std::to_string(number);
    if (cells.size() != 3)
      throw Error(what, "is not a number, a mean and a text with tabs between");
    const double rating = number_in(what, cells[1], -4, 4);
    if (std::abs(rating) < kLeastRating) continue;
    std::string text(trim(cells[2]));
    if (!seen.insert(text).second) continue;
    auto& part = (seen.size() % 2 == 1) ? snippets.fitted : snippets.tested;
    part.push_back({std::move(text), rating > 0});
  }
  if (snippets.tested.empty()) throw Error(file.string(), "holds no snippets");
  return snippets;
}

std::vector<std::string> texts_of(const std::vector<Snippet>& snippets) {
  std::vector<std::string> texts;
  for (const Snippet& snippet : snippets) texts.push_back(snippet.text);
  return texts;
}

}  // namespace harness::workloads
