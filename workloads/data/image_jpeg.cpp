#include <fmt/format.h>
#include <turbojpeg.h>

#include <memory>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/image.hpp"

namespace harness::workloads {
namespace {

struct Closer {
  void operator()(void* handle) const { tjDestroy(handle); }
};

/// PIL's way from CMYK to RGB for files that follow Adobe's convention of inverted inks (all do).
void cmyk_to_rgb(const std::vector<std::uint8_t>& inks, std::vector<std::uint8_t>& rgb) {
  for (std::size_t i = 0; i < inks.size() / 4; ++i) {
    const int k = inks[4 * i + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      const int product = (255 - inks[4 * i + c]) * k + 128;
      rgb[3 * i + c] = static_cast<std::uint8_t>(k - ((product + (product >> 8)) >> 8));
    }
  }
}

}  // namespace

Image decode_jpeg(std::string_view content, const std::string& name) {
  // A new decoder for each picture: one that met damage keeps its tables and fails on good files.
  const std::unique_ptr<void, Closer> decoder(tjInitDecompress());
  void* handle = decoder.get();
  if (handle == nullptr) throw Error(name, "the JPEG decoder cannot start");
  const auto* bytes = reinterpret_cast<const unsigned char*>(content.data());
  const auto fail = [&](const char* doing) {
    return Error(name, fmt::format("{}: {}", doing, printable(tjGetErrorStr2(handle))));
  };

  int width = 0;
  int height = 0;
  int subsampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(handle, bytes, content.size(), &width, &height, &subsampling, &colours) !=
      0) {
    throw fail("not a JPEG picture that can be read");
  }
  Image image = make_image(width, height, name);
  const bool inks = colours == TJCS_CMYK || colours == TJCS_YCCK;
  std::vector<std::uint8_t> four(inks ? image.pixels.size() / 3 * 4 : 0);
  // LIMITSCANS: a progressive file of thousands of scans would decode for minutes.
  const int status =
      tjDecompress2(handle, bytes, content.size(), inks ? four.data() : image.pixels.data(), width,
                    0, height, inks ? TJPF_CMYK : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS);
  if (status != 0) {
    // Padding before a marker is harmless and common; every other warning means missing pixels.
    const std::string_view message = tjGetErrorStr2(handle);
    const bool harmless = tjGetErrorCode(handle) == TJERR_WARNING &&
                          message.find("extraneous bytes before marker") != std::string_view::npos;
    if (!harmless) throw fail("truncated or damaged JPEG data");
  }
  if (inks) cmyk_to_rgb(four, image.pixels);
  return image;
}

}  // namespace harness::workloads
