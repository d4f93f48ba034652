// Segmentation: masks of the scenes, the decoder, and mean intersection over union.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <array>
#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "kernels/conv_chain/conv_chain.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/profile_of_null.hpp"
#include "tests/support/small_scenes.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/data/random.hpp"
#include "workloads/data/scene_generator.hpp"
#include "workloads/data/texture.hpp"
#include "workloads/inference/assets.hpp"
#include "workloads/segment/intersection.hpp"
#include "workloads/segment/masked_scenes.hpp"
#include "workloads/segment/segmenter.hpp"
#include "workloads/torch/training_state.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Pixel by pixel, class by class.
double slow_iou(const at::Tensor& truth, const at::Tensor& said, int classes) {
  const at::Tensor a = truth.to(at::kLong).contiguous();
  const at::Tensor b = said.to(at::kLong).contiguous();
  double sum = 0;
  int there = 0;
  for (int one = 0; one < classes; ++one) {
    std::int64_t both = 0;
    std::int64_t either = 0;
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      const bool in_a = a.const_data_ptr<std::int64_t>()[i] == one;
      const bool in_b = b.const_data_ptr<std::int64_t>()[i] == one;
      both += in_a && in_b ? 1 : 0;
      either += in_a || in_b ? 1 : 0;
    }
    if (either == 0) continue;
    sum += static_cast<double>(both) / static_cast<double>(either);
    ++there;
  }
  return sum / there;
}

double apart(const at::Tensor& got, const at::Tensor& wanted) {
  const at::Tensor exact = wanted.to(at::kDouble);
  return ((got.to(at::kDouble) - exact).norm() / exact.norm()).item<double>();
}

/// One number of a weight or a bias, to be looked at or moved.
at::Tensor one_of(const at::Tensor& tensor) {
  return tensor.dim() == 1 ? tensor[3] : tensor[1][2][tensor.size(2) / 2][tensor.size(3) / 2];
}

/// Maps of two pictures of that extent, as the backbone might give them.
BackboneMaps made_up_maps(std::int64_t height, std::int64_t width) {
  BackboneMaps maps;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    const std::int64_t by = 4 << i;
    maps[i] = at::randn({2, SegmentBackbone::kChannels[i], height / by, width / by})
                  .contiguous(at::MemoryFormat::ChannelsLast);
  }
  return maps;
}

}  // namespace

TEST_CASE("mean intersection over union is that of a count pixel by pixel", "[segment]") {
  at::manual_seed(1);
  const at::Tensor truth = at::randint(0, 4, {3, 9, 7}, at::kLong);
  const at::Tensor said = at::where(at::rand({3, 9, 7}).lt(0.6), truth, at::randint(0, 4, {1}));
  PixelCounts counts(5);  // class 4 is nowhere
  for (int i = 0; i < 3; ++i) counts.add(truth[i].to(at::kByte), said[i].to(at::kFloat));
  CHECK(counts.mean_iou() == Approx(slow_iou(truth, said, 5)).epsilon(1e-12));
  CHECK(counts.accuracy() == Approx(truth.eq(said).to(at::kDouble).mean().item<double>()));
  PixelCounts right(5);
  right.add(truth, truth);
  CHECK(right.mean_iou() == 1);
  CHECK(*segmentation_quality(right).value == 1);
  CHECK_FALSE(segmentation_quality(PixelCounts(5)).value);
  PixelCounts none(3);
  none.add(at::zeros({2}, at::kLong), at::ones({2}, at::kLong));
  CHECK(none.mean_iou() == 0);
}

TEST_CASE("pixels of no class are refused", "[segment]") {
  PixelCounts counts(3);
  const at::Tensor fine = at::zeros({2}, at::kLong);
  CHECK_THROWS_AS(counts.add(fine, at::zeros({3}, at::kLong)), std::invalid_argument);
  for (const double bad : {-1.0, 3.0, 0.5, std::nan(""), std::numeric_limits<double>::infinity()}) {
    CHECK_THROWS_AS(counts.add(fine, at::full({2}, bad, at::kDouble)), std::invalid_argument);
    CHECK_THROWS_AS(counts.add(at::full({2}, bad, at::kDouble), fine), std::invalid_argument);
  }
}

