#include "workloads/language/word_pieces.hpp"

#include <algorithm>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "workloads/language/words.hpp"

namespace harness::workloads {
namespace {

constexpr std::size_t kLongestWord = 100;
constexpr std::size_t kMostBytes = 16 << 20;

}  // namespace

WordPieces::WordPieces(const std::filesystem::path& vocabulary) {
  const std::string text = read_file(vocabulary, kMostBytes);
  std::int64_t number = 0;
  for (std::size_t begin = 0; begin < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const bool carriage = end > begin && text[end - 1] == '\r';
    std::string piece = text.substr(begin, end - begin - (carriage ? 1 : 0));
    longest_ = std::max(longest_, piece.size());
    if (!numbers_.emplace(std::move(piece), number).second) {
      throw Error(vocabulary.string(), "line " + std::to_string(number + 1) + " is there twice");
    }
    begin = end + 1;
  }
  unknown_ = special(vocabulary, "[UNK]");
  begin_ = special(vocabulary, "[CLS]");
  end_ = special(vocabulary, "[SEP]");
}

std::int64_t WordPieces::special(const std::filesystem::path& vocabulary,
                                 std::string_view piece) const {
  const auto found = numbers_.find(piece);
  if (found != numbers_.end()) return found->second;
  throw Error(vocabulary.string(), "is no vocabulary: it lacks " + std::string(piece));
}

void WordPieces::add(std::u32string_view word, std::vector<std::int64_t>& numbers) const {
  const std::size_t before = numbers.size();
  std::size_t begin = 0;
  while (begin < word.size() && word.size() <= kLongestWord) {
    const std::string mark = begin == 0 ? "" : "##";
    std::size_t end = std::min(word.size(), begin + longest_);
    auto found = numbers_.end();
    for (; end > begin; --end) {
      found = numbers_.find(mark + utf8(word.substr(begin, end - begin)));
      if (found != numbers_.end()) break;
    }
    if (found == numbers_.end()) break;
    numbers.push_back(found->second);
    begin = end;
  }
  if (begin == word.size()) return;
  numbers.resize(before);
  numbers.push_back(unknown_);
}

std::vector<std::int64_t> WordPieces::operator()(std::string_view text, std::size_t most) const {
  most = std::max<std::size_t>(most, 2);
  std::vector<std::int64_t> numbers{begin_};
  // Each word gives a piece or more.
  for (const std::u32string& word : words(text, most - 2)) {
    if (numbers.size() + 1 >= most) break;
    add(word, numbers);
  }
  numbers.resize(std::min(numbers.size(), most - 1));
  numbers.push_back(end_);
  return numbers;
}

}  // namespace harness::workloads
