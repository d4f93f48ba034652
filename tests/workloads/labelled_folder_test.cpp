#include "workloads/data/labelled_folder.hpp"

#include <catch2/catch.hpp>
#include <fstream>
#include <string>

#include "tests/support/refusal.hpp"
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

ErrorParts refusal(const fs::path& root, std::int64_t classes = 3) {
  return refusal_of([&] { read_labelled_folder(root, classes, {}); });
}

/// The picture or folder in `root` that is refused; empty when none is.
std::string refused_in(const fs::path& root) {
  const std::string about = refusal(root).about;
  return about.empty() ? "" : fs::path(about).lexically_relative(root).string();
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
  CHECK(refusal(root / "missing").about == "--data " + (root / "missing").string());
  CHECK(refused_in(root.path()) == ".");
  CHECK(refusal(root.path()).names("0 folders"));
  put(root / "n01" / "a.jpg");
  CHECK(refusal(root.path()).names("1 folder"));
  put(root / "3" / "a.jpg");
  CHECK(refused_in(root.path()) == "3");
  fs::remove_all(root / "n01");
  // As many as there are classes, from 1 on.
  put(root / "1" / "a.jpg");
  put(root / "2" / "a.jpg");
  CHECK(refused_in(root.path()) == "3");
  CHECK(refusal(root.path()).names("numbered from 0"));
  fs::remove_all(root / "1");
  fs::remove_all(root / "2");
  fs::rename(root / "3", root / "2");
  fs::create_directory(root / "1");
  CHECK(refused_in(root.path()) == "1");
  put(root / "1" / "notes.txt");
  CHECK(refused_in(root.path()) == "1/notes.txt");
  fs::remove(root / "1" / "notes.txt");
  put(root / "1" / "a.png");
  CHECK(refused_in(root.path()).empty());
  put(root / "01" / "b.png");
  CHECK(refusal(root.path()).names("class 1"));
}

TEST_CASE("what cannot be a picture is refused before anything is measured", "[data]") {
  const TemporaryFolder root;
  const fs::path file = root / "1" / "a.png";
  const auto refused = [&](const std::string& content, const char* why) {
    put(file, content);
    CHECK(refused_in(root.path()) == "1/a.png");
    CHECK(refusal(root.path()).names(why));
  };
  const std::string png("\x89PNG\r\n\x1A\n\0\0\0\x0DIHDR", 16);
  const std::string huge("\0\0\xEA\x60\0\0\xEA\x60", 8);
  refused("", "empty");
  refused("no picture", "neither a JPEG nor a PNG");
  refused(png, "header");
  refused(png + huge, "60000x60000");
  refused(png + std::string(8, '\0'), "0x0");
  put(file, png + std::string("\0\0\0\x02\0\0\0\x02", 8));
  CHECK(refused_in(root.path()).empty());
  fs::remove(file);
  fs::create_directory(file);
  CHECK(refused_in(root.path()) == "1/a.png");
}
