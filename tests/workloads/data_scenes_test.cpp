// Fashion-MNIST, the scenes composed from it, and their cache.
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>

#include <atomic>
#include <catch2/catch.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/small_scenes.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/data/fashion_mnist.hpp"
#include "workloads/data/scene_cache.hpp"
#include "workloads/data/scene_generator.hpp"
#include "workloads/data/scene_pixels.hpp"

namespace fs = std::filesystem;
using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

/// Sets a variable for one test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = ::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() {
    if (had_) {
      ::setenv(name_, before_.c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool had_ = false;
};

std::string idx(std::uint32_t magic, const std::vector<std::uint32_t>& shape, std::size_t payload,
                char fill) {
  std::string out;
  const auto put = [&](std::uint32_t n) {
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(n >> shift & 0xFF);
  };
  put(magic);
  for (const std::uint32_t n : shape) put(n);
  return out + std::string(payload, fill);
}

/// Three training and two test pictures in the published format.
void write_small_source(const fs::path& folder) {
  write(folder / "train-images-idx3-ubyte", idx(0x803, {3, 28, 28}, std::size_t{3} * 784, 'x'));
  write(folder / "train-labels-idx1-ubyte", idx(0x801, {3}, 3, 1));
  write(folder / "t10k-images-idx3-ubyte", idx(0x803, {2, 28, 28}, std::size_t{2} * 784, 'y'));
  write(folder / "t10k-labels-idx1-ubyte", idx(0x801, {2}, 2, 9));
}

std::size_t entries(const fs::path& folder) {
  std::size_t n = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    n += entry.path().extension() == ".lock" ? 0 : 1;
  }
  return n;
}

}  // namespace

TEST_CASE("Fashion-MNIST files are read strictly", "[data]") {
  const TemporaryFolder folder;
  write_small_source(folder.path());
  const FashionMnist data = read_fashion_mnist(folder.path(), 3, 2);
  CHECK(data.train.count() == 3);
  CHECK(data.test.labels == std::vector<std::uint8_t>{9, 9});
  CHECK(data.train.picture(2)[783] == 'x');

  const fs::path labels = folder / "train-labels-idx1-ubyte";
  const auto refusal = [&] { return refusal_of([&] { read_fashion_mnist(folder.path(), 3, 2); }); };
  const auto fails_with = [&](const std::string& content, const std::string& why) {
    write(labels, content);
    CHECK_THAT(refusal(), is_about(labels.string(), {why}));
  };
  fails_with(idx(0x801, {3}, 2, 1), "is 10 bytes long, must be 11");
  fails_with(idx(0x801, {3}, 4, 1), "is 12 bytes long, must be 11");
  fails_with(idx(0x802, {3}, 3, 1), "not an idx file");
  fails_with(idx(0x801, {4}, 3, 1), "dimension 0 is 4, must be 3");
  fails_with(idx(0x801, {3}, 3, 10), "label 10 is not in 0..9");
  fs::remove(labels);
  CHECK(refusal().about == "Fashion-MNIST");
  for (const char* way_out : {"dataset-fashion-mnist", "HARNESS_FASHION_MNIST"}) {
    CHECK(refusal().names(way_out));
  }
  write(labels.string() + ".gz", "\x1f\x8b not gzip");
  CHECK_THAT(refusal(), is_about(labels.string() + ".gz", {"damaged"}));
}

TEST_CASE("a missing Fashion-MNIST is one error that says where to get it", "[data]") {
  const TemporaryFolder empty;
  const TemporaryFolder cache;
  const Variable source("HARNESS_FASHION_MNIST", empty.path().string());
  CHECK(refused([&] { open_scene_cache(scene_set("full"), {}, cache.path()); }) == "Fashion-MNIST");
  CHECK(entries(cache.path()) == 0);
}

TEST_CASE("the first scenes have the frozen pixels", "[data]") {
  const FashionMnist* source = real_source();
  if (source == nullptr) return;
  CHECK(source->sha256 == scene_set("full").source_sha256);
  const auto hash = [&](const char* set, SceneSplit split, int index) {
    return pixel_hash(compose_scene(*source, scene_set(set), split, index).image);
  };
  CHECK(hash("full", SceneSplit::kTrain, 0) ==
        "758daf5bd0c1ee7430041f885d49368da94f6b3a2f51f93ab695ffc823c25f9d");
  CHECK(hash("full", SceneSplit::kEval, 0) ==
        "0908055eab26a67fffa60e95f0bbe835668a284d485d990ebf526e4be4295e38");
  CHECK(hash("mini", SceneSplit::kTrain, 0) ==
        "ce3b5a95a78da0132bd80e786fe2f7e969233972251ecd82225e2baca61f68cf");
  CHECK(hash("mini", SceneSplit::kTrain, 1) ==
        "064146e0a6bc83ea3ed80372146f386d7a7f1caeb8f79121ccf50a87f229e439");
  CHECK(hash("mini", SceneSplit::kTrain, 3) ==
        "b4ba99715555a13e3375ab08ff034f626a39022bf4c6f6c2fedae907eba7edfd");
  CHECK(hash("mini", SceneSplit::kEval, 0) ==
        "c6d1e5c0aa896282be434b62ca03121760b19be00aed1a338116578b4e07d69c");
  CHECK(hash("mini", SceneSplit::kEval, 1) ==
        "18214d9515d181a9f899955de4af82e4b072cb26304fe86fa1d29296823f60b6");
  CHECK(hash("mini", SceneSplit::kEval, 3) ==
        "c9a7d7c9de4cf3770b390e02062372acc87e062659cd81a350f45c3df1210eb4");
}

