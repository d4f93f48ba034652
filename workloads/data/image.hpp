// Pictures in memory: decoded by content, whatever the file is called, into 8-bit RGB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace harness::workloads {

/// 8-bit RGB, height x width x 3, rows from the top, no padding.
struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> pixels{};
};

/// Where a row starts in an array of rows; in 64 bits.
constexpr std::size_t row_start(int row, int columns) {
  return static_cast<std::size_t>(row) * static_cast<std::size_t>(columns);
}

/// Larger pictures are refused from their header, before memory is taken.
constexpr std::size_t kMaxPixels = 100'000'000;
/// Larger files are refused before they are read.
constexpr std::size_t kMaxImageFile = std::size_t{256} << 20;

/// Decodes JPEG or PNG as PIL's convert("RGB") does: palettes and grey expanded, alpha dropped,
/// CMYK converted, no gamma, no EXIF rotation. 16-bit channels keep their high byte (PIL clips
/// 16-bit grey). Throws Error naming `name` for anything else: other formats, truncated or damaged
/// data, too large.
Image decode_image(std::string_view content, const std::string& name);

/// decode_image of a file; throws Error naming the path.
Image read_image(const std::filesystem::path& path);

/// Reads the beginning of a file: throws Error as read_image() does where that already tells that
/// it is no picture, or too large.
void require_picture(const std::filesystem::path& path);

/// PNG with fixed settings; the bytes may differ between zlib versions, the pixels not.
std::string encode_png(const Image& image);

/// The two decoders behind decode_image.
Image decode_jpeg(std::string_view content, const std::string& name);
Image decode_png(std::string_view content, const std::string& name);

/// Throws Error when the size is not positive or over kMaxPixels.
void require_size(std::int64_t width, std::int64_t height, const std::string& name);

/// Allocates the pixels; throws as require_size() does.
Image make_image(std::int64_t width, std::int64_t height, const std::string& name);

}  // namespace harness::workloads
