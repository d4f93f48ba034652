#include "harness/result/canonical_json.hpp"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>

#include "harness/base/hash.hpp"
#include "harness/result/digest.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

TEST_CASE("numbers are written as the samples of RFC 8785, appendix B", "[canonical_json]") {
  const std::pair<std::uint64_t, const char*> samples[] = {
      {0x0000000000000000, "0"},
      {0x8000000000000000, "0"},
      {0x0000000000000001, "5e-324"},
      {0x8000000000000001, "-5e-324"},
      {0x7fefffffffffffff, "1.7976931348623157e+308"},
      {0xffefffffffffffff, "-1.7976931348623157e+308"},
      {0x4340000000000000, "9007199254740992"},
      {0xc340000000000000, "-9007199254740992"},
      {0x4430000000000000, "295147905179352830000"},
      {0x44b52d02c7e14af5, "9.999999999999997e+22"},
      {0x44b52d02c7e14af6, "1e+23"},
      {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
      {0x444b1ae4d6e2ef4e, "999999999999999700000"},
      {0x444b1ae4d6e2ef4f, "999999999999999900000"},
      {0x444b1ae4d6e2ef50, "1e+21"},
      {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
      {0x3eb0c6f7a0b5ed8d, "0.000001"},
      {0x41b3de4355555553, "333333333.3333332"},
      {0x41b3de4355555554, "333333333.33333325"},
      {0x41b3de4355555555, "333333333.3333333"},
      {0x41b3de4355555556, "333333333.3333334"},
      {0x41b3de4355555557, "333333333.33333343"},
      {0xbecbf647612f3696, "-0.0000033333333333333333"},
      {0x43143ff3c1cb0959, "1424953923781206.2"},
  };
  for (const auto& [bits, text] : samples) CHECK(number_text(std::bit_cast<double>(bits)) == text);
  CHECK_THROWS_AS(number_text(std::numeric_limits<double>::quiet_NaN()), std::invalid_argument);
  CHECK_THROWS_AS(number_text(std::numeric_limits<double>::infinity()), std::invalid_argument);
}

TEST_CASE("every number reads back as itself", "[canonical_json]") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    const std::string text = number_text(value);
    const double back = std::strtod(text.c_str(), nullptr);
    if (back != value) FAIL(text);
  }
}

TEST_CASE("the example of RFC 8785, section 3.2.4, comes out byte by byte", "[canonical_json]") {
  const json input = json::parse(R"({
    "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
    "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
    "literals": [null, true, false]})");
  CHECK(canonical_json(input) ==
        "{\"literals\":[null,true,false],\"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],"
        "\"string\":\"\xE2\x82\xAC$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}");
}

TEST_CASE("keys are sorted by their UTF-16 code units, as RFC 8785, section 3.2.3",
          "[canonical_json]") {
  const json input = json::parse(R"({
    "\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
    "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
    "\u00f6": "Latin Small Letter O With Diaeresis"})");
  const std::string text = canonical_json(input);
  std::size_t last = 0;
  // Bytewise order would put the emoji last.
  for (const char* value : {"Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"}) {
    const std::size_t at = text.find(value);
    REQUIRE(at != std::string::npos);
    CHECK(at > last);
    last = at;
  }
}

TEST_CASE("what has no canonical form is refused, with its place", "[canonical_json]") {
  CHECK_THROWS_WITH(canonical_json({{"a", {1, {{"b", std::nan("")}}}}}),
                    Catch::StartsWith("/a/1/b: "));
  CHECK_THROWS_WITH(canonical_json({{"n", std::uint64_t{1} << 53}}), Catch::Contains("2^53"));
  CHECK_THROWS_WITH(canonical_json({{"n", -(std::int64_t{1} << 53)}}), Catch::Contains("2^53"));
  CHECK(canonical_json((std::int64_t{1} << 53) - 1) == "9007199254740991");
  for (const char* bad : {"\xff", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    CHECK_THROWS_WITH(canonical_json({{"s", bad}}), Catch::Contains("not UTF-8"));
  }
}

TEST_CASE("the readable form holds the same data", "[canonical_json]") {
  json document = {{"short", {1, 2, 3}}, {"empty", json::object()}, {"text", "\x01\"\n"}};
  for (int i = 0; i < 50; ++i) document["long"].push_back({{"step", i}, {"value", i / 7.0}});
  const std::string text = readable_json(document);
  CHECK(json::parse(text) == document);
  CHECK(text.find("\"short\": [1, 2, 3]") != std::string::npos);
  CHECK(text.find("    {\"step\": 7, \"value\": 1},\n") != std::string::npos);
  CHECK(text.ends_with("}\n"));
}

TEST_CASE("the digest covers everything but itself", "[canonical_json]") {
  json document = json::parse(R"({"b": 2.0, "a": [1, null]})");
  CHECK(digest_of(document) == sha256_hex(R"({"a":[1,null],"b":2})"));
  const std::string digest = digest_of(document);
  document["digest"] = digest;
  CHECK(digest_of(document) == digest);
  document["inner"]["digest"] = "counts";
  CHECK(digest_of(document) != digest);
}

TEST_CASE("one member of the object itself may be left out", "[canonical_json]") {
  const json input = {{"a", {{"a", 1}}}, {"b", 2}, {"c", json::array({{{"b", 3}}})}};
  CHECK(canonical_json(input, "b") == R"({"a":{"a":1},"c":[{"b":3}]})");
  CHECK(canonical_json(input, "a") == R"({"b":2,"c":[{"b":3}]})");
  CHECK(canonical_json(input, "none") == canonical_json(input));
  CHECK(canonical_json(json::array({"b"}), "b") == R"(["b"])");
  CHECK(canonical_json({{"", 1}}) == R"({"":1})");
}
