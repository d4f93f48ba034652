// Pictures on their way from a file to a batch.
#include "workloads/retinanet/detection_batches.hpp"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"

namespace fs = std::filesystem;
using namespace harness;
using namespace harness::workloads;

namespace {

constexpr int kWidth = 48;
constexpr int kHeight = 32;

/// Every byte in every channel, and no symmetry.
AnnotationSet one_picture(const fs::path& folder) {
  Image image{kWidth, kHeight, {}};
  for (int i = 0; i < 3 * kWidth * kHeight; ++i) {
    image.pixels.push_back(static_cast<std::uint8_t>(i * 7 + i / 256));
  }
  const std::string png = encode_png(image);
  std::ofstream(folder / "a.png", std::ios::binary)
      .write(png.data(), static_cast<std::streamsize>(png.size()));
  AnnotationSet set;
  set.image_folder = folder;
  set.images.push_back({.id = 1, .file_name = "a.png", .width = kWidth, .height = kHeight});
  return set;
}

}  // namespace

TEST_CASE("a picture comes to the network with the bits that the transform gives it",
          "[retinanet][data]") {
  const TemporaryFolder folder;
  const AnnotationSet set = one_picture(folder.path());
  // Its own size, and one that it has to be resized to.
  for (const MapSize size : {MapSize{kHeight, kWidth}, MapSize{40, 56}}) {
    for (const bool mirror : {false, true}) {
      CAPTURE(size.height, mirror);
      const Batch expected =
          transform({load_sample(set, 0, mirror).image}, {}, size.height, size.width);
      const Batch batch = load_picture(set, 0, mirror, size);
      CHECK(at::equal(batch.images, expected.images));
      CHECK(batch.images.is_contiguous(at::MemoryFormat::ChannelsLast));
      CHECK(batch.original_sizes.front().width == kWidth);
      CHECK(batch.targets.empty());
    }
  }
  const at::Tensor straight = load_picture(set, 0, false, {kHeight, kWidth}).images;
  const at::Tensor turned = load_picture(set, 0, true, {kHeight, kWidth}).images;
  CHECK_FALSE(at::equal(straight, turned));
  CHECK(at::equal(straight.flip({3}), turned));
}

TEST_CASE("a batch has its pictures in their order", "[retinanet][data]") {
  const auto picture = [](float value) {
    Batch one;
    one.images = at::arange(2 * 3 * 4 * 5, at::kFloat).reshape({2, 3, 4, 5}) + value;
    one.original_sizes = {{4, 5}, {4, 5}};
    return one;
  };
  const Batch both = join_batches({picture(0), picture(1000)});
  CHECK(at::equal(both.images, at::cat({picture(0).images, picture(1000).images})));
  CHECK(both.images.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(both.original_sizes.size() == 4);
  Batch smaller = picture(0);
  smaller.images = smaller.images.slice(3, 0, 4);
  CHECK_THROWS_AS(join_batches({picture(0), smaller}), std::invalid_argument);
  CHECK_THROWS_AS(join_batches({}), std::invalid_argument);
  // More than one thread copies alone.
  Batch large;
  large.images = at::arange(int64_t{3} << 20, at::kFloat).reshape({1, 3, 1024, 1024});
  large.original_sizes = {{1024, 1024}};
  const Batch four = join_batches({large, large, large, large});
  CHECK(at::equal(four.images.select(0, 3), large.images.select(0, 0)));
  CHECK(four.images.is_contiguous(at::MemoryFormat::ChannelsLast));
}
