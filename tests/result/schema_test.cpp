#include "harness/result/schema.hpp"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/base/error.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

constexpr const char* kSchema = R"({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "type": "object", "additionalProperties": false, "required": ["name", "list"],
  "properties": {
    "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 8},
    "list": {"type": "array", "maxItems": 100000, "items": {"$ref": "#/definitions/item"}},
    "a/b~c": {"type": ["number", "null"], "minimum": 0}
  },
  "definitions": {
    "item": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
  }})";

class Fixture {
 public:
  Fixture() { std::ofstream(file()) << kSchema; }
  std::filesystem::path file() const { return folder_ / "s.json"; }
  std::vector<SchemaProblem> problems(const char* text) const {
    return validate_schema(json::parse(text), file());
  }

 private:
  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "a document that fits has no problems", "[schema]") {
  CHECK(problems(R"({"name": "ab", "list": [{"n": 1}], "a/b~c": null})").empty());
}

TEST_CASE_METHOD(Fixture, "every problem is named by its JSON pointer", "[schema]") {
  const auto found = problems(R"({"name": "A\n", "list": [{"n": 1}, {"n": 1.5}, 7], "a/b~c": -1,
                                  "other": 1})");
  const auto reason_at = [&](const std::string& path) {
    std::string reasons;
    for (const SchemaProblem& problem : found) {
      if (problem.path == path) reasons += problem.reason + "; ";
    }
    return reasons;
  };
  for (const auto& [path, named] :
       {std::pair{"/name", "pattern"}, std::pair{"/list/1/n", "1.5"}, std::pair{"/list/2", "type"},
        std::pair{"/a~1b~0c", "-1"}, std::pair{"", "unknown field 'other'"}}) {
    CHECK_THAT(reason_at(path), Catch::Contains(named));
  }
  CHECK_THAT(problems("{}").front().reason, Catch::Contains("Missing required property"));
}

TEST_CASE_METHOD(Fixture, "anchors hold for the whole text", "[schema]") {
  CHECK_FALSE(problems(R"({"name": "ab\ncd", "list": []})").empty());
  CHECK_FALSE(problems(R"({"name": "ab\n", "list": []})").empty());
}

TEST_CASE_METHOD(Fixture, "the list of problems is bounded", "[schema]") {
  json document = {{"name", "ab"}, {"list", json::array()}};
  for (int i = 0; i < 20000; ++i) document["list"].push_back("wrong");
  const auto found = validate_schema(document, file());
  REQUIRE(found.size() == kMostProblems + 1);
  CHECK_THAT(found.back().reason, Catch::Contains("more problems"));
}

TEST_CASE_METHOD(Fixture, "no pattern is matched against a huge string", "[schema]") {
  const auto found =
      validate_schema({{"name", std::string(1 << 16, 'a')}, {"list", json::array()}}, file());
  REQUIRE(found.size() == 1);
  CHECK(found.front().path == "/name");
  CHECK_THAT(found.front().reason, Catch::Contains("65536 bytes"));
  CHECK_FALSE(validate_schema({{"name", std::string(4096, 'a')}, {"list", json::array()}}, file())
                  .empty());  // as long as it may be: matched, within the stack
}

TEST_CASE("a schema that is missing or none is one clear error", "[schema]") {
  const TemporaryFolder folder;
  CHECK(refused([&] { validate_schema(json::object(), folder / "missing.json"); }) ==
        (folder / "missing.json").string());
  std::ofstream(folder / "bad.json") << R"({"type": 7})";
  CHECK_THAT(refusal_of([&] { validate_schema(json::object(), folder / "bad.json"); }),
             is_about((folder / "bad.json").string(), {"JSON Schema"}));
}

TEST_CASE_METHOD(Fixture, "a schema that changed is read again", "[schema]") {
  CHECK(problems(R"({"name": "ab", "list": []})").empty());
  std::ofstream(file()) << R"({"type": "array"})";
  CHECK_FALSE(problems(R"({"name": "ab", "list": []})").empty());
  CHECK(problems("[]").empty());
  std::ofstream(file()) << R"({"type": 7})";
  CHECK_THROWS_AS(problems("[]"), Error);
  std::ofstream(file()) << kSchema;
  CHECK(problems(R"({"name": "ab", "list": []})").empty());
}

TEST_CASE("a schema may refer to another one beside it", "[schema]") {
  const TemporaryFolder folder;
  // Both have definitions of the same name, and the other one refers to its own.
  std::ofstream(folder / "a.json") << R"({
    "properties": {"x": {"$ref": "b.json#/properties/y"}, "z": {"$ref": "#/definitions/n"},
                   "w": {"$ref": "b.json#/definitions/n"}},
    "definitions": {"n": {"type": "integer"}}})";
  std::ofstream(folder / "b.json") << R"({
    "properties": {"y": {"type": "array", "items": {"$ref": "#/definitions/n"}}},
    "definitions": {"n": {"type": "string"}}})";
  const auto paths = [&](const json& document) {
    std::string text;
    for (const SchemaProblem& problem : validate_schema(document, folder / "a.json")) {
      text += problem.path + " ";
    }
    return text;
  };
  CHECK(paths({{"x", {"text"}}, {"z", 1}, {"w", "text"}}).empty());
  CHECK(paths({{"x", {1}}}) == "/x/0 ");
  CHECK(paths({{"z", "text"}}) == "/z ");
  CHECK(paths({{"w", 1}}) == "/w ");
  std::filesystem::remove(folder / "b.json");
  CHECK_THAT(refused([&] { validate_schema(json::object(), folder / "a.json"); }),
             Catch::EndsWith("b.json"));
}
