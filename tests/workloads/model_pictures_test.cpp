// Pictures for a model of somebody else's: each preprocessing against a computation of its own.
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/own_model.hpp"
#include "workloads/data/image.hpp"
#include "workloads/model/samples.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// From 0 to 1, less the mean, by the deviation, for each colour.
struct Colours {
  const char* name;
  std::array<double, 3> mean;
  std::array<double, 3> deviation;

  double of(double value, std::size_t colour) const {
    return (value / 255 - mean.at(colour)) / deviation.at(colour);
  }
};

const std::vector<Colours>& all_colours() {
  static const std::vector<Colours> all = {
      {"imagenet", {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
      {"unit", {0, 0, 0}, {1, 1, 1}},
      {"symmetric", {0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}},
      {"raw", {0, 0, 0}, {1. / 255, 1. / 255, 1. / 255}}};
  return all;
}

/// What each of `from` pixels adds to number `place` of `to`: a triangle, wider where they shrink.
std::vector<double> shares(int from, int to, int place) {
  const double scale = static_cast<double>(from) / to;
  const double middle = (place + 0.5) * scale;
  std::vector<double> all;
  double sum = 0;
  for (int i = 0; i < from; ++i) {
    all.push_back(std::max(0.0, 1 - std::abs(i + 0.5 - middle) / std::max(1.0, scale)));
    sum += all.back();
  }
  for (double& one : all) one /= sum;
  return all;
}

/// One value of `image` at another size, without any rounding.
double scaled(const Image& image, int rows, int columns, int row, int column, std::size_t colour) {
  const std::vector<double> down = shares(image.height, rows, row);
  const std::vector<double> across = shares(image.width, columns, column);
  double sum = 0;
  for (std::size_t y = 0; y < down.size(); ++y) {
    for (std::size_t x = 0; x < across.size(); ++x) {
      sum += down[y] * across[x] * image.pixels.at((y * across.size() + x) * 3 + colour);
    }
  }
  return sum;
}

}  // namespace

TEST_CASE("pictures are scaled, cut and coloured as their preprocessing says", "[model]") {
  Image image{16, 12, std::vector<std::uint8_t>(std::size_t{16} * 12 * 3)};
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>((i * 2654435761U) >> 20);
  }
  constexpr int kSide = 7;
  for (const Colours& one : all_colours()) {
    INFO(one.name);
    // 8/7 of 7 rows; 10.7 columns, of which whole ones are taken. Margins of 0.5 and 1.5 pixels are
    // rounded to even.
    const bool cut = std::string(one.name) == "imagenet";
    const int rows = cut ? 8 : kSide;
    const int columns = cut ? 10 : kSide;
    const int left = cut ? 2 : 0;
    const at::Tensor made = prepared_for_model(image, one.name, kSide, kSide, "a picture");
    REQUIRE(made.sizes() == at::IntArrayRef({1, 3, kSide, kSide}));
    CHECK(made.scalar_type() == at::kFloat);
    CHECK(made.is_contiguous());
    double furthest = 0;  // in steps of a byte
    for (std::size_t colour = 0; colour < 3; ++colour) {
      const at::Tensor map = made[0][static_cast<std::int64_t>(colour)];
      for (int row = 0; row < kSide; ++row) {
        for (int column = 0; column < kSide; ++column) {
          const double wanted =
              one.of(scaled(image, rows, columns, row, left + column, colour), colour);
          const double error = std::abs(map[row][column].item<double>() - wanted);
          furthest = std::max(furthest, error * one.deviation.at(colour) * 255);
        }
      }
    }
    // Whole numbers behind each direction: half a step each.
    CHECK(furthest < 1.001);
  }
}

TEST_CASE("a folder of pictures is asked by a task, under each preprocessing", "[model]") {
  const std::size_t number = GENERATE(0U, 1U, 2U, 3U);
  const Colours& colours = all_colours().at(number);
  INFO(colours.name);
  const std::vector<int> greys = {20, 200};  // by class
  std::vector<std::string> wanted;           // what the model gets of it, in the mean
  for (const int grey : greys) {
    double sum = 0;
    for (std::size_t colour = 0; colour < 3; ++colour) sum += colours.of(grey, colour);
    wanted.push_back(std::to_string(sum / 3));
  }
  // The nearer of the two, unless both are far away: then neither.
  const auto distance = [](const std::string& value) { return "(mean - " + value + ").abs()"; };
  OwnModelRun own("def forward(self, x):\n    mean = x.mean([1, 2, 3])\n    return -torch.stack([" +
                  distance(wanted[0]) + ", " + distance(wanted[1]) +
                  ", 0.01 * torch.ones_like(mean)], 1)");
  for (std::size_t label = 0; label < greys.size(); ++label) {
    const fs::path folder = own / "pictures" / std::to_string(label);
    fs::create_directories(folder);
    for (const int width : {9, 20}) {
      const auto values = static_cast<std::size_t>(width) * 12 * 3;
      const Image image{width, 12,
                        std::vector<std::uint8_t>(values, static_cast<std::uint8_t>(greys[label]))};
      std::ofstream(folder / (std::to_string(width) + ".png"), std::ios::binary)
          << encode_png(image);
    }
  }
  own.task["model"]["inputs"][0]["shape"] = {3, 8, 8};
  own.task["model"]["outputs"] = {{3}};
  own.task["model"]["samples"] = {
      {"pictures", "pictures"}, {"preprocessing", colours.name}, {"classes", 2}};
  own.task["quality"] = {{"metric", "top-1"}, {"target", 1}};
  const Outcome outcome = own.steps();
  INFO(outcome.err << outcome.out);
  REQUIRE(outcome.code == 0);
  const json result = own.result();
  CHECK(result.at("/quality/value"_json_pointer) == 1);
  CHECK(result.at("/data/sha256"_json_pointer).is_string());
}
