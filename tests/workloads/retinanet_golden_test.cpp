#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/result/tuning_file.hpp"
#include "kernels/convolution/convolution.hpp"
#include "kernels/runtime/threads.hpp"
#include "tests/support/fast_bf16.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_folder.hpp"
#include "workloads/retinanet/golden.hpp"
#include "workloads/retinanet/training.hpp"
#include "workloads/torch/tuning.hpp"

using namespace harness;
using namespace harness::workloads;

namespace {

std::filesystem::path golden(const std::string& name) {
  return std::filesystem::path(HARNESS_SOURCE_DIR) / "tests/golden" / name;
}

std::vector<std::string> failed(const std::vector<Check>& checks) {
  std::vector<std::string> names;
  for (const Check& check : checks) {
    if (!check.passed) names.push_back(check.name);
  }
  return names;
}

using Names = std::vector<std::string>;

GoldenSummary summary(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous().view(-1);
  GoldenSummary result{flat.sum().item<double>(), std::sqrt(flat.square().sum().item<double>())};
  for (int64_t i = 0; i < 6; ++i) {
    const int64_t index = (2 * i + 1) * flat.numel() / 12;
    result.samples.emplace_back(index, flat[index].item<double>());
  }
  return result;
}

// Makes `run` what is expected of `golden`: a case of our own, to alter one thing at a time.
void expect(GoldenCase& golden, const GoldenRun& run) {
  golden.classification_loss = run.classification_loss;
  golden.box_loss = run.box_loss;
  golden.classification_loss_after_adam = run.classification_loss_after_adam;
  golden.box_loss_after_adam = run.box_loss_after_adam;
  golden.anchors_per_image = run.anchors.size(0);
  golden.logits = summary(run.logits);
  golden.codes = summary(run.codes);
  golden.anchors = summary(run.anchors);
  for (auto& [name, gradient] : golden.gradients) gradient = summary(run.gradients.at(name));
  golden.matched.clear();
  golden.detections.clear();
  for (size_t i = 0; i < run.matched.size(); ++i) {
    const auto count = [&](const at::Tensor& mask) { return mask.sum().item<int64_t>(); };
    const at::Tensor& matched = run.matched[i];
    golden.matched.push_back({count(matched >= 0), count(matched == -1), count(matched == -2)});
    const Detections& found = run.detections[i];
    GoldenDetections detections{found.scores.size(0),
                                found.scores.to(at::kDouble).sum().item<double>()};
    for (int64_t k = 0; k < std::min<int64_t>(10, detections.count); ++k) {
      GoldenDetection detection{.score = found.scores[k].item<float>(),
                                .label = found.labels[k].item<int64_t>()};
      for (int64_t j = 0; j < 4; ++j) detection.box[j] = found.boxes[k][j].item<float>();
      detections.first.push_back(detection);
    }
    golden.detections.push_back(detections);
  }
}

GoldenCase small_case() {
  GoldenCase small = read_golden_file(golden("retinanet_b.json"));
  small.height = 64;
  small.width = 96;
  small.images.resize(2);
  return small;
}

GoldenTensor& tensor(GoldenCase& golden_case, const std::string& name) {
  const auto found = std::find_if(golden_case.tensors.begin(), golden_case.tensors.end(),
                                  [&](const GoldenTensor& t) { return t.name == name; });
  REQUIRE(found != golden_case.tensors.end());
  return *found;
}

/// How a file of this content is refused; nothing when it is taken.
ErrorParts refusal(const std::string& content) {
  const TemporaryFolder folder;
  const auto path = folder / "golden.json";
  std::ofstream(path) << content;
  return refusal_of([&] { read_golden_file(path); });
}

/// The place that is refused when a good file is damaged so.
std::string refused_at(const std::function<void(nlohmann::json&)>& damage) {
  auto document = nlohmann::json::parse(read_file(golden("retinanet_b.json"), 1 << 24));
  damage(document);
  const ErrorParts found = refusal(document.dump());
  CHECK((found.about.empty() || found.about.starts_with("golden file ")));
  return found.place();
}

}  // namespace

