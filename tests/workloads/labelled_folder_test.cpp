#include "workloads/data/labelled_folder.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
namespace fs = std::filesystem;

namespace {

const std::string kJpeg = "\xFF\xD8";  // how one begins: no more of it is read here

void put(const fs::path& file, const std::string& content = kJpeg) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
}

std::string refusal(const fs::path& root, std::int64_t classes) {
  try {
    read_labelled_folder(root, classes, {});
  } catch (const Error& error) {
    return error.what();
  }
  return "taken";
}

}  // namespace

TEST_CASE("folders called by numbers are these classes", "[data]") {
  const TemporaryFolder root;
  put(root / "007" / "b.JPEG");
  put(root / "007" / "a.png");
  put(root / "12" / "c.jpg");
  put(root / "12" / ".hidden");
  put(root / "labels.txt");
  const LabelledFolder folder = read_labelled_folder(root.path(), 1000, {});
  REQUIRE(folder.pictures.size() == 3);
  CHECK(folder.pictures[0].file == fs::path("007/a.png"));
  CHECK(folder.pictures[0].label == 7);
  CHECK(folder.pictures[2].label == 12);
  // Content and class both count.
  const std::string before = folder.sha256;
  put(root / "12" / "c.jpg", kJpeg + "y");
  const std::string other = read_labelled_folder(root.path(), 1000, {}).sha256;
  CHECK(other != before);
  fs::rename(root / "12", root / "13");
  CHECK(read_labelled_folder(root.path(), 1000, {}).sha256 != other);
}

TEST_CASE("as many folders as classes are taken in the order of their names", "[data]") {
  const TemporaryFolder root;
  put(root / "n02" / "a.jpg");
  put(root / "n01" / "b.jpg");
  put(root / "n10" / "c.jpg");
  const LabelledFolder folder = read_labelled_folder(root.path(), 3, {});
  REQUIRE(folder.pictures.size() == 3);
  CHECK(folder.pictures[0].file == fs::path("n01/b.jpg"));
  CHECK(folder.pictures[1].label == 1);
  CHECK(folder.pictures[2].label == 2);
}

TEST_CASE("a folder that is not of labelled pictures is refused with what it should be", "[data]") {
  const TemporaryFolder root;
  CHECK_THAT(refusal(root / "missing", 3), Catch::Contains("is no folder"));
  CHECK_THAT(refusal(root.path(), 3), Catch::Contains("has 0 folders, but the classes are 3"));
  put(root / "n01" / "a.jpg");
  CHECK_THAT(refusal(root.path(), 3), Catch::Contains("has 1 folder, but the classes are 3"));
  put(root / "3" / "a.jpg");
  CHECK_THAT(refusal(root.path(), 3), Catch::Contains("is called by no class"));
  fs::remove_all(root / "n01");
  // As many as there are classes, from 1 on.
  put(root / "1" / "a.jpg");
  put(root / "2" / "a.jpg");
  CHECK_THAT(refusal(root.path(), 3), Catch::Contains("classes are numbered from 0"));
  fs::remove_all(root / "1");
  fs::remove_all(root / "2");
  fs::rename(root / "3", root / "2");
  fs::create_directory(root / "1");
  CHECK_THAT(refusal(root.path(), 3), Catch::Contains("has no picture"));
  put(root / "1" / "notes.txt");
  CHECK_THAT(refusal(root.path(), 3), Catch::Contains("is no picture"));
  fs::remove(root / "1" / "notes.txt");
  put(root / "1" / "a.png");
  CHECK(refusal(root.path(), 3) == "taken");
  put(root / "01" / "b.png");
  CHECK_THAT(refusal(root.path(), 3), Catch::Contains("is class 1 a second time"));
}

TEST_CASE("what cannot be a picture is refused before anything is measured", "[data]") {
  const TemporaryFolder root;
  const fs::path file = root / "1" / "a.png";
  const auto said = [&](const std::string& content) {
    put(file, content);
    return refusal(root.path(), 3);
  };
  const std::string png("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR", 16);
  const std::string huge("\0\0\xEA\x60\0\0\xEA\x60", 8);
  CHECK_THAT(said(""), Catch::Contains("1/a.png: the file is empty"));
  CHECK_THAT(said("no picture"), Catch::Contains("neither a JPEG nor a PNG"));
  CHECK_THAT(said(png), Catch::Contains("cut off within its header"));
  CHECK_THAT(said(png + huge), Catch::Contains("60000x60000 pixels are over the limit"));
  CHECK_THAT(said(png + std::string(8, '\0')), Catch::Contains("0x0 is not the size"));
  CHECK(said(png + std::string("\0\0\0\x02\0\0\0\x02", 8)) == "taken");
  fs::remove(file);
  fs::create_directory(file);
  CHECK_THAT(refusal(root.path(), 3), Catch::Contains("1/a.png: not a regular file"));
}
