// A scene set that is composed in no time, for the tests of the default pictures.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "harness/base/error.hpp"
#include "workloads/data/fashion_mnist.hpp"
#include "workloads/data/scene_set.hpp"

namespace harness::workloads {

/// The real data set where it is installed; the tests on it are skipped elsewhere, with a message.
inline const FashionMnist* real_source() {
  static const std::unique_ptr<FashionMnist> source_once = [] {
    std::unique_ptr<FashionMnist> source;
    try {
      source = std::make_unique<FashionMnist>(read_fashion_mnist(fashion_mnist_folder()));
    } catch (const Error& error) {
      WARN("skipped: " << error.what());
    }
    return source;
  }();
  return source_once.get();
}

inline void write(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// A set small enough to compose in a test, with nothing frozen.
inline SceneSet tiny_set() {
  SceneSet set = scene_set("mini");
  set.name = "tiny";
  set.width = 96;
  set.height = 64;
  set.train_count = 6;
  set.eval_count = 3;
  set.min_side = 12;
  set.max_side = 30;
  set.frozen_train = {};
  set.frozen_eval = {};
  return set;
}

}  // namespace harness::workloads
