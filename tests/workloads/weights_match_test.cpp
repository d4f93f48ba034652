// Which tensor of a weights file goes where in the model.
#include <catch2/catch.hpp>
#include <limits>

#include "tests/support/pickle_writer.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/checkpoint/weights_match.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

namespace {

using Names = std::vector<std::string>;

const std::vector<WeightSlot> kSlots = {
    {"head.cls_logits.bias", {2}},
    {"backbone.body.conv1.weight", {2, 1}},
    {"backbone.body.bn1.weight", {2}},
};

PickledTensor tensor(const std::string& name, std::vector<std::int64_t> shape,
                     const std::string& type = "FloatStorage") {
  const bool is_float = type == "FloatStorage";
  return {name, type, is_float ? "0" : "1", is_float ? 4 : 1, 0, std::move(shape), {}};
}

TensorFile file_of(const std::vector<PickledTensor>& tensors,
                   const std::vector<float>& values = {1, 2, 3, 4}) {
  const TemporaryFolder folder;
  write_zip_weights(folder / "w.pth", PickleWriter().state_dict(tensors).done(),
                    {raw_bytes(values), raw_bytes<std::int64_t>({5})});
  return TensorFile::open(folder / "w.pth");
}

}  // namespace

TEST_CASE("a full state dict maps one to one", "[weights]") {
  const TensorFile file = file_of(
      {tensor("backbone.body.conv1.weight", {2, 1}), tensor("backbone.body.bn1.weight", {2}),
       tensor("head.cls_logits.bias", {2}), tensor("ema", {1}),
       tensor("backbone.body.bn1.num_batches_tracked", {}, "LongStorage")});
  const WeightsMatch match = match_weights(file, kSlots);
  CHECK(match.report.layout == "full");
  CHECK(match.report.loaded ==
        Names{"backbone.body.bn1.weight", "backbone.body.conv1.weight", "head.cls_logits.bias"});
  CHECK(match.report.missing.empty());
  CHECK(match.report.unexpected == Names{"ema"});
  CHECK(match.report.ignored == Names{"backbone.body.bn1.num_batches_tracked"});
  CHECK(match.report.elements == 6);
  CHECK(match.report.artifact.details.at("loaded") == "3");
  CHECK(match.report.artifact.details.at("unexpected") == "1");
  REQUIRE(match.assignments.size() == 3);
  CHECK(kSlots[match.assignments[2].first].name == "head.cls_logits.bias");
  std::vector<float> values(2);
  read_weight(file, "conv1", *match.assignments[1].second, values);
  CHECK(values == std::vector<float>{1, 2});
}

TEST_CASE("a classifier's file fills the backbone and leaves the rest", "[weights]") {
  const TensorFile file =
      file_of({tensor("conv1.weight", {2, 1}), tensor("bn1.weight", {2}), tensor("fc.weight", {2}),
               tensor("fc.bias", {2}), tensor("bn1.num_batches_tracked", {}, "LongStorage")});
  const WeightsReport report = match_weights(file, kSlots).report;
  CHECK(report.layout == "backbone");
  CHECK(report.loaded == Names{"backbone.body.bn1.weight", "backbone.body.conv1.weight"});
  CHECK(report.missing == Names{"head.cls_logits.bias"});
  CHECK(report.ignored == Names{"bn1.num_batches_tracked", "fc.bias", "fc.weight"});
  CHECK(report.unexpected.empty());
  CHECK(report.summary() ==
        "loaded 2 of 3 tensors (backbone), 1 keep their initial values, 3 ignored");
}

TEST_CASE("files that do not fit the model are refused by name", "[weights]") {
  const std::vector<std::pair<std::vector<PickledTensor>, std::vector<const char*>>> cases = {
      {{tensor("x", {1}), tensor("y", {1})}, {"none of its 2 tensors", "x, y"}},
      {{tensor("conv1.weight", {2, 2}), tensor("bn1.weight", {2})},
       {"conv1.weight is 2x2 where the model has 2x1"}},
      {{tensor("conv1.weight", {2, 1})},
       {"1 of the model's 3 tensors", "backbone.body.bn1.weight"}},
      {{tensor("backbone.body.conv1.weight", {2, 1})},
       {"2 of the model's 3 tensors", "backbone.body.bn1.weight, head.cls_logits.bias"}}};
  for (const auto& [tensors, named] : cases) {
    const ErrorParts found =
        refusal_of([&, &held = tensors] { match_weights(file_of(held), kSlots); });
    CAPTURE(found);
    for (const char* what : named) CHECK(found.names(what));
  }
}

TEST_CASE("weights that are not finite are refused", "[weights]") {
  const TensorFile file = file_of({tensor("w", {4})}, {1, std::numeric_limits<float>::quiet_NaN(),
                                                       3, std::numeric_limits<float>::infinity()});
  std::vector<float> values(4);
  CHECK(refusal_of([&] {
          read_weight(file, "w", file.tensors().at("w"), values);
        }).names("w holds 2 values"));
}
