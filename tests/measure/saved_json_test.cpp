// The files that a run is resumed from: what was damaged is noticed, whatever it hit.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/measure/saved_json.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("saved JSON comes back as it was", "[resume]") {
  const TemporaryFolder folder;
  const json document = {
      {"format", "x/1"}, {"numbers", {0.1, -0.0, 1e300, 5, -7}}, {"t", "\n\xc3\xa9"}};
  write_saved_json(folder / "a", document);
  CHECK(read_saved_json(folder / "a", "x/1") == document);
  CHECK_THROWS_WITH(read_saved_json(folder / "a", "x/2"),
                    Catch::Contains("has the format 'x/1', this program reads x/2"));
  CHECK_THROWS_AS(read_saved_json(folder / "b", "x/1"), Error);
}

TEST_CASE("saved JSON that was cut or changed anywhere is refused in our own words", "[resume]") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "a";
  write_saved_json(file, {{"format", "x/1"}, {"values", {1, 2.5, "three", nullptr}}});
  const std::string good = read_file(file, 1 << 20);
  const auto refused = [&](const std::string& text) {
    write(file, text);
    INFO(text);
    CHECK_THROWS_AS(read_saved_json(file, "x/1"), Error);
    CHECK_THROWS_WITH(read_saved_json(file, "x/1"),
                      !Catch::Contains("exception") && !Catch::Contains("parse"));
  };
  // Only the newline at the end may be missing.
  for (std::size_t length = 0; length + 1 < good.size(); ++length) refused(good.substr(0, length));
  for (std::size_t at = 0; at + 1 < good.size(); ++at) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    refused(changed);
  }
}

TEST_CASE("values that are not there are damage, in our own words", "[resume]") {
  const json document = {{"here", 1}};
  CHECK_NOTHROW(take_saved("a", [&] { CHECK(document.at("here") == 1); }));
  CHECK_THROWS_WITH(
      take_saved("a", [&] { document.at("there"); }),
      Catch::StartsWith("a: is damaged: a value is missing") && !Catch::Contains("exception"));
  CHECK_THROWS_WITH(take_saved("a", [&] { document.at("here").get<std::string>(); }),
                    Catch::StartsWith("a: is damaged"));
}
