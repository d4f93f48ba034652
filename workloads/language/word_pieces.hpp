// WordPiece (Wu et al. 2016, arXiv 1609.08144): words as the numbers of the longest pieces of a
// vocabulary.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace harness::workloads {

class WordPieces {
 public:
  /// One piece a line, its number that of the line from 0; a piece within a word begins with "##".
  /// Throws Error where [UNK], [CLS] or [SEP] is not among them.
  explicit WordPieces(const std::filesystem::path& vocabulary);

  /// [CLS], the pieces of the text's words (words.hpp), [SEP]: 2 to `most` numbers, what is over is
  /// cut off. A word with a part that is in no piece, or of over 100 characters, is [UNK]. A text
  /// that spells "[SEP]" means these five characters.
  std::vector<std::int64_t> operator()(std::string_view text, std::size_t most = 256) const;

  std::int64_t count() const { return static_cast<std::int64_t>(numbers_.size()); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::int64_t special(const std::filesystem::path& vocabulary, std::string_view piece) const;
  void add(std::u32string_view word, std::vector<std::int64_t>& numbers) const;

  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> numbers_{};
  std::size_t longest_ = 0;  ///< of the pieces, in characters or more
  std::int64_t unknown_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace harness::workloads