TEST_CASE("a mask says of each pixel what was drawn there", "[segment]") {
  const FashionMnist* source = real_source();
  if (source == nullptr) return;
  const SceneSet set = tiny_set();
  for (int index = 0; index < 6; ++index) {
    const Scene scene = compose_scene(*source, set, SceneSplit::kTrain, index);
    Image bare = make_image(set.width, set.height, "scene");
    // As the scene's own background: the first of its streams.
    paint_background(bare, CounterRandom(stream_key(kSceneGeneratorVersion, 0, index, 1)));
    REQUIRE(scene.mask.size() == static_cast<std::size_t>(set.width * set.height));
    std::vector<int> seen(scene.items.size());
    for (int y = 0; y < set.height; ++y) {
      for (int x = 0; x < set.width; ++x) {
        const std::size_t at = row_start(y, set.width) + static_cast<std::size_t>(x);
        const int said = scene.mask[at];
        bool drawn = false;
        for (std::size_t i = 0; i < scene.items.size(); ++i) {
          const SceneItem& item = scene.items[i];
          const bool within =
              x >= item.x && x < item.x + item.width && y >= item.y && y < item.y + item.height;
          if (within && item.label + 1 == said) {
            drawn = true;
            ++seen[i];
          }
        }
        CHECK(drawn == (said != 0));
        const auto* const pixel = scene.image.pixels.data() + 3 * at;
        const auto* const background = bare.pixels.data() + 3 * at;
        if (said == 0) CHECK(std::equal(pixel, pixel + 3, background));
      }
    }
    for (std::size_t i = 0; i < seen.size(); ++i) {
      INFO("scene " << index << ", item " << i);
      CHECK(seen[i] * 5 > scene.items[i].width * scene.items[i].height);
    }
  }
}

TEST_CASE("scenes with masks are the frozen scenes, the same each time", "[segment]") {
  if (real_source() == nullptr) return;
  const MaskedScenes scenes = compose_masked(tiny_set(), SceneSplit::kEval, {});
  CHECK(scenes.pictures.sizes() == at::IntArrayRef({3, 3, 64, 96}));
  CHECK(scenes.masks.sizes() == at::IntArrayRef({3, 64, 96}));
  CHECK(scenes.masks.max().item<int>() < kMaskClasses);
  CHECK(compose_masked(tiny_set(), SceneSplit::kEval, {}).sha256 == scenes.sha256);
  CHECK(compose_masked(tiny_set(), SceneSplit::kTrain, {}).sha256 != scenes.sha256);
  SceneSet other = tiny_set();
  other.frozen_eval.pixels = std::string(64, '0');
  CHECK_THROWS_WITH(compose_masked(other, SceneSplit::kEval, {}),
                    Catch::Contains("are not the frozen ones"));
  const at::Tensor prepared = prepared_scenes(scenes.pictures.narrow(0, 1, 1));
  const double red = scenes.pictures[1][0][5][7].item<int>();
  CHECK(prepared[0][0][5][7].item<double>() == Approx((red / 255 - 0.485) / 0.229).epsilon(1e-5));
}

TEST_CASE("the decoder's kernels give what its composition gives", "[segment]") {
  const at::NoGradGuard no_gradients;
  at::manual_seed(2);
  ParameterStore parameters = decoder_parameters(kMaskClasses);
  set_initial_values(parameters, 7);
  for (const Parameter& one : parameters.all()) {
    if (one.tensor.dim() == 1) parameters.set(one.name, at::randn(one.tensor.sizes()));
  }
  for (const auto& [height, width] : {std::pair{64, 96}, std::pair{16, 16}, std::pair{128, 48}}) {
    const BackboneMaps maps = made_up_maps(height, width);
    BackboneMaps exact;
    for (std::size_t i = 0; i < maps.size(); ++i) exact[i] = maps[i].to(at::kDouble);
    const at::Tensor wanted = decoder_logits(parameters, exact);
    REQUIRE(wanted.sizes() == at::IntArrayRef({2, kMaskClasses, height / 4, width / 4}));
    CHECK(apart(decoder_logits(parameters, maps), wanted) < 1e-6);
    for (const char* implementation : {"reference", "custom"}) {
      INFO(implementation << " " << height << "x" << width);
      const Decoder decoder(parameters, kernels::conv_chain_operator().get(implementation));
      const at::Tensor got = decoder.logits(maps);
      CHECK(apart(got, wanted) < 1e-5);
      CHECK(classes_of_pixels(got).sizes() == at::IntArrayRef({2, height, width}));
    }
  }
}

