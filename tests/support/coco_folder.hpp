// A small data set to train on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/temporary_folder.hpp"
#include "workloads/data/image.hpp"

namespace harness {

/// Pictures of 128x128 with a bright square each, in COCO's own layout.
class CocoFolder {
 public:
  CocoFolder() {
    add_split("train2017", "instances_train2017.json", 12);
    add_split("val2017", "instances_val2017.json", 4);
  }
  std::string path() const { return folder_.path().string(); }
  std::filesystem::path annotations(const char* split) const {
    return folder_ / "annotations" / (std::string("instances_") + split + "2017.json");
  }

 private:
  void add_split(const char* images, const char* annotations, int count) {
    std::filesystem::create_directories(folder_ / images);
    std::filesystem::create_directories(folder_ / "annotations");
    nlohmann::json document = {
        {"images", nlohmann::json::array()},
        {"annotations", nlohmann::json::array()},
        {"categories", {{{"id", 1}, {"name", "dark"}}, {{"id", 7}, {"name", "bright"}}}}};
    for (int i = 0; i < count; ++i) {
      const int left = 8 + 5 * i;
      workloads::Image image{128, 128, std::vector<std::uint8_t>(std::size_t{128} * 128 * 3)};
      const std::size_t shift = 7919 * static_cast<std::size_t>(i);
      for (std::size_t k = 0; k < image.pixels.size(); ++k) {
        image.pixels[k] = static_cast<std::uint8_t>(((k + shift) * 2654435761U) >> 26);
      }
      const auto first = static_cast<std::size_t>(left);
      for (std::size_t y = 40; y < 90; ++y) {
        for (std::size_t at = 3 * (y * 128 + first); at < 3 * (y * 128 + first + 40); ++at) {
          image.pixels[at] = i % 2 == 0 ? 250 : 90;
        }
      }
      const std::string name = std::to_string(i) + ".png";
      std::ofstream(folder_ / images / name, std::ios::binary) << workloads::encode_png(image);
      document["images"].push_back(
          {{"id", i}, {"file_name", name}, {"width", 128}, {"height", 128}});
      document["annotations"].push_back({{"id", i + 1},
                                         {"image_id", i},
                                         {"category_id", i % 2 == 0 ? 7 : 1},
                                         {"bbox", {left, 40, 40, 50}},
                                         {"area", 2000},
                                         {"iscrowd", 0}});
    }
    std::ofstream(folder_ / "annotations" / annotations) << document;
  }

  TemporaryFolder folder_;
};

}  // namespace harness
