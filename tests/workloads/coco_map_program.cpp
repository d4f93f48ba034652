// Evaluates files in COCO's own form, for tests/oracle: reads JSON Lines from stdin, each
// {"annotations": [...], "detections": [...]} with COCO's members, and answers each with a line
// {"metrics": {...}, "seconds": [...]}: the twelve numbers, and the processor time of each
// evaluation without the reading. usage: coco_map_program [REPEATS]
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "workloads/coco_map/coco_map.hpp"

using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

CocoBox box_of(const nlohmann::json& object) {
  const nlohmann::json& box = object.at("bbox");
  return {box.at(0).get<double>(), box.at(1).get<double>(), box.at(2).get<double>(),
          box.at(3).get<double>()};
}

nlohmann::json evaluate(const nlohmann::json& document, int repeats) {
  std::vector<CocoGroundTruth> ground_truth;
  for (const nlohmann::json& object : document.at("annotations")) {
    ground_truth.push_back({.image_id = object.at("image_id").get<std::int64_t>(),
                            .category_id = object.at("category_id").get<std::int64_t>(),
                            .box = box_of(object),
                            .area = object.at("area").get<double>(),
                            .crowd = object.at("iscrowd").get<int>() != 0});
  }
  std::vector<CocoDetection> detections;
  for (const nlohmann::json& object : document.at("detections")) {
    detections.push_back({.image_id = object.at("image_id").get<std::int64_t>(),
                          .category_id = object.at("category_id").get<std::int64_t>(),
                          .box = box_of(object),
                          .score = object.at("score").get<double>()});
  }
  nlohmann::json answer;
  for (int i = 0; i < repeats; ++i) {
    const std::clock_t start = std::clock();
    const CocoMetrics metrics = evaluate_coco_boxes(ground_truth, detections);
    answer["seconds"].push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    for (const auto& [name, value] : list_metrics(metrics)) {
      answer["metrics"][std::string(name)] = value;
    }
  }
  return answer;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int repeats = argc > 1 ? std::stoi(argv[1]) : 1;
    for (std::string line; std::getline(std::cin, line);) {
      std::cout << evaluate(nlohmann::json::parse(line), repeats).dump() << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << "coco_map_program: " << error.what() << '\n';
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
