#include "workloads/data/image.hpp"

#include <fmt/format.h>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"

namespace harness::workloads {

Image make_image(std::int64_t width, std::int64_t height, const std::string& name) {
  if (width <= 0 || height <= 0) {
    throw Error(name, fmt::format("{}x{} is not the size of a picture", width, height));
  }
  const auto limit = static_cast<std::int64_t>(kMaxPixels);
  if (width > limit || height > limit / width) {
    throw Error(name, fmt::format("{}x{} pixels are over the limit of {} million", width, height,
                                  kMaxPixels / 1'000'000));
  }
  Image image;
  image.width = static_cast<int>(width);
  image.height = static_cast<int>(height);
  image.pixels.resize(static_cast<std::size_t>(width * height) * 3);
  return image;
}

Image decode_image(std::string_view content, const std::string& name) {
  using std::string_view_literals::operator""sv;
  if (content.empty()) throw Error(name, "the file is empty");
  if (content.starts_with("\xFF\xD8"sv)) return decode_jpeg(content, name);
  if (content.starts_with("\x89PNG\r\n\x1A\n"sv)) return decode_png(content, name);
  throw Error(name, "neither a JPEG nor a PNG picture");
}

Image read_image(const std::filesystem::path& path) {
  return decode_image(read_file(path, kMaxImageFile), printable(path.string()));
}

}  // namespace harness::workloads
