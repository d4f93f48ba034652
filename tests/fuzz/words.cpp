// A text from anybody: its words, and the pieces that a model is given.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/memory_file.hpp"
#include "workloads/language/word_pieces.hpp"
#include "workloads/language/words.hpp"

namespace harness {
namespace {

using namespace workloads;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kMostWords = 254;
constexpr std::size_t kMostPieces = 256;
constexpr std::size_t kFewer = 5;

const WordPieces& vocabulary() {
  static const WordPieces pieces = [] {
    const MemoryFile file(
        "[UNK]\n[CLS]\n[SEP]\na\nb\nc\n##a\n##b\n##c\nab\n##abc\n.\ne\n##\xc3\x9f\n");
    return WordPieces(file.path());
  }();
  return pieces;
}

}  // namespace

void fuzz_words(std::string_view bytes) {
  const std::u32string characters = code_points(bytes);
  promise(characters.size() <= bytes.size(), "more characters than bytes");
  promise(code_points(utf8(characters)) == characters, "characters that are not UTF-8");
  const std::vector<std::u32string> all = words(bytes, kMostWords);
  promise(all.size() <= kMostWords, "more words than asked for");
  for (const std::u32string& word : all) {
    promise(!word.empty(), "a word of nothing");
    promise(word.find_first_of(U" \t\n\r\xfffd") == std::u32string::npos, "a space within a word");
  }
  std::vector<std::u32string> fewer = all;
  fewer.resize(std::min(all.size(), kFewer));
  promise(words(bytes, kFewer) == fewer, "other words where fewer are asked for");
  const std::vector<std::int64_t> pieces = vocabulary()(bytes, kMostPieces);
  promise(pieces.size() >= 2 && pieces.size() <= kMostPieces, "too few pieces, or too many");
  promise(pieces.front() == 1 && pieces.back() == 2, "no begin, or no end");
  for (const std::int64_t piece : pieces) {
    promise(piece >= 0 && piece < vocabulary().count(), "a piece that is in no vocabulary");
  }
}

}  // namespace harness
