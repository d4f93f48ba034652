// Snippets of movie reviews with the mean of what 20 people took them for, from -4, "hates it", to
// 4 (Hutto, Gilbert 2014: VADER, A Parsimonious Rule-based Model for Sentiment Analysis of Social
// Media Text).
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace harness::workloads {

struct Snippet {
  std::string text{};  ///< UTF-8
  bool liked = false;  ///< the mean is above 0
};

struct MovieSnippets {
  std::vector<Snippet> fitted{},
      tested{};  ///< of those kept, each second: from the first, the next
};

std::vector<std::string> texts_of(const std::vector<Snippet>& snippets);

/// Lines of a number, a mean and a text, with tabs between. Kept are those with a mean of 0.5 or
/// more, either way; of equal texts the first. Throws Error for lines of another form.
MovieSnippets read_movie_snippets(const std::filesystem::path& file);

}  // namespace harness::workloads
