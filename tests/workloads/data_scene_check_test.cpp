// What is found in the cache of composed scenes: nothing that was exchanged or damaged passes.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_scenes.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/data/image.hpp"
#include "workloads/data/scene_cache.hpp"
#include "workloads/data/scene_pixels.hpp"

namespace fs = std::filesystem;
using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

/// Bytes that this process, its threads included, has been given by read().
std::int64_t bytes_read() {
  std::ifstream file("/proc/self/io");
  std::string key;
  std::int64_t value = -1;
  while (file >> key >> value) {
    if (key == "rchar:") return value;
  }
  FAIL("/proc/self/io has no rchar");
  return -1;
}

}  // namespace

TEST_CASE("damage in the cache names the file and the way out", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder cache;
  const fs::path folder = open_scene_cache(tiny_set(), {}, cache.path()).folder;
  const fs::path victim = folder / "train" / "000004.png";
  const auto fails_with = [&](const fs::path& file, const char* why) {
    CHECK_THAT(refusal_of([&] { open_scene_cache(tiny_set(), {}, cache.path()); }),
               is_about(file.string(), {why, "delete the folder"}));
  };
  const std::string content = read_file(victim, 1 << 20);
  std::string flipped_bit = content;
  flipped_bit[content.size() / 2] = static_cast<char>(flipped_bit[content.size() / 2] ^ 1);
  write(victim, flipped_bit);
  fails_with(victim, "damaged");
  fs::remove(victim);
  fails_with(victim, "missing");
  write(victim, content);
  CHECK_NOTHROW(open_scene_cache(tiny_set(), {}, cache.path()));

  const fs::path manifest = folder / "manifest.json";
  const std::string text = read_file(manifest, 1 << 20);
  write(manifest, text.substr(0, text.size() / 2));
  fails_with(manifest, "cut off");
  fs::remove(manifest);
  fails_with(manifest, "missing");
}

TEST_CASE("an exchanged picture is found, although the manifest was written anew", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder cache;
  const SceneCache scenes = open_scene_cache(tiny_set(), {}, cache.path());
  const fs::path train = scenes.folder / "train";
  const auto exchange = [&](const std::string& content) {
    write(train / "000004.png", content);
    Manifest manifest = scenes.manifest;
    manifest.files["train/000004.png"] = sha256_hex(content);
    write(scenes.folder / "manifest.json", to_json(manifest));
  };
  const std::string own = read_file(train / "000004.png", 1 << 20);
  exchange(read_file(train / "000003.png", 1 << 20));
  CHECK_THAT(refusal_of([&] { open_scene_cache(tiny_set(), {}, cache.path()); }),
             is_about(train.string(), {"its pictures", "delete the folder"}));
  // Another PNG of the same pixels is another file, and the same picture.
  exchange(encode_png(decode_image(own, "own")));
  CHECK_NOTHROW(open_scene_cache(tiny_set(), {}, cache.path()));

  // With the manifest's own total changed as well, it is the code that knows better.
  SceneSet frozen = tiny_set();
  frozen.frozen_train.pixels = scenes.manifest.details.at("train_pixels_sha256");
  CHECK_NOTHROW(open_scene_cache(frozen, {}, cache.path()));
  Manifest manifest = scenes.manifest;
  manifest.details["train_pixels_sha256"] = std::string(64, '0');
  write(scenes.folder / "manifest.json", to_json(manifest));
  CHECK_THAT(refusal_of([&] { open_scene_cache(frozen, {}, cache.path()); }),
             is_about((scenes.folder / "manifest.json").string(), {"hashes of train"}));
}

TEST_CASE("a start reads each file of a found set once", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder cache;
  SceneSet set = tiny_set();
  set.width = 512;  // pictures that weigh more than all else that is read
  set.height = 384;
  const SceneCache scenes = open_scene_cache(set, {}, cache.path());
  std::int64_t size = 0;
  for (const auto& entry : fs::recursive_directory_iterator(scenes.folder)) {
    if (entry.is_regular_file()) size += static_cast<std::int64_t>(entry.file_size());
  }
  const std::int64_t before = bytes_read();
  open_scene_cache(set, {}, cache.path());
  const std::int64_t found = bytes_read() - before;
  CHECK(found >= size);
  CHECK(found < size + size / 4);
}

TEST_CASE("files frozen to the byte are not decoded, and no others pass for them", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder cache;
  const SceneCache scenes = open_scene_cache(tiny_set(), {}, cache.path());
  SceneSet set = tiny_set();
  const auto freeze_files = [&](const Manifest& manifest) {
    std::vector<std::string> hashes;
    for (int i = 0; i < set.train_count; ++i) {
      hashes.push_back(manifest.files.at(scene_file(SceneSplit::kTrain, i)));
    }
    set.frozen_train.files = split_hash(hashes);
  };
  const auto exchange = [&](const std::string& content) {
    write(scenes.folder / "train" / "000004.png", content);
    Manifest manifest = scenes.manifest;
    manifest.files["train/000004.png"] = sha256_hex(content);
    write(scenes.folder / "manifest.json", to_json(manifest));
    return manifest;
  };
  freeze_files(scenes.manifest);
  CHECK_NOTHROW(open_scene_cache(set, {}, cache.path()));
  const std::string other = read_file(scenes.folder / "train" / "000003.png", 1 << 20);
  exchange(other);
  const auto refusal = [&] { return refusal_of([&] { open_scene_cache(set, {}, cache.path()); }); };
  CHECK(refusal().about == (scenes.folder / "train").string());
  // The manifest of the whole folder beside exchanged bytes: the file is not what it lists.
  write(scenes.folder / "manifest.json", to_json(scenes.manifest));
  const std::string picture = (scenes.folder / "train" / "000004.png").string();
  CHECK_THAT(refusal(), is_about(picture, {"damaged"}));
  // What is frozen to the byte is never looked into: no decoder would take this for a picture.
  freeze_files(exchange("not a picture"));
  CHECK_NOTHROW(open_scene_cache(set, {}, cache.path()));
  set.frozen_train.files.clear();
  CHECK(refusal().names("neither a JPEG nor a PNG"));
}

TEST_CASE("a folder that calls itself one of the frozen sets is not taken for it", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder cache;
  SceneCache scenes = open_scene_cache(tiny_set(), {}, cache.path());
  scenes.manifest.dataset = "fashion-scenes-full";
  write(scenes.folder / "manifest.json", to_json(scenes.manifest));
  CHECK(open_data_folder(scenes.folder, 264, {}).artifact.name == "own fashion-scenes-full");
}
