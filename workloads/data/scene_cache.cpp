#include "workloads/data/scene_cache.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/text.hpp"
#include "workloads/data/scene_pixels.hpp"

namespace harness::workloads {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPartialSuffix = ".partial";

std::string shown(const fs::path& path) { return printable(path.string()); }

/// Held while composing. Released by the kernel when its process dies, so no stale lock can stay.
class ComposeLock {
 public:
  ComposeLock(const fs::path& path, const Preparation& preparation)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (fd_ < 0) {
      throw Error(shown(path), std::string("cannot create it: ") + std::strerror(errno),
                  "free some space or set XDG_CACHE_HOME to another folder");
    }
    try {
      while (::flock(fd_, LOCK_EX | LOCK_NB) != 0) {
        // A file system without locks: composing twice is wasteful but safe, the rename decides.
        if (errno != EWOULDBLOCK && errno != EINTR) return;
        preparation.interrupted();
        preparation.progress("waiting for another process that composes scenes", 0, 0);
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
      }
      held_ = true;
    } catch (...) {
      ::close(fd_);
      throw;
    }
  }
  ~ComposeLock() { ::close(fd_); }
  ComposeLock(const ComposeLock&) = delete;
  ComposeLock& operator=(const ComposeLock&) = delete;
  bool held() const { return held_; }

 private:
  int fd_;
  bool held_ = false;
};

/// Removed with all it holds unless it was kept.
class PartialFolder {
 public:
  explicit PartialFolder(fs::path path) : path_(std::move(path)) {}
  ~PartialFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;
  const fs::path& path() const { return path_; }
  void keep() { path_.clear(); }

 private:
  fs::path path_;
};

/// No fsync for each of thousands of files: a file that a crash lost is seen by the verification.
void write_plain(const fs::path& path, std::string_view content) {
  const auto fail = [&] {
    return Error(shown(path), std::string("cannot write it: ") + std::strerror(errno),
                 "free some space or set XDG_CACHE_HOME to another folder");
  };
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw fail();
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Error error = fail();
      ::close(fd);
      throw error;
    }
    content.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::close(fd) != 0) throw fail();
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    throw Error(shown(path), "cannot create the folder: " + error.message(),
                "free some space or set XDG_CACHE_HOME to another folder");
  }
}

void expect_frozen(const SceneSet& set, const std::string& what, const std::string& expected,
                   const std::string& actual) {
  if (expected.empty() || expected == actual) return;
  throw Error("fashion-scenes " + set.name,
              fmt::format("the {} hash to {}, frozen is {}", what, actual, expected),
              "this build composes other pixels than the frozen generator: please report it");
}

void compose_split(const FashionMnist& source, const SceneSet& set, SceneSplit split,
                   const fs::path& folder, const Preparation& preparation, Manifest& manifest) {
  const std::string name = to_string(split);
  make_folder(folder / name);
  const auto count = static_cast<std::size_t>(set.count(split));
  std::vector<std::vector<SceneItem>> items(count);
  std::vector<std::string> file_hashes(count);
  std::vector<std::string> pixel_hashes(count);
  parallel_for(count, "composing " + name + " scenes", preparation, [&](std::size_t i) {
    Scene scene = compose_scene(source, set, split, static_cast<int>(i));
    const std::string png = encode_png(scene.image);
    write_plain(folder / scene_file(split, static_cast<int>(i)), png);
    file_hashes[i] = sha256_hex(png);
    pixel_hashes[i] = pixel_hash(scene.image);
    items[i] = std::move(scene.items);
  });
  for (std::size_t i = 0; i < count; ++i) {
    manifest.files[scene_file(split, static_cast<int>(i))] = file_hashes[i];
  }
  const std::string pixels = split_hash(pixel_hashes);
  const std::string annotations = annotations_json(set, split, items);
  const std::string annotations_hash = sha256_hex(annotations);
  expect_frozen(set, "pixels of " + name, set.frozen(split).pixels, pixels);
  expect_frozen(set, "annotations of " + name, set.frozen(split).annotations, annotations_hash);
  write_plain(folder / (name + ".json"), annotations);
  manifest.files[name + ".json"] = annotations_hash;
  manifest.details[pixels_key(split)] = pixels;
}

void compose(const SceneSet& set, const fs::path& folder, const Preparation& preparation) {
  const FashionMnist source = read_fashion_mnist(fashion_mnist_folder());
  if (!set.source_sha256.empty() && source.sha256 != set.source_sha256) {
    throw Error(shown(fashion_mnist_folder()),
                "holds other pictures than the published Fashion-MNIST",
                "install the Debian package dataset-fashion-mnist, or mend HARNESS_FASHION_MNIST");
  }
  Manifest manifest;
  manifest.dataset = "fashion-scenes";
  manifest.details["set"] = set.name;
  manifest.details["generator_version"] = std::to_string(kSceneGeneratorVersion);
  manifest.details["source_sha256"] = source.sha256;
  for (const SceneSplit split : kSceneSplits) {
    compose_split(source, set, split, folder, preparation, manifest);
  }
  write_file_atomically(folder / "manifest.json", to_json(manifest));
}