TEST_CASE("items lie in their scene, within the set's limits", "[data]") {
  const FashionMnist* source = real_source();
  if (source == nullptr) return;
  const SceneSet& set = scene_set("mini");
  std::array<int, 10> classes{};
  for (int i = 0; i < 60; ++i) {
    const Scene scene = compose_scene(*source, set, SceneSplit::kTrain, i);
    CHECK_FALSE(scene.items.empty());
    CHECK(scene.items.size() <= 6);
    for (const SceneItem& item : scene.items) {
      CHECK(item.x >= 0);
      CHECK(item.y >= 0);
      CHECK(item.x + item.width <= set.width);
      CHECK(item.y + item.height <= set.height);
      CHECK(std::max(item.width, item.height) <= set.max_side);
      ++classes.at(static_cast<std::size_t>(item.label));
    }
  }
  for (const int n : classes) CHECK(n > 0);
}

TEST_CASE("training and evaluation scenes come from their own splits", "[data]") {
  FashionMnist source;
  source.train.pixels.assign(784, 200);
  source.train.labels = {3};
  source.test.pixels.assign(784, 200);
  source.test.labels = {7};
  const SceneSet set = tiny_set();
  for (int i = 0; i < 5; ++i) {
    for (const SceneItem& item : compose_scene(source, set, SceneSplit::kTrain, i).items) {
      CHECK(item.label == 3);
    }
    const Scene eval = compose_scene(source, set, SceneSplit::kEval, i);
    for (const SceneItem& item : eval.items) CHECK(item.label == 7);
    // The box is tight: a fully lit picture fills its square.
    CHECK(eval.items.front().width == eval.items.front().height);
  }
}

TEST_CASE("a scene set is composed once, the same with any number of threads", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder one;
  const TemporaryFolder four;
  Preparation preparation;
  preparation.threads = 1;
  std::int64_t reported = 0;
  preparation.progress = [&](const std::string& what, std::int64_t done, std::int64_t) {
    if (what == "composing train scenes") reported = done;
  };
  const SceneCache first = open_scene_cache(tiny_set(), preparation, one.path());
  CHECK(first.composed);
  CHECK(reported == 6);
  preparation.threads = 4;
  const SceneCache second = open_scene_cache(tiny_set(), preparation, four.path());
  CHECK(first.manifest.files == second.manifest.files);
  CHECK(first.manifest.details == second.manifest.details);

  CHECK_FALSE(open_scene_cache(tiny_set(), preparation, one.path()).composed);
  CHECK(entries(one.path()) == 1);

  const DataSource source = open_fashion_scenes(tiny_set(), 264, preparation, one.path());
  CHECK(source.train.images.size() == 6);
  CHECK(source.eval.images.size() == 3);
  CHECK(source.artifact.name == "fashion-scenes-tiny");
  REQUIRE(source.artifact.sha256);
  CHECK(*source.artifact.sha256 ==
        open_fashion_scenes(tiny_set(), 264, preparation, four.path()).artifact.sha256);
  CHECK(load_image(source.eval, 2).width == 96);
  CHECK_FALSE(source.train.report.categories_renumbered);
}

TEST_CASE("a set whose pixels are not the frozen ones is refused and leaves nothing", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder cache;
  SceneSet set = tiny_set();
  set.frozen_eval.pixels = std::string(64, '0');
  CHECK_THAT(refusal_of([&] { open_scene_cache(set, {}, cache.path()); }),
             is_about("fashion-scenes " + set.name, {"pixels of eval"}));
  CHECK(entries(cache.path()) == 0);
}

TEST_CASE("interrupting a composition leaves nothing, and leftovers are cleaned up", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder cache;
  SceneSet set = tiny_set();
  set.train_count = 100000;  // longer than the test waits
  Preparation preparation;
  int calls = 0;
  preparation.interrupted = [&] {
    if (++calls > 2) throw Interrupted();
  };
  CHECK_THROWS_AS(open_scene_cache(set, preparation, cache.path()), Interrupted);
  CHECK(entries(cache.path()) == 0);

  // What a killed process leaves behind.
  const fs::path stale = cache / ".1-tiny.999999.partial";
  fs::create_directories(stale / "train");
  write(stale / "train" / "000000.png", "half a pic");
  open_scene_cache(tiny_set(), {}, cache.path());
  CHECK_FALSE(fs::exists(stale));
  CHECK(entries(cache.path()) == 1);
}

TEST_CASE("a disk that takes no more is one error and leaves nothing", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder cache;
  // A limit on the size of files fails as a full disk does: write() stops short, then says no.
  ::rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  ::rlimit small = before;
  small.rlim_cur = 2000;
  auto* handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &small);
  const ErrorParts found = refusal_of([&] { open_scene_cache(tiny_set(), {}, cache.path()); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK_THAT(found.about, Catch::StartsWith(cache.path().string()));
  for (const char* what : {"cannot write it", "XDG_CACHE_HOME"}) CHECK(found.names(what));
  CHECK(entries(cache.path()) == 0);
}

TEST_CASE("two processes that compose at once end with one whole set", "[data]") {
  if (real_source() == nullptr) return;
  const TemporaryFolder cache;
  const auto compose = [&] {
    const pid_t child = ::fork();
    if (child == 0) {
      int status = 1;
      try {
        open_scene_cache(tiny_set(), {}, cache.path());
        status = 0;
      } catch (...) {
        status = 2;
      }
      ::_exit(status);
    }
    return child;
  };
  const pid_t a = compose();
  const pid_t b = compose();
  for (const pid_t child : {a, b}) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  CHECK(entries(cache.path()) == 1);
  CHECK_FALSE(open_scene_cache(tiny_set(), {}, cache.path()).composed);
}

TEST_CASE("an unknown scene set is named with those there are", "[data]") {
  CHECK(refusal_of([] { scene_set("ful"); }).names("full"));
}