TEST_CASE("the decoder learns what its loss asks for", "[segment]") {
  ParameterStore parameters = decoder_parameters(kMaskClasses);
  set_initial_values(parameters, 7);
  at::manual_seed(3);
  const BackboneMaps maps = made_up_maps(32, 32);
  const at::Tensor logits = decoder_logits(parameters, maps);
  const at::Tensor masks = at::randint(0, kMaskClasses, {2, 32, 32}, at::kLong);
  at::cross_entropy_loss(full_extent(logits), masks).backward();
  // By differences in double precision.
  const auto loss_with = [&](const std::string& name, double more) {
    const at::NoGradGuard no_gradients;
    ParameterStore moved = decoder_parameters(kMaskClasses);
    for (const Parameter& one : parameters.all()) moved.set(one.name, one.tensor);
    one_of(moved.get(name)).add_(more);
    BackboneMaps exact;
    for (std::size_t i = 0; i < maps.size(); ++i) exact[i] = maps[i].to(at::kDouble);
    return at::cross_entropy_loss(full_extent(decoder_logits(moved, exact)), masks).item<double>();
  };
  for (const char* name : {"lateral4.weight", "lateral8.bias", "lateral16.weight", "smooth.bias",
                           "classifier.weight"}) {
    INFO(name);
    constexpr double kStep = 1.0 / 1024;
    const double slope = (loss_with(name, kStep) - loss_with(name, -kStep)) / (2 * kStep);
    CHECK(one_of(parameters.get(name).grad()).item<double>() ==
          Approx(slope).epsilon(0.02).margin(1e-5));
  }
}

TEST_CASE("initial values of the decoder hang on seed and name alone", "[segment]") {
  ParameterStore one = decoder_parameters(kMaskClasses);
  ParameterStore other = decoder_parameters(kMaskClasses);
  set_initial_values(one, 1);
  set_initial_values(other, 1);
  const at::Tensor weight = one.get("smooth.weight").detach();
  CHECK(at::equal(weight, other.get("smooth.weight").detach()));
  CHECK(weight.std().item<double>() == Approx(std::sqrt(2.0 / (64 * 9))).epsilon(0.02));
  CHECK(one.get("smooth.bias").abs().max().item<double>() == 0);
  set_initial_values(other, 2);
  CHECK_FALSE(at::equal(weight, other.get("smooth.weight").detach()));
}

TEST_CASE("steps of the training run, and their kernels are held to the composition",
          "[segment][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome = run_harness({"run", "--workload", "segment-train", "--tier", "quick",
                                       "--steps", "3", "--out", (folder / "out").string()});
  INFO(outcome.err << outcome.out);
  if (outcome.err.find("quickstart assets") != std::string::npos) return;
  REQUIRE(outcome.code == 0);
  const json result = read_json(only_file(folder / "out", ".json"));
  CHECK(result.at("/quality/metric"_json_pointer) == "parity");
  CHECK(result.at("/quality/value"_json_pointer) < 1);
  CHECK(result.at("/quality/value"_json_pointer) > 0);
}

TEST_CASE("segment answers as well as its decoder was trained to", "[segment][cli]") {
  const TemporaryFolder folder;
  const Outcome outcome = run_harness({"run", "--workload", "segment", "--steps", "4",
                                       "--batch-size", "3", "--out", (folder / "out").string()});
  INFO(outcome.err << outcome.out);
  if (outcome.err.find("quickstart assets") != std::string::npos) return;
  REQUIRE(outcome.code == 0);
  const json result = read_json(only_file(folder / "out", ".json"));
  // What the training's last evaluation says, of the same scenes.
  const json trained = read_json(fs::path(HARNESS_SOURCE_DIR) / "workloads/segment/decoder.json");
  CHECK(result.at("/data/sha256"_json_pointer) == trained.at("/data/sha256"_json_pointer));
  CHECK(result.at("/quality/value"_json_pointer).get<double>() ==
        Approx(trained.at("/quality/value"_json_pointer).get<double>()).margin(2e-4));
  // Other weights, which were not trained.
  ParameterStore parameters = decoder_parameters(kMaskClasses);
  save_weights(folder / "untrained.safetensors", parameters, {});
  const Outcome other = run_harness({"run", "--workload", "segment", "--steps", "4", "--set",
                                     "weights=" + (folder / "untrained.safetensors").string(),
                                     "--out", (folder / "other").string()});
  INFO(other.err << other.out);
  CHECK(other.code == 3);
  CHECK(read_json(only_file(folder / "other", ".json")).at("/quality/value"_json_pointer) < 0.2);
}
