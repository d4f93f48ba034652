// Weights of a file in a model's tensors.
#include "workloads/torch/weights_loading.hpp"

#include <ATen/ATen.h>

#include <catch2/catch.hpp>
#include <limits>

#include "harness/base/error.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

std::map<std::string, at::Tensor> model() {
  return {{"backbone.body.conv1.weight",
           at::zeros({2, 3, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast)},
          {"backbone.body.bn1.bias", at::zeros({2})},
          {"head.bias", at::full({3}, 7.0)}};
}

void write_backbone(const std::filesystem::path& path, const std::vector<float>& bias) {
  std::vector<float> weight(24);
  for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<float>(i);
  write_zip_weights(path,
                    PickleWriter()
                        .state_dict({{"conv1.weight", "FloatStorage", "0", 24, 0, {2, 3, 2, 2}, {}},
                                     {"bn1.bias", "FloatStorage", "1", 2, 0, {2}, {}}})
                        .done(),
                    {raw_bytes(weight), raw_bytes(bias)});
}

}  // namespace

TEST_CASE("weights land in place, whatever the memory format", "[weights]") {
  const TemporaryFolder folder;
  write_backbone(folder / "w.pth", {0.5F, -0.5F});
  const auto tensors = model();
  at::Tensor weight = tensors.at("backbone.body.conv1.weight");
  weight.requires_grad_(true);
  const void* memory = weight.data_ptr();
  const WeightsReport report = load_weights(folder / "w.pth", tensors);
  CHECK(report.layout == "backbone");
  CHECK(report.loaded.size() == 2);
  CHECK(report.elements == 26);
  CHECK(weight.data_ptr() == memory);
  CHECK(weight.requires_grad());
  CHECK(weight.is_contiguous(at::MemoryFormat::ChannelsLast));
  CHECK(at::equal(weight.detach().flatten(), at::arange(24, at::kFloat)));
  CHECK(at::equal(tensors.at("backbone.body.bn1.bias"), at::tensor({0.5F, -0.5F})));
  CHECK(at::equal(tensors.at("head.bias"), at::full({3}, 7.0)));
}

TEST_CASE("a file that is refused leaves the model as it was", "[weights]") {
  const TemporaryFolder folder;
  write_backbone(folder / "w.pth", {0.5F, std::numeric_limits<float>::infinity()});
  const auto tensors = model();
  CHECK_THROWS_WITH(load_weights(folder / "w.pth", tensors), Catch::Contains("not finite"));
  CHECK(tensors.at("backbone.body.conv1.weight").abs().sum().item<float>() == 0);
  CHECK_THROWS_AS(load_weights(folder / "missing.pth", tensors), Error);
}
