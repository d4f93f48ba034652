// Golden files, format `retinanet-golden/1`: a case (weights, images, boxes given by formula) and
// what the MLPerf reference computed for it in float64.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace harness::workloads {

/// A tensor by formula: element i is center + bound * symmetric_uniform(fnv1a64(name) ^ seed, i).
struct GoldenTensor {
  std::string name{};
  std::vector<std::int64_t> shape{};
  double center = 0;
  double bound = 0;
};

struct GoldenImage {
  std::string fill{};  ///< the name in the formula; center 0.5, bound 0.5
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<float> boxes{};  ///< (x1, y1, x2, y2) one after another, pixels of this image
  std::vector<std::int64_t> labels{};
};

/// What is known of a large tensor. Samples are (flat index, value).
struct GoldenSummary {
  double sum = 0;
  double l2 = 0;
  std::vector<std::pair<std::int64_t, double>> samples{};
};

struct GoldenMatches {
  std::int64_t foreground = 0;
  std::int64_t background = 0;
  std::int64_t ignored = 0;
};

struct GoldenDetection {
  double box[4] = {};
  double score = 0;
  std::int64_t label = 0;
};

struct GoldenDetections {
  std::int64_t count = 0;
  double score_sum = 0;
  std::vector<GoldenDetection> first{};
};

struct GoldenCase {
  std::int64_t num_classes = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::uint64_t seed = 0;
  double detection_bias_shift = 0;
  std::vector<GoldenImage> images{};
  std::vector<GoldenTensor> tensors{};

  double classification_loss = 0;
  double box_loss = 0;
  double classification_loss_after_adam = 0;
  double box_loss_after_adam = 0;
  std::int64_t anchors_per_image = 0;
  GoldenSummary logits{};
  GoldenSummary codes{};
  GoldenSummary anchors{};
  std::vector<GoldenMatches> matched{};
  std::map<std::string, GoldenSummary> gradients{};
  std::vector<GoldenDetections> detections{};
};

/// Reads and checks a golden file, taking nothing in it on trust: size and depth of the text, every
/// number's range, sizes that would need more memory than this machine has. Throws Error naming the
/// path of the first thing wrong.
GoldenCase read_golden_file(const std::filesystem::path& path);

}  // namespace harness::workloads
