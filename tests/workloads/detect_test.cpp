// The task detect against what PyTorch's own modules find on the same pictures
// (tests/oracle/detect_oracle.py), and end to end.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/json_reader.hpp"
#include "tests/support/fast_bf16.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/task_runs.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/detect/answers.hpp"
#include "workloads/retinanet/detection_batches.hpp"
#include "workloads/retinanet/model.hpp"
#include "workloads/torch/weights_loading.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

const fs::path kHome = HARNESS_SOURCE_DIR;

const DataSource& scenes() {
  static const DataSource data = open_fashion_scenes(scene_set("mini"), 10, {});
  return data;
}

/// On the first pictures of the evaluation set, in batches.
std::vector<Detections> found(const std::string& kernel, std::size_t count, std::size_t batch) {
  const c10::InferenceMode no_gradients;
  RetinaNet model({.num_classes = 10,
                   .height = 128,
                   .width = 128,
                   .kernels = {{"conv-block", kernel}},
                   .architecture = mini_architecture()});
  load_weights(kHome / "workloads/detect/mini_retinanet.safetensors", model.parameters().by_name());
  std::vector<Detections> all;
  for (std::size_t first = 0; first < count; first += batch) {
    std::vector<at::Tensor> pictures;
    for (std::size_t i = first; i < std::min(first + batch, count); ++i) {
      pictures.push_back(load_sample(scenes().eval, i, false).image);
    }
    const std::vector<Detections> more = model.detect(pictures);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

/// Whether one of `pictures`' detections is that row of the golden file.
bool has(const Detections& picture, const std::vector<double>& row) {
  for (std::int64_t i = 0; i < picture.scores.size(0); ++i) {
    if (picture.labels[i].item<std::int64_t>() != static_cast<std::int64_t>(row[5])) continue;
    if (std::abs(picture.scores[i].item<double>() - row[4]) > 2e-5) continue;
    const at::Tensor box = at::tensor({row[0], row[1], row[2], row[3]}, at::kDouble);
    if ((picture.boxes[i].to(at::kDouble) - box).abs().max().item<double>() < 0.01) return true;
  }
  return false;
}

void check_pictures(std::size_t count, const std::vector<std::size_t>& batches) {
  const json golden = read_json_file(kHome / "tests/golden/detect.json").at("pictures");
  REQUIRE(golden.size() == scenes().eval.images.size());
  for (const char* kernel : {"reference", "custom"}) {
    for (const std::size_t batch : batches) {
      INFO(kernel << ", batch " << batch);
      const std::vector<Detections> pictures = found(kernel, count, batch);
      int ties = 0;  // a score or an overlap within rounding of its threshold
      for (std::size_t i = 0; i < count; ++i) {
        INFO("picture " << i);
        const json& expected = golden.at(i);
        if (pictures[i].scores.size(0) != expected.at("count")) {
          ++ties;
          continue;
        }
        const double sum = pictures[i].scores.to(at::kDouble).sum().item<double>();
        CHECK(sum == Approx(expected.at("score_sum").get<double>()).epsilon(1e-4).margin(1e-5));
        for (const json& row : expected.at("first")) CHECK(has(pictures[i], row));
      }
      CHECK(ties <= static_cast<int>(1 + count / 100));
    }
  }
}

}  // namespace

TEST_CASE("detect finds what PyTorch's modules find", "[detect]") { check_pictures(40, {1, 7}); }

TEST_CASE("detect finds what PyTorch's modules find, all pictures", "[.whole]") {
  check_pictures(400, {32});
}

TEST_CASE("an answer holds what was found, and nothing else is taken for one", "[detect]") {
  const Detections two{
      .boxes = at::tensor({1., 2., 3., 4., 5., 6., 7., 8.}, at::kFloat).view({2, 4}),
      .scores = at::tensor({0.75, 0.5}, at::kFloat),
      .labels = at::tensor({263, 0}, at::kLong)};
  const Detections none{at::empty({0, 4}), at::empty({0}), at::empty({0}, at::kLong)};
  const at::Tensor rows = as_rows({two, none});
  REQUIRE(rows.sizes() == at::IntArrayRef({2, kNumbersOfPicture}));
  const Detections back = from_row(rows[0]);
  CHECK(at::equal(back.boxes, two.boxes));
  CHECK(at::equal(back.scores, two.scores));
  CHECK(at::equal(back.labels, two.labels));
  CHECK(from_row(rows[1]).scores.size(0) == 0);
  for (const double count : {-1., 301., std::nan("")}) {
    at::Tensor wrong = rows[0].clone();
    wrong[0].fill_(count);
    CHECK_THROWS_WITH(from_row(wrong), Catch::Contains("detections"));
  }
  CHECK_THROWS_WITH(from_row(at::zeros({7})), Catch::Contains("detections"));
}

TEST_CASE("detect-full is MLPerf's model", "[detect][long]") {
  const TemporaryFolder folder;
  const std::string kernels = GENERATE("reference", "custom");
  const Outcome outcome = run_task("detect-full", folder.path(), {"--kernels", kernels});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const json result = read_json(only_file(folder.path(), ".json"));
  CHECK(result.at("/quality/metric"_json_pointer) == "golden-parity");
  CHECK(result.at("/quality/value"_json_pointer) <= 1.0);
  CHECK(result.at("/quality/checks"_json_pointer).size() > 50);
  CHECK(result.at("/cost/forward_flops"_json_pointer) == Approx(402e9).epsilon(0.01));
  // Non-maximum suppression has something to do: the answers' mean is far from that of zeros.
  for (const json& metric : result.at("metrics")) {
    if (metric.at("tag") == "loss.answer")
      CHECK(metric.at("/summary/median/center"_json_pointer) > 10);
  }
}

TEST_CASE("detect reaches the frozen mAP in fp32, and its target in bf16", "[detect][long]") {
  const TemporaryFolder folder;
  const std::string precision = GENERATE("fp32", "bf16");
  if (too_slow_here(precision)) return;
  const Outcome outcome = run_task("detect", folder.path(), {"--precision", precision});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const fs::path file = only_file(folder.path(), ".json");
  const json result = read_json(file);
  const json rules = read_json_file(kHome / "rules/detect.json");
  const double frozen = rules.at("/quality/fp32/value"_json_pointer);
  const double reached = result.at("/quality/value"_json_pointer);
  CHECK(std::abs(reached - frozen) <= (precision == "fp32" ? 5e-5 : 0.01));
  CHECK(result.at("/data/sha256"_json_pointer) ==
        rules.at("/quality/fp32/data_sha256"_json_pointer));
  CHECK(result.at("/cost/step_flops"_json_pointer) > 1e8);
  CHECK(run_harness({"validate", file.string()}).code == 0);
}
