// The task classify against what PyTorch's own modules make of the same pictures
// (tests/oracle/classify_oracle.py), and end to end.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/json_reader.hpp"
#include "tests/support/fast_bf16.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/task_runs.hpp"
#include "workloads/classify/mobilenet_v2.hpp"
#include "workloads/classify/pictures.hpp"
#include "workloads/data/fashion_mnist.hpp"
#include "workloads/data/image.hpp"
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
                          kernels::conv_chain_operator().get(implementation));
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

/// The first pictures of the test set by both implementations, in batches of several sizes.
void check_pictures(std::int64_t count, const std::vector<std::int64_t>& batches) {
  const json expected = golden();
  const std::string chosen = expected.at("chosen");
  const std::vector<std::vector<double>> rows = expected.at("answers");
  for (const char* implementation : {"reference", "custom"}) {
    for (const std::int64_t batch : batches) {
      INFO(implementation << ", batch " << batch);
      const at::Tensor got = answers(implementation, count, batch);
      int ties = 0;
      for (std::int64_t i = 0; i < got.size(0); ++i) {
        const at::Tensor two = std::get<0>(got[i].topk(2));
        const char digit = static_cast<char>('0' + got[i].argmax().item<std::int64_t>());
        if ((two[0] - two[1]).item<double>() < 1e-4) {
          ++ties;
        } else if (digit != chosen.at(static_cast<std::size_t>(i))) {
          FAIL_CHECK("picture " << i << " is taken for " << digit);
        }
      }
      CHECK(ties < 5);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const at::Tensor row = at::tensor(rows[i], at::kFloat);
        CHECK((got[static_cast<std::int64_t>(i)] - row).abs().max().item<double>() < 2e-5);
      }
    }
  }
}

}  // namespace

TEST_CASE("classify answers as PyTorch's modules do", "[classify]") { check_pictures(70, {1, 7}); }

// Minutes on one thread. What the runs below reach is counted over all pictures as well.
TEST_CASE("classify answers as PyTorch's modules do, all pictures", "[.whole]") {
  check_pictures(10'000, {50});
}

TEST_CASE("classify is right about as many pictures as PyTorch, in fp32 to the picture",
          "[classify][long]") {
  const TemporaryFolder folder;
  const std::string precision = GENERATE("fp32", "bf16");
  if (too_slow_here(precision)) return;
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

TEST_CASE("photographs are scaled as Pillow and torchvision do", "[classify]") {
  const json file = read_json_file(kHome / "tests/golden/photographs.json");
  for (const json& expected : file.at("pictures")) {
    const int width = expected.at("width");
    const int height = expected.at("height");
    INFO(width << "x" << height);
    Image image = make_image(width, height, "made up");
    auto byte = image.pixels.begin();
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        for (int c = 0; c < 3; ++c) {
          *byte++ = static_cast<std::uint8_t>((7 * x + 13 * y + 50 * c + x * y / 31) % 256);
        }
      }
    }
    const at::Tensor mean = at::tensor({0.485, 0.456, 0.406}, at::kFloat).view({1, 3, 1, 1});
    const at::Tensor deviation = at::tensor({0.229, 0.224, 0.225}, at::kFloat).view({1, 3, 1, 1});
    const at::Tensor levels =
        ((prepared_photograph(image, "made up") * deviation + mean) * 255).contiguous().flatten();
    const at::Tensor ours =
        levels.slice(0, 0, levels.numel(), file.at("every").get<std::int64_t>());
    const std::vector<std::int64_t> listed = expected.at("levels");
    const at::Tensor theirs = at::tensor(listed, at::kLong).to(at::kFloat);
    REQUIRE(ours.numel() == theirs.numel());
    // Its weights are fixed-point numbers: that is one level here and there.
    const at::Tensor difference = (ours - theirs).abs();
    CHECK(difference.max().item<double>() <= 1.01);
    CHECK(difference.mean().item<double>() < 0.02);
  }
}

TEST_CASE("a picture that would not fit into memory once it is scaled is refused", "[classify]") {
  CHECK_THROWS_WITH(prepared_photograph(make_image(60'000, 1, "thin"), "thin.png"),
                    Catch::Contains("thin.png"));
}

TEST_CASE("classify takes a folder of ImageNet's classes", "[classify]") {
  const TemporaryFolder folder;
  Image image = make_image(300, 280, "made up");
  for (const char* name : {"3", "17", "999"}) {
    const fs::path place = folder / "data" / name;
    fs::create_directories(place);
    std::fill(image.pixels.begin(), image.pixels.end(), static_cast<std::uint8_t>(50));
    std::ofstream(place / "a.png", std::ios::binary) << encode_png(image);
  }
  const std::string data = (folder / "data").string();
  const Outcome outcome = run_task("classify", folder / "out", {"--data", data});
  INFO(outcome.err);
  REQUIRE(outcome.code == 0);
  const fs::path file = only_file(folder / "out", ".json");
  const json result = read_json(file);
  // One picture thrice, with three labels: at most one of them is right.
  CHECK(result.at("/quality/value"_json_pointer) <= 0.34);
  CHECK(result.at("/quality/details/top-5"_json_pointer) >=
        result.at("/quality/value"_json_pointer));
  // What fp32 reaches on other pictures is no target here.
  CHECK(result.at("/quality/target"_json_pointer).is_null());
  CHECK(result.at("/workload/division"_json_pointer) == "open");
  CHECK(result.at("/settings/effective/quality_target"_json_pointer).is_null());
  CHECK(run_harness({"validate", file.string()}).code == 0);
  // The same pictures, each asked for twice.
  REQUIRE(run_task("classify", folder / "twice", {"--data", data, "--set", "times-over=2"}).code ==
          0);
  const json twice = read_json(only_file(folder / "twice", ".json"));
  CHECK(twice.at("/quality/value"_json_pointer) == result.at("/quality/value"_json_pointer));
  CHECK(twice.at("/data/details/times_over"_json_pointer) == "2");
  for (const char* times : {"0", "1001", "x", "1.5", "-2"}) {
    const Outcome refused = run_task("classify", folder / "refused",
                                     {"--data", data, "--set", std::string("times-over=") + times});
    INFO(times << refused.err);
    CHECK(refused.code == 1);
    CHECK_THAT(refused.err, Catch::Contains("whole number from 1 to 1000"));
  }
  const Outcome missed =
      run_task("classify", folder / "missed", {"--data", data, "--quality-target", "0.5"});
  CHECK(missed.code == 3);
  std::ofstream(folder / "data" / "3" / "b.jpg") << "no picture at all";
  const Outcome broken = run_task("classify", folder / "broken", {"--data", data});
  CHECK(broken.code == 1);
  CHECK_THAT(broken.err, Catch::Contains("b.jpg"));
}

TEST_CASE("weights that are missing or others are refused with the way to get them", "[classify]") {
  check_refused_asset("classify", kWeights, assets_folder(kHome));
}
