// Decoding of pictures: every PNG colour type, JPEG, damage; PIL as the oracle where it is
// installed.
#include <turbojpeg.h>
#include <zlib.h>
#include <algorithm>

#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/data/image.hpp"

namespace fs = std::filesystem;
using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

using Bytes = std::vector<std::uint8_t>;

std::string big_endian(std::uint32_t n) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift & 0xFF);
  return out;
}

std::string chunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  const auto crc =
      ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + body +
         big_endian(static_cast<std::uint32_t>(crc));
}

/// A PNG made by hand; `rows` are unfiltered, each already led by its filter byte 0.
std::string png(std::uint32_t width, std::uint32_t height, int depth, int colour,
                const std::string& rows, const std::string& extra = {}) {
  uLongf size = ::compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  ::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
             reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()));
  packed.resize(size);
  const std::string header = big_endian(width) + big_endian(height) + static_cast<char>(depth) +
                             static_cast<char>(colour) + std::string(3, '\0');
  return std::string("\x89PNG\r\n\x1A\n") + chunk("IHDR", header) + extra + chunk("IDAT", packed) +
         chunk("IEND", "");
}

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (const int value : values) out += static_cast<char>(value);
  return out;
}

Image gradient(int width, int height) {
  Image image = make_image(width, height, "test");
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    const auto w = static_cast<std::size_t>(width);
    image.pixels[i] = static_cast<std::uint8_t>(i / 3 % w * 3 + i / 3 / w * (1 + i % 3));
  }
  return image;
}

std::string jpeg(const Image& image, TJSAMP sampling, int flags = 0) {
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  unsigned char* out = nullptr;
  unsigned long size = 0;
  REQUIRE(tjCompress2(handle.get(), image.pixels.data(), image.width, 0, image.height, TJPF_RGB,
                      &out, &size, sampling, 90, flags) == 0);
  std::string content(reinterpret_cast<const char*>(out), size);
  tjFree(out);
  return content;
}

std::string cmyk_jpeg(int width, int height) {
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  Bytes inks(static_cast<std::size_t>(width * height * 4));
  for (std::size_t i = 0; i < inks.size(); ++i) {
    inks[i] = static_cast<std::uint8_t>(i / 4 + i % 4 * 40);
  }
  unsigned char* out = nullptr;
  unsigned long size = 0;
  REQUIRE(tjCompress2(handle.get(), inks.data(), width, 0, height, TJPF_CMYK, &out, &size,
                      TJSAMP_444, 95, 0) == 0);
  std::string content(reinterpret_cast<const char*>(out), size);
  tjFree(out);
  return content;
}

/// Samples of every kind, by file name.
std::vector<std::pair<std::string, std::string>> samples() {
  const std::string palette = chunk("PLTE", bytes({10, 20, 30, 200, 100, 50, 255, 0, 255}));
  return {
      {"grey8.png", png(2, 2, 8, 0, bytes({0, 0, 128, 0, 255, 7}))},
      {"grey1.png", png(3, 1, 1, 0, bytes({0, 0xA0}))},
      {"grey4.png", png(2, 1, 4, 0, bytes({0, 0x3F}))},
      {"grey_alpha.png", png(2, 1, 8, 4, bytes({0, 50, 0, 90, 255}))},
      {"rgb.png", png(2, 1, 8, 2, bytes({0, 1, 2, 3, 250, 251, 252}))},
      {"rgb16.png", png(1, 1, 16, 2, bytes({0, 1, 255, 2, 0, 3, 128}))},
      {"rgba.png", png(2, 1, 8, 6, bytes({0, 1, 2, 3, 0, 9, 8, 7, 128}))},
      {"palette.png", png(3, 1, 8, 3, bytes({0, 2, 0, 1}), palette)},
      {"palette2_transparent.png",
       png(3, 1, 2, 3, bytes({0, 0x18}), palette + chunk("tRNS", bytes({0, 128})))},
      {"gradient.png", encode_png(gradient(40, 30))},
      {"444.jpg", jpeg(gradient(41, 31), TJSAMP_444)},
      {"420.jpg", jpeg(gradient(41, 31), TJSAMP_420)},
      {"progressive.jpg", jpeg(gradient(64, 48), TJSAMP_422, TJFLAG_PROGRESSIVE)},
      {"grey.jpg", jpeg(gradient(16, 16), TJSAMP_GRAY)},
      {"cmyk.jpg", cmyk_jpeg(16, 12)},
  };
}

}  // namespace

TEST_CASE("every PNG colour type becomes 8-bit RGB", "[data]") {
  const auto pixels = [](const std::string& name) {
    for (const auto& [file, content] : samples()) {
      if (file == name) return decode_image(content, file).pixels;
    }
    throw std::runtime_error("no such sample");
  };
  CHECK(pixels("grey8.png") == Bytes{0, 0, 0, 128, 128, 128, 255, 255, 255, 7, 7, 7});
  CHECK(pixels("grey1.png") == Bytes{255, 255, 255, 0, 0, 0, 255, 255, 255});
  CHECK(pixels("grey4.png") == Bytes{51, 51, 51, 255, 255, 255});
  CHECK(pixels("grey_alpha.png") == Bytes{50, 50, 50, 90, 90, 90});
  CHECK(pixels("rgb.png") == Bytes{1, 2, 3, 250, 251, 252});
  CHECK(pixels("rgb16.png") == Bytes{1, 2, 3});
  CHECK(pixels("rgba.png") == Bytes{1, 2, 3, 9, 8, 7});
  CHECK(pixels("palette.png") == Bytes{255, 0, 255, 10, 20, 30, 200, 100, 50});
  CHECK(pixels("palette2_transparent.png") == Bytes{10, 20, 30, 200, 100, 50, 255, 0, 255});
}

