#include "tests/support/refusal.hpp"

#include <catch2/catch.hpp>
#include <string>

#include "harness/base/error.hpp"
#include "tests/support/text_lines.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

TEST_CASE("a refusal comes in the parts of its error", "[support]") {
  const ErrorParts found =
      refusal_of([] { throw Error("f.json", "/a/0: is 5, not 15", "mend it"); });
  CHECK(found.about == "f.json");
  CHECK(found.place() == "/a/0");
  CHECK(found.hint == "mend it");
  CHECK(refused([] { throw Error("run", "ends", "", ExitCode::kAborted); }, ExitCode::kAborted) ==
        "run");
  CHECK(refused([] {}).empty());
  CHECK_FALSE(refusal_of([] {}).names("anything"));
}

TEST_CASE("the place of a refusal is a pointer, or its first word", "[support]") {
  const auto place = [](const std::string& why) { return ErrorParts{"f", why, ""}.place(); };
  CHECK(place("breaks rules/x.json at /a/b: is none") == "/a/b");
  CHECK(place("case.size[1] is not a whole number") == "case.size[1]");
  CHECK(place("empty") == "empty");
  CHECK(place("").empty());
}

TEST_CASE("a refusal names whole words", "[support]") {
  const ErrorParts found{"--about", "is 15 of a-b", "known: quick, standard"};
  for (const char* word : {"15", "a-b", "quick", "known: quick", ""}) CHECK(found.names(word));
  for (const char* word : {"5", "1", "quic", "uick", "--about"}) CHECK_FALSE(found.names(word));
}

TEST_CASE("lines are compared whole, one behind the other", "[support]") {
  const std::string text = "first line\nsecond  2.5 s\nthird\n";
  CHECK_THAT(text, HasLines({"first line"}));
  CHECK_THAT(text, HasLines({"first*", "second *s", "third"}));
  CHECK_THAT(text, !HasLines({"first"}));
  CHECK_THAT(text, !HasLines({"line"}));
  CHECK_THAT(text, !HasLines({"first*", "third"}));
  CHECK_THAT(text, !HasLines({"*3.5*"}));
  CHECK_THAT(std::string(), !HasLines({"*"}));
}
