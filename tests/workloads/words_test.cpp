// Words of a text against the library `tokenizers` (tests/oracle/words_oracle.py), and what is no
// text at all.
#include "workloads/language/words.hpp"

#include <catch2/catch.hpp>
#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "tests/support/hexadecimal.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kAll = 1 << 30;

/// With blanks between.
std::string words_of(const std::string& text, std::size_t most = kAll) {
  std::string joined;
  for (const std::u32string& word : words(text, most)) {
    joined += (joined.empty() ? "" : " ") + utf8(word);
  }
  return joined;
}

}  // namespace

TEST_CASE("words are those of the library tokenizers", "[language]") {
  const auto golden = read_json_file(home_folder() / "tests/golden/words.json");
  REQUIRE(golden.at("texts").size() > 100);
  for (const auto& entry : golden.at("texts")) {
    CAPTURE(entry.at("text"));
    CHECK(words_of(from_hexadecimal(entry.at("text").get<std::string>())) == entry.at("words"));
  }
}

TEST_CASE("what is not UTF-8 gives one U+FFFD for what could have begun a character",
          "[language]") {
  struct Case {
    std::string bytes{};
    std::u32string expected{};
  };
  const std::u32string bad = U"\xFFFD";
  const std::vector<Case> cases = {
      {"", U""},
      {"a\xc3\xa9\xe2\x82\xac\xf0\x9f\x99\x82", U"a\u00e9\u20ac\U0001f642"},
      {"\xf4\x8f\xbf\xbf\xef\xbf\xbf", U"\U0010ffff\uffff"},
      {"\x80\xbf", bad + bad},                        // nothing goes on
      {"\xc0\xaf", bad + bad},                        // longer than need be
      {"\xe0\x80\xaf", bad + bad + bad},              // the same
      {"\xed\xa0\x80", bad + bad + bad},              // a surrogate
      {"\xf4\x90\x80\x80", bad + bad + bad + bad},    // beyond Unicode
      {"\xf5z\xff", bad + U"z" + bad},                // never
      {"\xe2\x82", bad},                              // cut short
      {"\xe2\x82z", bad + U"z"},                      // broken off
      {"\xf0\x9f\x99\xe2\x82\xac", bad + U"\u20ac"},  // broken off by a good one
      {std::string("\0x", 2), std::u32string(U"\0x", 2)}};
  for (const Case& one : cases) {
    CAPTURE(one.bytes);
    CHECK(code_points(one.bytes) == one.expected);
  }
  CHECK(words_of("un\xff"
                 "broken \xc3") == "unbroken");
}

TEST_CASE("utf8() is what code_points() undoes, for every character", "[language]") {
  std::u32string all;
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c < 0xD800 || c > 0xDFFF) all.push_back(c);
  }
  CHECK(code_points(utf8(all)) == all);
}

TEST_CASE("only as many words as asked for are given", "[language]") {
  CHECK(words_of("one, two", 2) == "one ,");
  CHECK(words_of("one, two", 0).empty());
  CHECK(words_of("").empty());
  CHECK(words_of(" \t\r\n\u2028\u00a0").empty());
}

TEST_CASE("a megabyte of anything takes no longer than a megabyte of text", "[language]") {
  constexpr std::size_t kMegabyte = 1 << 20;
  const std::string seeds[] = {"a",
                               "a ",
                               "\xff",
                               "\xcc\x81",
                               "\xe3\x80\xaf\xe3\x80\xae",
                               "\xed\x95\x9c",
                               "!",
                               std::string(1, '\0')};
  for (const std::string& seed : seeds) {
    CAPTURE(seed);
    std::string text;
    while (text.size() < kMegabyte) text += seed;
    const auto before = std::chrono::steady_clock::now();
    const auto found = words(text, kAll);
    // Where time grew with the square, it would be hours; sanitizers and a busy machine have room.
    CHECK(std::chrono::steady_clock::now() - before < std::chrono::seconds(30));
    CHECK(found.size() <= text.size());
  }
}
