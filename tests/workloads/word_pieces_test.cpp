// Pieces of words from a small vocabulary of our own; against BERT's they are held in
// language_test.cpp.
#include "workloads/language/word_pieces.hpp"

#include <catch2/catch.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

using Numbers = std::vector<std::int64_t>;
enum : std::int64_t { kUnknown = 0, kBegin, kEnd, kA, kAb, kMarkB, kMarkBc, kComma, kE };

WordPieces pieces_of(const std::string& vocabulary) {
  const TemporaryFolder folder;
  write_bytes(folder / "pieces.txt", vocabulary);
  return WordPieces(folder / "pieces.txt");
}

WordPieces small() { return pieces_of("[UNK]\n[CLS]\n[SEP]\na\nab\n##b\n##bc\n,\n\xce\xb5\n"); }

}  // namespace

TEST_CASE("a word is the longest piece it begins with, and the longest of the rest", "[language]") {
  const WordPieces pieces = small();
  CHECK(pieces.count() == 9);
  CHECK(pieces("a") == Numbers{kBegin, kA, kEnd});
  CHECK(pieces("abb") == Numbers{kBegin, kAb, kMarkB, kEnd});
  CHECK(pieces("abbc, a") == Numbers{kBegin, kAb, kMarkBc, kComma, kA, kEnd});
  CHECK(pieces("\xce\x95\xcc\x81") == Numbers{kBegin, kE, kEnd});  // a capital with an accent
  // Greedy: "ab" leaves a "c" that is in no piece, though "a" and "##bc" would do.
  CHECK(pieces("abc a") == Numbers{kBegin, kUnknown, kA, kEnd});
  CHECK(pieces("b") == Numbers{kBegin, kUnknown, kEnd});
  CHECK(pieces("[SEP]") == Numbers{kBegin, kUnknown, kUnknown, kUnknown, kEnd});
}

TEST_CASE("no text, or one of broken bytes, is its two ends", "[language]") {
  const WordPieces pieces = small();
  for (const char* text : {"", " \n", "\xff\xfe", "\xe2\x82"}) {
    CHECK(pieces(text) == Numbers{kBegin, kEnd});
  }
}

TEST_CASE("a word of more than 100 characters is unknown", "[language]") {
  const WordPieces pieces = small();
  CHECK(pieces("a" + std::string(99, 'b')).size() == 2 + 99);
  CHECK(pieces("a" + std::string(100, 'b')) == Numbers{kBegin, kUnknown, kEnd});
}

TEST_CASE("a long text is cut off, within a word too", "[language]") {
  const WordPieces pieces = small();
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += "a, ";
  Numbers all = pieces(text);
  REQUIRE(all.size() == 256);
  CHECK(all.front() == kBegin);
  CHECK(all.back() == kEnd);
  CHECK(pieces("abbb", 4) == Numbers{kBegin, kAb, kMarkB, kEnd});
  CHECK(pieces("abbb", 2) == Numbers{kBegin, kEnd});
  CHECK(pieces(std::string(1 << 20, 'a')) == Numbers{kBegin, kUnknown, kEnd});
}

TEST_CASE("a file that is no vocabulary is refused", "[language]") {
  CHECK_THROWS_AS(pieces_of(""), Error);
  CHECK(refusal_of([] { pieces_of("[UNK]\n[CLS]\na\n"); }).names("[SEP]"));
  CHECK(refusal_of([] { pieces_of("[UNK]\n[CLS]\n[SEP]\na\na\n"); }).names("line 5"));
  CHECK(refused([] { WordPieces("/nowhere/pieces.txt"); }) == "/nowhere/pieces.txt");
  CHECK(pieces_of("[UNK]\r\n[CLS]\r\n[SEP]\r\na\r\n")("a") == Numbers{kBegin, kA, kEnd});
}
