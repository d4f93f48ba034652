// The task classify against what PyTorch's own modules make of the same pictures
// (tests/oracle/classify_oracle.py), and end to end.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/json_reader.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/task_runs.hpp"
#include "workloads/classify/mobilenet_v2.hpp"
#include "workloads/classify/pictures.hpp"
#include "workloads/data/fashion_mnist.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/torch/weights_loading.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

constexpr const char* kWeights = "mobilenet_v2-b0353104.pth";
const fs::path kHome = HARNESS_SOURCE_DIR;

json golden() { return read_json_file(kHome / "tests/golden/classify.json"); }

/// Answers to the first pictures of the test set, in batches.
at::Tensor answers(const char* implementation, std::int64_t count, std::int64_t batch) {
  const c10::InferenceMode no_gradients;
  const MobileNetV2 model(find_asset(kWeights, kHome),
                          kernels::conv_block_operator().get(implementation));
  const at::Tensor weight = at::empty({10, MobileNetV2::kFeatures});
  const at::Tensor bias = at::empty({10});
  load_weights(kHome / "workloads/classify/fashion_mnist_head.safetensors",
               {{"weight", weight}, {"bias", bias}});
  const FashionMnist data = read_fashion_mnist(fashion_mnist_folder());
  std::vector<at::Tensor> all;
  for (std::int64_t first = 0; first < count; first += batch) {
    std::vector<at::Tensor> pictures;
    for (std::int64_t i = first; i < std::min(first + batch, count); ++i) {
      pictures.push_back(prepared_picture(data.test.picture(static_cast<std::size_t>(i))));
    }
    all.push_back(at::addmm(bias, model.features(at::cat(pictures)), weight.t()));
  }
  return at::cat(all);
}

}  // namespace

TEST_CASE("classify answers as PyTorch's modules do", "[classify]") {
  const json expected = golden();
  const std::string chosen = expected.at("chosen");
  for (const char* implementation : {"reference", "custom"}) {
    for (const std::int64_t batch : {1, 7}) {
      INFO(implementation << ", batch " << batch);
      const at::Tensor got = answers(implementation, 70, batch);
      for (std::int64_t i = 0; i < got.size(0); ++i) {
        const at::Tensor two = std::get<0>(got[i].topk(2));
        const bool tie = (two[0] - two[1]).item<double>() < 1e-4;
        const char digit = static_cast<char>('0' + got[i].argmax().item<std::int64_t>());
        CHECK((tie || digit == chosen.at(static_cast<std::size_t>(i))));
      }
      const std::vector<std::vector<double>> rows = expected.at("answers");
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const at::Tensor row = at::tensor(rows[i], at::kFloat);
        CHECK((got[static_cast<std::int64_t>(i)] - row).abs().max().item<double>() < 2e-5);
      }
    }
  }
}

TEST_CASE("classify is right about as many pictures as PyTorch, in fp32 to the picture",
          "[classify][long]") {
  const TemporaryFolder folder;
  const std::string precision = GENERATE("fp32", "bf16");
  const Outcome outcome = run_task("classify", folder.path(), {"--precision", precision});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const fs::path file = only_file(folder.path(), ".json");
  const json result = read_json(file);
  const double share = result.at("/quality/value"_json_pointer);
  const double expected = golden().at("right").get<double>() / 10'000;
  CHECK(std::abs(share - expected) <= (precision == "fp32" ? 1e-4 : 5e-3));
  CHECK(result.at("/data/sha256"_json_pointer).is_string());
  CHECK(result.at("/cost/step_flops"_json_pointer) > 1e8);
  CHECK(run_harness({"validate", file.string()}).code == 0);
}

TEST_CASE("weights that are missing or others are refused with the way to get them", "[classify]") {
  check_refused_asset("classify", kWeights, assets_folder(kHome));
}
