#include "workloads/data/scene_pixels.hpp"

#include <map>

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/scene_cache.hpp"

namespace harness::workloads {
namespace {

/// The value of `by_file` for each scene of a split, in order.
std::string hash_of_split(const SceneSet& set, SceneSplit split,
                          const std::map<std::string, std::string>& by_file) {
  std::vector<std::string> hashes;
  for (int i = 0; i < set.count(split); ++i) hashes.push_back(by_file.at(scene_file(split, i)));
  return split_hash(hashes);
}

}  // namespace

std::string pixel_hash(const Image& image) {
  return sha256_hex({reinterpret_cast<const char*>(image.pixels.data()), image.pixels.size()});
}

std::string split_hash(const std::vector<std::string>& hashes) {
  Sha256 all;
  for (const std::string& hash : hashes) all.update(hash.data(), hash.size());
  return all.hex();
}

std::string pixels_key(SceneSplit split) {
  return std::string(to_string(split)) + "_pixels_sha256";
}

void verify_scenes(const std::filesystem::path& folder, const SceneSet& set,
                   const Manifest& manifest, const std::string& hint,
                   const Preparation& preparation) {
  std::vector<SceneSplit> to_decode;
  // Has all its entries before the threads start, so that each only writes to its own.
  std::map<std::string, std::string> pixels;
  for (const SceneSplit split : kSceneSplits) {
    if (hash_of_split(set, split, manifest.files) == set.frozen(split).files) continue;
    to_decode.push_back(split);
    for (int i = 0; i < set.count(split); ++i) pixels[scene_file(split, i)];
  }
  LookAtFile look;
  if (!to_decode.empty()) {
    look = [&](const std::string& file, const std::string& content) {
      const auto entry = pixels.find(file);
      if (entry == pixels.end()) return;
      entry->second = pixel_hash(decode_image(content, printable((folder / file).string())));
    };
  }
  verify_files(folder, manifest, hint, preparation, look);
  for (const SceneSplit split : to_decode) {
    const std::string actual = hash_of_split(set, split, pixels);
    if (actual == manifest.details.at(pixels_key(split))) continue;
    throw Error(printable((folder / to_string(split)).string()),
                "its pictures are not the frozen ones: their pixels hash to " + actual, hint);
  }
}

}  // namespace harness::workloads