TEST_CASE("golden file a is verified in fp32", "[golden]") {
  const std::vector<Check> checks = verify_golden(golden("retinanet_a.json"), {}, "fp32");
  CHECK_THAT(failed(checks), Catch::Equals(Names{}));
  // Losses; logits and codes; anchors; matches, gradients; Adam; 23 lines of detections an image.
  CHECK(checks.size() == 2 + 4 + 4 + 2 * 3 + 2 * 78 + 2 + 2 * 23);
}

TEST_CASE("golden file b is verified in fp32: 10 classes, an image without boxes", "[golden]") {
  CHECK_THAT(failed(verify_golden(golden("retinanet_b.json"), {}, "fp32")), Catch::Equals(Names{}));
}

TEST_CASE("golden file a is verified in bf16", "[golden]") {
  CHECK_THAT(failed(verify_golden(golden("retinanet_a.json"), {}, "bf16")), Catch::Equals(Names{}));
}

TEST_CASE("golden file b is verified in bf16", "[golden]") {
  if (too_slow_here("bf16")) return;
  CHECK_THAT(failed(verify_golden(golden("retinanet_b.json"), {}, "bf16")), Catch::Equals(Names{}));
}

TEST_CASE("the answers of a golden file are verified in int8", "[golden][int8]") {
  GoldenCase b = read_golden_file(golden("retinanet_b.json"));
  for (const char* kernels : {"reference", "custom"}) {
    const KernelSet chosen = {{"conv-block", kernels}};
    const std::vector<Check> checks = verify_golden_answers(b, chosen, "int8");
    CHECK_THAT(failed(checks), Catch::Equals(Names{}));
    CHECK(checks.size() == 4 + 4);  // logits and codes; anchors
    const auto codes = std::find_if(checks.begin(), checks.end(), [](const Check& check) {
      return check.name == "bbox_regression.l2";
    });
    REQUIRE(codes != checks.end());
    CHECK(codes->error.value_or(0) > 1e-5);  // it is no fp32 in disguise
  }
  // Another model is found out.
  b.seed += 1;
  CHECK_THAT(failed(verify_golden_answers(b, {{"conv-block", "custom"}}, "int8")),
             Catch::VectorContains(std::string("bbox_regression.l2")));
  CHECK_THROWS_AS(verify_golden(golden("retinanet_b.json"), {}, "int8"), Error);
}

// Maps of the pyramid's top have 7x7 positions there, which a small picture does not give.
TEST_CASE("our kernels keep the tolerances at 800x800 with 264 classes", "[golden]") {
  GoldenCase full = read_golden_file(golden("retinanet_a.json"));
  full.height = full.width = 800;
  full.images.resize(1);
  expect(full, run_golden(full, {}, false));
  const KernelSet ours = {{"conv-block", "custom"}, {"focal-loss", "custom"}};
  const std::string instructions = kernels::onednn_instruction_set();
  // As a run has it: with the table of this machine, if there is one.
  const auto table = tuning_file(HARNESS_SOURCE_DIR, instructions);
  if (std::filesystem::exists(table)) use_tuning(load_tuning(table, HARNESS_SOURCE_DIR));
  CHECK_THAT(failed(compare_golden(full, run_golden(full, ours, false), "fp32")),
             Catch::Equals(Names{}));
  if (instructions.find("bf16") == std::string::npos && !instructions.ends_with("amx")) {
    SUCCEED("no convolution of ours in bf16 on this machine");
  } else {
    CHECK_THAT(failed(compare_golden(full, run_golden(full, ours, true), "bf16")),
               Catch::Equals(Names{}));
  }
  use_tuning({});
}

TEST_CASE("`verify` checks the kernels of the table that runs follow", "[golden]") {
  RetinaNetTraining training(TrainingSpec{});
  WorkloadContext context;
  context.kernels = {{"conv-block", "custom"}};
  context.threads = kernels::threads();
  context.allocator = "system";
  context.precision = "fp32";
  // Others ran in this process before.
  const auto calls = [](const std::string& kernel) {
    std::map<std::string, std::int64_t> of_problem;
    for (const KernelChoice& choice : kernel_choices()) {
      if (choice.pass == "backward_weights" && choice.kernel == kernel && choice.type == "f32") {
        of_problem[choice.problem] += choice.calls;
      }
    }
    return of_problem;
  };
  const auto failures = [&] {
    return failed(training.verify(golden("retinanet_b.json"), context));
  };
  auto before = calls("winograd-4x4");
  CHECK_THAT(failures(), Catch::Equals(Names{}));
  std::string problem;
  for (const auto& [one, count] : calls("winograd-4x4")) {
    if (count > before[one]) problem = one;
  }
  REQUIRE_FALSE(problem.empty());
  before = calls("winograd-6x6");
  context.tuning.lines[{problem, "f32", "backward_weights", context.threads}] = {"winograd-6x6",
                                                                                 {}};
  CHECK_THAT(failures(), Catch::Equals(Names{}));
  CHECK(calls("winograd-6x6")[problem] > before[problem]);
  use_tuning({});
}

