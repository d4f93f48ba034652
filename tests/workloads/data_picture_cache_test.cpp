// Pictures that are decoded once.
#include "workloads/data/picture_cache.hpp"

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "harness/base/error.hpp"
#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

AnnotationSet two_pictures(const fs::path& folder) {
  AnnotationSet set;
  set.image_folder = folder;
  for (int i = 0; i < 2; ++i) {
    Image image{4, 3, {}};
    for (int byte = 0; byte < 36; ++byte) {
      image.pixels.push_back(static_cast<std::uint8_t>(100 * i + byte));
    }
    const std::string name = std::to_string(i) + ".png";
    std::ofstream(folder / name, std::ios::binary) << encode_png(image);
    set.images.push_back({.id = i, .file_name = name, .width = 4, .height = 3});
  }
  return set;
}

}  // namespace

TEST_CASE("pictures of a small set are decoded once", "[data]") {
  const TemporaryFolder folder;
  const AnnotationSet set = two_pictures(folder.path());
  CHECK(kept_picture_bytes(set) == 72);
  PictureCache cache(set, 72);
  const std::shared_ptr<const Image> first = cache.picture(0);
  CHECK(first->pixels.at(35) == 35);
  CHECK(cache.picture(1)->pixels.at(0) == 100);
  fs::remove(folder / "0.png");
  CHECK(cache.picture(0) == first);
}

TEST_CASE("of a set that is larger all are decoded anew", "[data]") {
  const TemporaryFolder folder;
  const AnnotationSet set = two_pictures(folder.path());
  CHECK(kept_picture_bytes(set, 71) == 0);
  PictureCache cache(set, 71);
  const std::shared_ptr<const Image> first = cache.picture(0);
  const std::shared_ptr<const Image> again = cache.picture(0);
  CHECK(again != first);
  CHECK(again->pixels == first->pixels);
  fs::remove(folder / "0.png");
  CHECK_THROWS_AS(cache.picture(0), Error);
}
