// What a model of somebody else's may take: time, memory, and the same memory for each answer.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>

#include "harness/workload/registry.hpp"
#include "tests/support/own_model.hpp"
#include "workloads/model/guard.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)

TEST_CASE("a model is late by the time that its process had, not by the wall's", "[model]") {
  std::atomic<double> worked = 0;
  std::atomic<int> given_up = 0;
  Guard guard(
      "model",
      [&](const std::string& what) {
        if (what.find("late, it took 5") != std::string::npos) ++given_up;
      },
      [&] { return worked.load(); });
  const auto pass = [] { std::this_thread::sleep_for(std::chrono::milliseconds(700)); };
  const Guard::Call call(guard, 5, "late, it took");
  pass();
  CHECK(given_up == 0);
  worked = 4.9;
  pass();
  CHECK(given_up == 0);
  // A stop that is told a little late.
  worked = 5.1;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  worked = 4.9;
  pass();
  CHECK(given_up == 0);
  worked = 5.1;
  wait_until([&] { return given_up > 0; });
}

TEST_CASE("a model may answer in the same memory each time", "[model]") {
  OwnModelRun own;
  torch::jit::Module net("Net");
  at::manual_seed(3);
  net.register_parameter("weight", at::randn({64, 4}), false);
  net.register_buffer("answer", at::zeros({1, 4}));
  net.define(
      "def forward(self, x):\n    self.answer.copy_(x.flatten(1) @ self.weight)\n"
      "    return self.answer\n");
  net.save((own / "net.pt").string());
  own.task["model"]["sha256"] = sha256_of_file(own / "net.pt");
  own.task["model"]["batch"] = 1;
  const at::Tensor pictures = at::rand({30, 1, 8, 8});
  const at::Tensor labels = pictures.flatten(1).matmul(net.attr("weight").toTensor()).argmax(1);
  write_tensors(own / "samples.safetensors",
                {{"input", DType::kFloat32, {30, 1, 8, 8}}, {"labels", DType::kInt64, {30}}},
                {pictures, labels});
  own.task["model"]["samples"] = {{"tensors", "samples.safetensors"}};
  own.task["quality"] = {{"metric", "top-1"}, {"target", 0.9}};
  const Outcome outcome = own.steps();
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(own.result().at("/quality/value"_json_pointer) == 1);
}

TEST_CASE("the memory that a run needs counts no samples that there are not", "[model][detect]") {
  const OwnModelRun own;
  WorkloadContext context;
  context.home = HARNESS_SOURCE_DIR;
  const auto bytes = [&](const char* workload) {
    return WorkloadRegistry::instance().get(workload).create()->describe(context).peak_bytes;
  };
  // A folder of large pictures, nobody knows how many.
  ModelTask task;
  task.format = "torchscript";
  task.program = {own / "net.pt", ""};
  task.inputs = {{.name = "input", .shape = {3, 1024, 1024}}};
  task.outputs = {{4}};
  task.samples.pictures = "pictures";
  context.model = task;
  context.settings = {{"script", "as-is"}};
  CHECK(bytes("model") < 1e9);
  context.model->samples.drawn = 100;
  CHECK(bytes("model") > 1e9);
  // 64 scenes.
  context.settings = {{"weights", ""}};
  CHECK(bytes("detect-full") < 3e9);
  context.samples_in_memory = 1;
  CHECK(bytes("detect-full") < 2e9);
}

TEST_CASE("no tier measures the speed of one model and the quality of another", "[detect]") {
  WorkloadContext context;
  context.settings = {{"weights", "mine.pth"}};
  context.quality_metric = "golden-parity";
  const auto workload = WorkloadRegistry::instance().get("detect-full").create();
  CHECK_THROWS_WITH(workload->describe(context), Catch::StartsWith("--set weights=mine.pth: "));
  context.quality_metric = "mAP";
  CHECK_NOTHROW(workload->describe(context));
}
