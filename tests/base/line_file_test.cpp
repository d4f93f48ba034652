// What a run that goes on finds of its lines: what was damaged is noticed.
#include "harness/base/line_file.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)

namespace {

void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

}  // namespace

TEST_CASE("lines are hashed as they come, and go on only behind the same beginning", "[resume]") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "lines";
  WrittenLines known;
  {
    LineFile file(path, "a line");
    CHECK(file.written().size == 0);
    file.append("one");
    file.append("two");
    known = file.written();
    file.append("three");
  }
  CHECK(known.size == 8);
  CHECK(known.sha256 == sha256_hex("one\ntwo\n"));
  SECTION("the same") {
    LineFile file(path, "a line", known);
    CHECK(read_file(path, 100) == "one\ntwo\nthree\n");  // until something is appended
    CHECK(file.written().sha256 == known.sha256);
    file.append("four");
    CHECK(read_file(path, 100) == "one\ntwo\nfour\n");
    CHECK(file.written().sha256 == sha256_hex("one\ntwo\nfour\n"));
  }
  SECTION("another beginning") {
    write(path, "one\ntwx\nthree\n");
    CHECK_THROWS_WITH(LineFile(path, "a line", known), Catch::Contains("its SHA-256 differs"));
  }
  SECTION("a shorter one") {
    write(path, "one\n");
    CHECK_THROWS_WITH(LineFile(path, "a line", known), Catch::Contains("is shorter than it was"));
  }
  SECTION("sizes that cannot be") {
    CHECK_THROWS_AS(LineFile(path, "a line", WrittenLines{UINT64_MAX, known.sha256}), Error);
  }
}