TEST_CASE("verification fails on whatever is altered in the expected values", "[golden]") {
  GoldenCase good = small_case();
  const GoldenRun run = run_golden(good, {}, false);
  expect(good, run);
  REQUIRE_THAT(failed(compare_golden(good, run, "fp32")), Catch::Equals(Names{}));
  const auto altered = [&](const std::function<void(GoldenCase&)>& alter) {
    GoldenCase bad = good;
    alter(bad);
    return failed(compare_golden(bad, run, "fp32"));
  };
  CHECK(altered([](GoldenCase& c) { c.classification_loss *= 1 + 2e-5; }) ==
        Names{"classification_loss"});
  CHECK(altered([](GoldenCase& c) { c.box_loss = std::nan(""); }) == Names{"box_loss"});
  CHECK(altered([](GoldenCase& c) { c.logits.samples[3].second += 1e-3; }) ==
        Names{"cls_logits.samples"});
  CHECK(altered([](GoldenCase& c) { c.logits.l2 *= 1 + 2e-6; }) == Names{"cls_logits.l2"});
  CHECK(altered([](GoldenCase& c) { c.codes.samples[0].second -= 1e-4; }) ==
        Names{"bbox_regression.samples"});
  CHECK(altered([](GoldenCase& c) { c.anchors.samples[0].second += 1; }) ==
        Names{"anchors.samples"});
  CHECK(altered([](GoldenCase& c) { c.anchors.sum += 1; }) == Names{"anchors.sum"});
  CHECK(altered([](GoldenCase& c) { c.matched[0].foreground += 1; }) ==
        Names{"matched[0].foreground"});
  CHECK(altered([](GoldenCase& c) { c.matched[1].background -= 1; }) ==
        Names{"matched[1].background"});
  const std::string name = "backbone.body.layer2.0.conv1.weight";
  CHECK(altered([&](GoldenCase& c) { c.gradients.at(name).l2 *= 1.003; }) ==
        Names{"gradient." + name + ".l2"});
  CHECK(altered([&](GoldenCase& c) {
          GoldenSummary& gradient = c.gradients.at(name);
          gradient.samples[2].second += 0.06 * gradient.l2 / std::sqrt(256.0 * 256);
        }) == Names{"gradient." + name + ".samples"});
  CHECK(altered([](GoldenCase& c) { c.box_loss_after_adam *= 1.002; }) ==
        Names{"after_one_adam_step.box_loss"});
  CHECK(altered([](GoldenCase& c) { c.detections[0].count += 1; }) == Names{"detections[0].count"});
  CHECK(altered([](GoldenCase& c) { c.detections[0].score_sum *= 1 + 2e-5; }) ==
        Names{"detections[0].score_sum"});
  REQUIRE_FALSE(good.detections[0].first.empty());
  for (const auto& alter : std::vector<std::function<void(GoldenDetection&)>>{
           [](GoldenDetection& d) { d.box[2] += 0.02; },
           [](GoldenDetection& d) { d.score += 2e-5; },
           [](GoldenDetection& d) { d.label = (d.label + 1) % 10; }}) {
    CHECK(altered([&](GoldenCase& c) { alter(c.detections[0].first[0]); }) ==
          Names{"detections[0].first.found"});
  }
  // Equal scores may change places.
  CHECK(altered([](GoldenCase& c) {
          auto& first = c.detections[0].first;
          first[1].score = first[0].score;
          std::swap(first[0], first[1]);
        }).size() <= 1);
}