/// What was found must be this very set, not only consistent with itself.
Manifest check_manifest(const SceneSet& set, const fs::path& folder, const std::string& hint) {
  std::optional<Manifest> found;
  try {
    found = read_manifest(folder);
  } catch (const Error& error) {
    throw Error(error.what_failed(), error.why(), hint);
  }
  const std::string name = shown(folder / "manifest.json");
  if (!found) throw Error(name, "is missing or not a manifest of ours", hint);
  Manifest& manifest = *found;
  const auto differs = [&](const std::string& key, const std::string& frozen) {
    const auto it = manifest.details.find(key);
    return it == manifest.details.end() || (!frozen.empty() && it->second != frozen);
  };
  std::size_t files = 0;
  for (const SceneSplit split : kSceneSplits) {
    const auto annotations = manifest.files.find(std::string(to_string(split)) + ".json");
    const FrozenSplit& frozen = set.frozen(split);
    if (differs(pixels_key(split), frozen.pixels) || annotations == manifest.files.end() ||
        (!frozen.annotations.empty() && annotations->second != frozen.annotations)) {
      throw Error(name, fmt::format("its hashes of {} are not the frozen ones", to_string(split)),
                  hint);
    }
    for (int i = 0; i < set.count(split); ++i) {
      if (!manifest.files.contains(scene_file(split, i))) {
        throw Error(name, scene_file(split, i) + " is not listed", hint);
      }
    }
    files += 1 + static_cast<std::size_t>(set.count(split));
  }
  if (manifest.files.size() != files || differs("set", set.name) ||
      differs("generator_version", std::to_string(kSceneGeneratorVersion))) {
    throw Error(name, "is not that of scene set " + set.name, hint);
  }
  return std::move(manifest);
}

void compose_into_place(const SceneSet& set, const fs::path& cache, const fs::path& folder,
                        const Preparation& preparation) {
  make_folder(cache);
  const std::string stem = folder.filename().string();
  const ComposeLock lock(cache / ("." + stem + ".lock"), preparation);
  if (fs::exists(folder)) return;  // another process was faster
  if (lock.held()) {
    // What killed processes left behind.
    for (const auto& entry : fs::directory_iterator(cache)) {
      const std::string name = entry.path().filename().string();
      std::error_code ignored;
      if (name.starts_with("." + stem + ".") && name.ends_with(kPartialSuffix)) {
        fs::remove_all(entry.path(), ignored);
      }
    }
  }
  PartialFolder partial(cache / fmt::format(".{}.{}{}", stem, ::getpid(), kPartialSuffix));
  make_folder(partial.path());
  compose(set, partial.path(), preparation);
  std::error_code error;
  fs::rename(partial.path(), folder, error);
  if (!error) {
    partial.keep();
  } else if (!fs::exists(folder)) {
    throw Error(shown(folder), "cannot put it in place: " + error.message());
  }
}

}  // namespace

std::string scene_file_name(int index) { return fmt::format("{:06}.png", index); }

std::string scene_file(SceneSplit split, int index) {
  return fmt::format("{}/{}", to_string(split), scene_file_name(index));
}

std::string annotations_json(const SceneSet& set, SceneSplit split,
                             const std::vector<std::vector<SceneItem>>& items) {
  std::string out = fmt::format(
      "{{\"info\": {{\"description\": \"fashion-scenes {} {}, generator {}\"}},\n\"images\": [",
      set.name, to_string(split), kSceneGeneratorVersion);
  for (std::size_t i = 0; i < items.size(); ++i) {
    out += fmt::format("{}\n{{\"id\": {}, \"file_name\": \"{}\", \"width\": {}, \"height\": {}}}",
                       i == 0 ? "" : ",", i, scene_file_name(static_cast<int>(i)), set.width,
                       set.height);
  }
  out += "],\n\"annotations\": [";
  int id = 0;  // counts from 1: pycocotools takes annotation 0 for "no match"
  for (std::size_t i = 0; i < items.size(); ++i) {
    for (const SceneItem& item : items[i]) {
      out += fmt::format(
          "{}\n{{\"id\": {}, \"image_id\": {}, \"category_id\": {}, \"bbox\": [{}, {}, {}, {}], "
          "\"area\": {}, \"iscrowd\": 0}}",
          id == 0 ? "" : ",", id + 1, i, item.label, item.x, item.y, item.width, item.height,
          item.width * item.height);
      ++id;
    }
  }
  out += "],\n\"categories\": [";
  for (std::size_t i = 0; i < kFashionClasses.size(); ++i) {
    out += fmt::format("{}\n{{\"id\": {}, \"name\": \"{}\"}}", i == 0 ? "" : ",", i,
                       kFashionClasses[i]);
  }
  return out + "]}\n";
}

SceneCache open_scene_cache(const SceneSet& set, const Preparation& preparation, fs::path cache) {
  if (cache.empty()) cache = cache_folder() / "fashion-scenes";
  SceneCache found;
  found.folder = cache / fmt::format("{}-{}", kSceneGeneratorVersion, set.name);
  std::error_code ignored;
  if (!fs::exists(found.folder, ignored)) {
    compose_into_place(set, cache, found.folder, preparation);
    found.composed = true;
  }
  const std::string hint =
      fmt::format("delete the folder {} and it is composed again", shown(found.folder));
  found.manifest = check_manifest(set, found.folder, hint);
  if (found.composed) {
    // The pixels were hashed as they were made; this tells whether they reached the disk.
    verify_files(found.folder, found.manifest, hint, preparation);
  } else {
    verify_scenes(found.folder, set, found.manifest, hint, preparation);
  }
  return found;
}

}  // namespace harness::workloads
