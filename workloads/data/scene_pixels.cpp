#include "workloads/data/scene_pixels.hpp"

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/scene_cache.hpp"

namespace harness::workloads {

std::string pixel_hash(const Image& image) {
  return sha256_hex({reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size()});
}

std::string split_hash(const std::vector<std::string>& pixel_hashes) {
  Sha256 all;
  for (const std::string& hash : pixel_hashes) all.update(hash.data(), hash.size());
  return all.hex();
}

void verify_pixels(const std::filesystem::path& folder, int count, const std::string& expected,
                   const std::string& hint, const Preparation& preparation) {
  std::vector<std::string> hashes(static_cast<std::size_t>(count));
  parallel_for(hashes.size(), "verifying pixels", preparation, [&](std::size_t i) {
    hashes[i] = pixel_hash(read_image(folder / scene_file_name(static_cast<int>(i))));
  });
  const std::string actual = split_hash(hashes);
  if (actual == expected) return;
  throw Error(printable(folder.string()),
              "its pictures are not the frozen ones: their pixels hash to " + actual, hint);
}

}  // namespace harness::workloads