TEST_CASE("PNG encoding loses nothing and JPEG little", "[data]") {
  const Image image = gradient(40, 30);
  CHECK(decode_image(encode_png(image), "x").pixels == image.pixels);
  const Image back = decode_image(jpeg(image, TJSAMP_444), "x");
  REQUIRE(back.pixels.size() == image.pixels.size());
  double difference = 0;
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    difference += std::abs(static_cast<int>(back.pixels[i]) - static_cast<int>(image.pixels[i]));
  }
  CHECK(difference / static_cast<double>(image.pixels.size()) < 4);
}

TEST_CASE("damaged pictures and other files are one error with the name", "[data]") {
  const auto fails_with = [](const std::string& content, const std::string& why) {
    CHECK_THAT(refusal_of([&] { decode_image(content, "p/x.jpg"); }), is_about("p/x.jpg", {why}));
  };
  fails_with("", "the file is empty");
  fails_with("GIF89a", "neither a JPEG nor a PNG");
  fails_with("{\"json\": 1}", "neither a JPEG nor a PNG");
  for (const auto& [file, content] : samples()) {
    INFO(file);
    // Cut anywhere before the end marker, a picture must not decode.
    for (const std::size_t keep : {content.size() / 4, content.size() / 2, content.size() - 3}) {
      CHECK_THROWS_AS(decode_image(content.substr(0, keep), file), Error);
    }
  }
  fails_with(jpeg(gradient(64, 64), TJSAMP_444).substr(0, 900), "truncated or damaged JPEG");
  std::string damaged = encode_png(gradient(64, 64));
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  fails_with(damaged, "truncated or damaged PNG");
}

TEST_CASE("noise never crashes the decoders", "[data]") {
  // A fixed sequence of single-byte changes: each must decode or be refused.
  std::uint32_t state = 12345;
  const auto random = [&] { return state = state * 1664525U + 1013904223U; };
  for (const auto& [file, content] : samples()) {
    for (int i = 0; i < 60; ++i) {
      std::string noisy = content;
      noisy[random() / 256 % noisy.size()] = static_cast<char>(random() >> 24);
      try {
        const Image image = decode_image(noisy, file);
        CHECK(image.pixels.size() == static_cast<std::size_t>(image.width) * image.height * 3);
      } catch (const Error&) {
        SUCCEED();
      }
    }
  }
}

TEST_CASE("pictures of absurd size are refused from their header", "[data]") {
  std::string large = jpeg(gradient(16, 16), TJSAMP_444);
  const std::size_t frame = large.find(std::string("\xFF\xC0", 2));
  REQUIRE(frame != std::string::npos);
  for (const std::size_t i : {5, 6, 7, 8}) large[frame + i] = '\xFE';
  for (const auto& [content, size] :
       {std::pair{png(60000, 60000, 8, 2, "x"), "60000x60000"},
        std::pair{png(0x7FFFFFFF, 0x7FFFFFFF, 8, 2, "x"), "2147483647x2147483647"},
        std::pair{large, "65278x65278"}}) {
    const ErrorParts found = refusal_of([&] { decode_image(content, "big"); });
    CHECK_THAT(found,
               is_about("big", {std::string(size) + " pixels are over the limit of 100 million"}));
  }
}

TEST_CASE("pictures decode as PIL decodes them", "[data]") {
  const char* chosen = std::getenv("HARNESS_TEST_PYTHON");
  const std::string python = chosen != nullptr ? chosen : "python3";
  if (std::system((python + " -c 'import PIL' >/dev/null 2>&1").c_str()) != 0) {
    WARN("skipped: no PIL for " << python << " (set HARNESS_TEST_PYTHON)");
    return;
  }
  const TemporaryFolder folder;
  for (const auto& [file, content] : samples()) {
    std::ofstream(folder / file, std::ios::binary) << content;
  }
  std::ofstream(folder / "convert.py")
      << "import glob\nfrom PIL import Image\n"
         "for f in glob.glob('*.png') + glob.glob('*.jpg'):\n"
         "    open(f + '.raw', 'wb').write(Image.open(f).convert('RGB').tobytes())\n";
  const std::string command =
      "cd '" + folder.path().string() + "' && " + python + " -W ignore convert.py";
  REQUIRE(std::system(command.c_str()) == 0);
  for (const auto& [file, content] : samples()) {
    INFO(file);
    const std::string raw = read_file(folder / (file + ".raw"), 1 << 20);
    const Image image = decode_image(content, file);
    REQUIRE(image.pixels.size() == raw.size());
    int worst = 0;
    for (std::size_t i = 0; i < raw.size(); ++i) {
      worst = std::max(worst, std::abs(image.pixels[i] - static_cast<std::uint8_t>(raw[i])));
    }
    // Two builds of libjpeg-turbo may round chroma differently.
    CHECK(worst <= (file.ends_with(".jpg") ? 1 : 0));
  }
}
