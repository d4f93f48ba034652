#include "harness/base/json_reader.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

std::string refusal(const std::string& text, const JsonLimits& limits = {}) {
  try {
    parse_json(text, "f.json", limits);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::kUsage);
    CHECK(std::string(error.what()).find('\n') == std::string::npos);
    return error.what();
  }
  return "accepted";
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
  CHECK_THAT(refusal("{\"a\": 1,\n \"b\" 2}"),
             Catch::Contains("f.json: not JSON at line 2, column"));
  for (const char* text :
       {"{", "[1", "[1,]", "{\"a\":}", "{'a': 1}", "[1] x", "nul", "01", "+1", ".5", "\"\\x\"",
        "\"\n\"", "[NaN]", "[Infinity]", "[-Infinity]", "// c\n1", "\"\\ud800\"", "\"abc"}) {
    CHECK_THAT(refusal(text), Catch::Contains("not JSON at line "));
  }
}

TEST_CASE("JSON that is empty or cut off is said to be so", "[json_reader]") {
  for (const char* text : {"", "  ", "\n\t"}) CHECK(refusal(text) == "f.json: is empty");
  for (const char* text :
       {"{", "[1", "{\"a\"", "{\"a\": ", "{\"a\": 1", "{\"a\": 1,", "\"abc", "[\"ab", "[1.", "[-",
        "[1e", "[1e+", "[tru", "[n", "[\"\\", "[\"\\u12", "[\"\\ud83d\\", "[\"\xe2\x82"}) {
    CAPTURE(text);
    CHECK_THAT(refusal(text), Catch::Contains("not JSON at line 1, column") &&
                                  Catch::EndsWith(": it is cut off there"));
  }
  for (const char* text : {"[1,]", "{\"a\":}", "[1] x", "{\"a\" 1}", "{\"a\": 1}x", "1 2",
                           "{\"a\" 1", "[1.]", "[trx", "[1}", "[\"\\x"}) {
    CAPTURE(text);
    CHECK_THAT(refusal(text), !Catch::Contains("cut off"));
  }
}

TEST_CASE("a NUL byte does not end what is read", "[json_reader]") {
  using namespace std::string_literals;
  CHECK(refusal("{\"a\": 1}\n\0junk{{{"s) == "f.json: not JSON at line 2, column 1: a NUL byte");
  for (const std::string& text : {"[1]\0"s, "{\"a\": \0 1}"s, "\0\0"s, "\"a\0b\""s}) {
    CHECK_THAT(refusal(text), Catch::EndsWith(": a NUL byte"));
  }
}

TEST_CASE("invalid UTF-8 is refused", "[json_reader]") {
  for (const char* text : {"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xe2\x82\""}) {
    CHECK_THAT(refusal(text), Catch::Contains("not JSON"));
  }
}

TEST_CASE("numbers beyond what a double holds are refused", "[json_reader]") {
  CHECK_THAT(refusal("[1e999]"), Catch::Contains("not JSON"));
  CHECK_THAT(refusal("[-1e999]"), Catch::Contains("not JSON"));
  CHECK_THAT(refusal("[123456789012345678901234567890]"), Catch::Contains("too large to be exact"));
  JsonLimits exact;
  exact.exact_integers = true;
  CHECK_THAT(refusal("[9007199254740992]", exact), Catch::Contains("too large to be exact"));
  CHECK_THAT(refusal("[-9007199254740992]", exact), Catch::Contains("too large to be exact"));
  CHECK(refusal("[9007199254740991, -9007199254740991]", exact) == "accepted");
}

TEST_CASE("a key that is there twice is refused, in the same object only", "[json_reader]") {
  CHECK_THAT(refusal("{\"a\": 1, \"b\": {\"a\": 2},\n \"a\": 3}"),
             Catch::Contains("refused at line 2") && Catch::Contains("\"a\" is there twice"));
}

TEST_CASE("nesting is bounded, however deep", "[json_reader]") {
  CHECK(refusal(std::string(64, '[') + std::string(64, ']')) == "accepted");
  CHECK_THAT(refusal(std::string(65, '[') + std::string(65, ']')), Catch::Contains("64 deep"));
  CHECK_THAT(refusal(std::string(100000, '[') + std::string(100000, ']')),
             Catch::Contains("64 deep"));
  std::string objects;
  for (int i = 0; i < 100000; ++i) objects += "{\"a\":";
  CHECK_THAT(refusal(objects), Catch::Contains("64 deep"));
}

TEST_CASE("strings, keys and values are counted", "[json_reader]") {
  JsonLimits limits;
  limits.string_bytes = 10;
  limits.values = 5;
  CHECK(refusal("[\"0123456789\"]", limits) == "accepted");
  CHECK_THAT(refusal("[\"0123456789x\"]", limits), Catch::Contains("a string of 11 bytes"));
  CHECK_THAT(refusal("{\"0123456789x\": 1}", limits), Catch::Contains("a string of 11 bytes"));
  CHECK(refusal("[1, 2, 3, 4]", limits) == "accepted");
  CHECK_THAT(refusal("[1, 2, 3, 4, 5]", limits), Catch::Contains("more than 5 values"));
  CHECK_THAT(refusal("\"" + std::string(1 << 20, 'x') + "\""), Catch::Contains("over the limit"));
}

TEST_CASE("a file of 1 GB is refused at once", "[json_reader]") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "big.json";
  std::ofstream(file) << "{}";
  std::filesystem::resize_file(file, std::uintmax_t{1} << 30);  // sparse
  CHECK_THROWS_WITH(read_json_file(file), Catch::Contains("over the limit"));
  CHECK_THROWS_AS(read_json_file(folder / "missing.json"), Error);
}

TEST_CASE("hostile text in a message cannot drive the terminal", "[json_reader]") {
  const std::string message = refusal("{\"\\u001b[31m\": 1, \"\\u001b[31m\": 2}");
  CHECK(message.find('\x1b') == std::string::npos);
}
