#include "workloads/data/image.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/regular_file.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {

using std::string_view_literals::operator""sv;

namespace {

constexpr std::string_view kJpeg = "\xFF\xD8"sv;
constexpr std::string_view kPng = "\x89PNG\r\n\x1A\n"sv;
// Behind the signature a chunk's length and name, then width and height.
constexpr std::size_t kSizeInPng = 16;

[[noreturn]] void refuse(std::string_view content, const std::string& name) {
  throw Error(name, content.empty() ? "the file is empty" : "neither a JPEG nor a PNG picture");
}

std::int64_t big_endian(std::string_view bytes) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

void require_size(std::int64_t width, std::int64_t height, const std::string& name) {
  if (width <= 0 || height <= 0) {
    throw Error(name, fmt::format("{}x{} is not the size of a picture", width, height));
  }
  const auto limit = static_cast<std::int64_t>(kMaxPixels);
  if (width > limit || height > limit / width) {
    throw Error(name, fmt::format("{}x{} pixels are over the limit of {} million", width, height,
                                  kMaxPixels / 1'000'000));
  }
}

Image make_image(std::int64_t width, std::int64_t height, const std::string& name) {
  require_size(width, height, name);
  Image image;
  image.width = static_cast<int>(width);
  image.height = static_cast<int>(height);
  image.pixels.resize(static_cast<std::size_t>(width * height) * 3);
  return image;
}

Image decode_image(std::string_view content, const std::string& name) {
  if (content.starts_with(kJpeg)) return decode_jpeg(content, name);
  if (content.starts_with(kPng)) return decode_png(content, name);
  refuse(content, name);
}

Image read_image(const std::filesystem::path& path) {
  return decode_image(read_file(path, kMaxImageFile), printable(path.string()));
}

void require_picture(const std::filesystem::path& path) {
  const std::string name = printable(path.string());
  std::string head(kSizeInPng + 8, '\0');
  head.resize(RegularFile(path).read(head.data(), head.size()));
  if (head.starts_with(kJpeg)) return;
  if (!head.starts_with(kPng)) refuse(head, name);
  if (head.size() < kSizeInPng + 8) throw Error(name, "is cut off within its header");
  const std::string_view size = std::string_view(head).substr(kSizeInPng);
  require_size(big_endian(size), big_endian(size.substr(4)), name);
}

}  // namespace harness::workloads