TEST_CASE("verification fails with other weights, in fp32 and bf16", "[golden]") {
  GoldenCase good = small_case();
  expect(good, run_golden(good, {}, false));
  GoldenCase one_more = good;
  tensor(one_more, "backbone.fpn.inner_blocks.1.bias").center += 1e-3;
  const Names names = failed(compare_golden(good, run_golden(one_more, {}, false), "fp32"));
  CHECK(std::count(names.begin(), names.end(), "cls_logits.l2") == 1);
  CHECK(std::count(names.begin(), names.end(), "classification_loss") == 1);

  CHECK_THAT(failed(compare_golden(good, run_golden(good, {}, true), "bf16")),
             Catch::Equals(Names{}));
  GoldenCase wrong = good;
  tensor(wrong, "backbone.body.layer3.2.conv2.weight").bound *= 1.5;
  CHECK_FALSE(failed(compare_golden(good, run_golden(wrong, {}, true), "bf16")).empty());
}

TEST_CASE("a case for another model is refused", "[golden]") {
  GoldenCase bad = small_case();
  tensor(bad, "head.regression_head.bbox_reg.bias").shape = {4};
  const auto about = [&] { return refused([&] { run_golden(bad, {}, false); }); };
  CHECK(about() == "golden tensor head.regression_head.bbox_reg.bias");
  bad = small_case();
  bad.tensors.pop_back();
  CHECK(about() == "golden file");
  bad.tensors[0].name = "backbone.body.conv7.weight";
  CHECK(about() == "golden tensor backbone.body.conv7.weight");
  CHECK(refused([] { verify_golden(golden("retinanet_b.json"), {}, "fp16"); }) ==
        "precision 'fp16'");
}

TEST_CASE("a golden file is taken for nothing but what it is", "[golden]") {
  using Json = nlohmann::json;
  CHECK(refused_at([](Json&) {}).empty());
  CHECK(refused([] { read_golden_file("/nonexistent.json"); }) == "/nonexistent.json");
  for (const char* content : {"", "{\"format\": ", "{\"format\": 1e999}", "[]"}) {
    CHECK_FALSE(refusal(content).about.empty());
  }
  CHECK(refusal(std::string(100000, '[')).names("deep"));
  const std::vector<std::pair<std::function<void(Json&)>, std::string>> cases = {
      {[](Json& j) { j["format"] = "retinanet-golden/2"; }, "format"},
      {[](Json& j) { j["case"]["num_classes"] = 1000000000; }, "case.num_classes"},
      {[](Json& j) { j["case"]["num_classes"] = "ten"; }, "case.num_classes"},
      {[](Json& j) {
         j["case"]["image_size"] = {320, -1};
       },
       "case.image_size[1]"},
      {[](Json& j) { j["case"]["images"] = Json::array(); }, "case.images"},
      {[](Json& j) { j["case"]["images"][0]["labels"][0] = 10; }, "case.images[0].labels[0]"},
      {[](Json& j) { j["case"]["images"][0]["labels"].push_back(1); }, "case.images[0].labels"},
      {[](Json& j) {
         j["case"]["images"][0]["boxes"][0] = {5, 5, 5, 9};
       },
       "case.images[0].boxes[0]"},
      {[](Json& j) { j["case"]["images"][0]["boxes"][0][0] = 1e30; }, "case.images[0].boxes[0][0]"},
      {[](Json& j) { j["case"]["trainable"].erase(0); }, "case.trainable"},
      {[](Json& j) { j["expected"]["cls_logits"]["samples"][0][0] = 1LL << 50; },
       "expected.cls_logits.samples[0][0]"},
      {[](Json& j) { j["expected"]["gradients"]["nothing"] = Json::object(); },
       "expected.gradients"},
      {[](Json& j) { j["expected"]["matched"].erase(0); }, "expected.matched"},
      {[](Json& j) { j["expected"]["box_loss"] = nullptr; }, "expected.box_loss"}};
  for (const auto& [damage, place] : cases) CHECK(refused_at(damage) == place);
  const auto good = Json::parse(read_file(golden("retinanet_b.json"), 1 << 24));
  auto lacking = good;
  lacking["case"].erase("seed");
  CHECK(refusal(lacking.dump()).names("case lacks 'seed'"));
  auto large = good;
  large["case"].update({{"image_size", {4096, 4096}}, {"num_classes", 4000}});
  CHECK(refusal(large.dump()).names("memory"));
}
