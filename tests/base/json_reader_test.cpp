#include "harness/base/json_reader.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

const std::string kSyntax = "not JSON at ";
const std::string kRefused = "refused at ";
const std::string kCutOff = ": it is cut off there";

/// Why the text is refused; empty when it is not.
std::string why(const std::string& text, const JsonLimits& limits = {}) {
  const ErrorParts refusal = refusal_of([&] { parse_json(text, "f.json", limits); });
  CHECK((refusal.about.empty() || refusal.about == "f.json"));
  return refusal.why;
}

/// Where it is no JSON, or, of JSON, where it is refused; `kind` says which.
std::string place(const std::string& text, const std::string& kind = kSyntax,
                  const JsonLimits& limits = {}) {
  const std::string said = why(text, limits);
  CAPTURE(said);
  CHECK_THAT(said, Catch::StartsWith(kind));
  return said.substr(kind.size(), said.find(": ") - kind.size());
}

}  // namespace

TEST_CASE("good JSON reads as the library reads it", "[json_reader]") {
  for (const char* text :
       {"null", "[]", "{}", " [1, -2, 3.5e-7, true, \"\\u00e4\\ud83d\\ude00\"] ", "0",
        R"({"a": {"b": [{}, [[]], {"c": null}]}, "d": {"a": 1}})", "18446744073709551615"}) {
    CHECK(parse_json(text, "f.json") == json::parse(text));
  }
}

TEST_CASE("broken JSON is refused with line and column", "[json_reader]") {
  CHECK(place("{\"a\": 1,\n \"b\" 2}") == "line 2, column 7");
  for (const char* text :
       {"{", "[1", "[1,]", "{\"a\":}", "{'a': 1}", "[1] x", "nul", "01", "+1", ".5", "\"\\x\"",
        "\"\n\"", "[NaN]", "[Infinity]", "[-Infinity]", "// c\n1", "\"\\ud800\"", "\"abc",
        // Invalid UTF-8.
        "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xe2\x82\""}) {
    CHECK_THAT(place(text), Catch::StartsWith("line "));
  }
}

TEST_CASE("JSON that is empty or cut off is said to be so", "[json_reader]") {
  for (const char* text : {"", "  ", "\n\t"}) CHECK(why(text) == "is empty");
  for (const char* text :
       {"{", "[1", "{\"a\"", "{\"a\": ", "{\"a\": 1", "{\"a\": 1,", "\"abc", "[\"ab", "[1.", "[-",
        "[1e", "[1e+", "[tru", "[n", "[\"\\", "[\"\\u12", "[\"\\ud83d\\", "[\"\xe2\x82"}) {
    CAPTURE(text);
    CHECK_THAT(place(text), Catch::StartsWith("line 1, column "));
    CHECK_THAT(why(text), Catch::EndsWith(kCutOff));
  }
  for (const char* text : {"[1,]", "{\"a\":}", "[1] x", "{\"a\" 1}", "{\"a\": 1}x", "1 2",
                           "{\"a\" 1", "[1.]", "[trx", "[1}", "[\"\\x"}) {
    CAPTURE(text);
    CHECK_THAT(why(text), !Catch::EndsWith(kCutOff));
  }
}

TEST_CASE("a NUL byte does not end what is read", "[json_reader]") {
  using namespace std::string_literals;
  CHECK(why("{\"a\": 1}\n\0junk{{{"s) == "not JSON at line 2, column 1: a NUL byte");
  for (const std::string& text : {"[1]\0"s, "{\"a\": \0 1}"s, "\0\0"s, "\"a\0b\""s}) {
    CHECK_THAT(why(text), Catch::EndsWith(": a NUL byte"));
  }
}

TEST_CASE("integers that would be rounded are refused", "[json_reader]") {
  JsonLimits exact;
  exact.exact_integers = true;
  for (const auto& [integer, limits] :
       {std::pair{"123456789012345678901234567890", JsonLimits()},
        std::pair{"9007199254740992", exact}, std::pair{"-9007199254740992", exact}}) {
    CHECK_THAT(
        why(std::string("[") + integer + "]", limits),
        Catch::EndsWith(std::string("the integer ") + integer + " is too large to be exact"));
  }
  CHECK(why("[9007199254740991, -9007199254740991]", exact).empty());
}

TEST_CASE("a number that no double holds is refused by its place", "[json_reader]") {
  for (const std::string number : {"1e999", "-1e999", "1e999999"}) {
    CHECK(place("{\"a\": 1,\n \"b\": " + number + "}", kRefused) ==
          "line 2, column " + std::to_string(7 + number.size()));
    CHECK_THAT(why(number), Catch::EndsWith(": the number " + number + " is too large"));
  }
}

TEST_CASE("a key that is there twice is refused, in the same object only", "[json_reader]") {
  const std::string text = "{\"a\": 1, \"b\": {\"a\": 2},\n \"a\": 3}";
  CHECK(place(text, kRefused) == "line 2, column 4");
  CHECK_THAT(why(text), Catch::Contains("the key \"a\" is there twice"));
}

TEST_CASE("nesting is bounded, however deep", "[json_reader]") {
  CHECK(why(std::string(64, '[') + std::string(64, ']')).empty());
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  for (const std::string& text : {std::string(65, '[') + std::string(65, ']'),
                                  std::string(100000, '[') + std::string(100000, ']'), objects}) {
    CHECK_THAT(why(text), Catch::EndsWith("nested more than 64 deep"));
  }
}

TEST_CASE("strings, keys and values are counted", "[json_reader]") {
  JsonLimits limits;
  limits.string_bytes = 10;
  limits.values = 5;
  CHECK(why("[\"0123456789\"]", limits).empty());
  for (const char* text : {"[\"0123456789x\"]", "{\"0123456789x\": 1}"}) {
    CHECK_THAT(why(text, limits), Catch::EndsWith("a string of 11 bytes, over the limit of 10"));
  }
  CHECK(why("[1, 2, 3, 4]", limits).empty());
  CHECK_THAT(why("[1, 2, 3, 4, 5]", limits), Catch::EndsWith("more than 5 values"));
  CHECK_THAT(why("\"" + std::string(1 << 20, 'x') + "\""), Catch::Contains("over the limit"));
}

TEST_CASE("a file of 1 GB is refused at once", "[json_reader]") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "big.json";
  std::ofstream(file) << "{}";
  std::filesystem::resize_file(file, std::uintmax_t{1} << 30);  // sparse
  CHECK(refusal_of([&] { read_json_file(file); }).names("over the limit"));
  const std::filesystem::path missing = folder / "missing.json";
  CHECK(refused([&] { read_json_file(missing); }) == missing.string());
}

TEST_CASE("hostile text in a message cannot drive the terminal", "[json_reader]") {
  const std::string message = why("{\"\\u001b[31m\": 1, \"\\u001b[31m\": 2}");
  CHECK(message.find('\x1b') == std::string::npos);
}
