// Models of somebody else's, made here, run by task files.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <c10/core/CPUAllocator.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/hash.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/threads.hpp"
#include "tests/support/own_model.hpp"
#include "workloads/model/guard.hpp"
#include "workloads/model/own_program.hpp"
#include "workloads/model/samples.hpp"
#include "workloads/model/scores.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a model that nobody here knows gives a valid result by a task of ten lines", "[model]") {
  OwnModelRun own;
  const Outcome outcome = own.steps();
  INFO(outcome.err << outcome.out);
  REQUIRE(outcome.code == 0);
  const json result = own.result();
  CHECK(result.at("/status/state"_json_pointer) == "valid");
  CHECK(result.at("/workload/name"_json_pointer) == "model");
  CHECK(result.at("/workload/rules_file"_json_pointer) == "task.json");
  CHECK(result.at("/workload/division"_json_pointer) == "open");
  CHECK(result.at("/quality/metric"_json_pointer) == "agreement");
  CHECK(result.at("/quality/value"_json_pointer) == 1);
  CHECK(result.at("/settings/effective/model"_json_pointer) == sha256_of_file(own / "net.pt"));
  CHECK(run_harness({"validate", only_file(own.out(), ".json").string()}).code == 0);
  // The same task says the same again.
  const Outcome again = run_harness(
      {"run", "--from", only_file(own.out(), ".json").string(), "--out", (own / "again").string()});
  INFO(again.err);
  CHECK(again.code == 0);
}

TEST_CASE("a model runs frozen, in bf16, with a fixed batch and in LoadGen", "[model]") {
  OwnModelRun own;
  own.task["tiers"]["quick"] = {{"min_steps", 64}, {"min_seconds", 0.1}, {"warmup_steps", 2}};
  own.task["tiers"]["quick"]["scenarios"] = {
      {"single-stream", {{"min_seconds", 0.1}, {"search_seconds", 0}}}};
  own.task["quality"] = {{"metric", "relative-error"}, {"direction", "lower"}, {"target", 0.02}};
  SECTION("optimized") {
    CHECK(own.steps({"--set", "script=optimized"}).code == 0);
    CHECK(own.result().at("/quality/value"_json_pointer) < 1e-5);
  }
  SECTION("bf16") {
    CHECK(own.steps({"--precision", "bf16"}).code == 0);
    // It was bf16, and what it is held against was not.
    CHECK(own.result().at("/quality/value"_json_pointer) > 1e-4);
  }
  SECTION("batch") {
    own.task["model"]["batch"] = 3;
    CHECK(own.steps({"--batch-size", "7"}).code == 0);
    CHECK(own.result().at("/quality/value"_json_pointer) < 1e-5);
  }
  SECTION("LoadGen") {
    const Outcome outcome = own.run({"--scenario", "single-stream"});
    INFO(outcome.err << outcome.out);
    if (outcome.err.find("without LoadGen") != std::string::npos) return;
    CHECK(outcome.code == 0);
    CHECK(own.result().at("/workload/scenario"_json_pointer) == "single-stream");
  }
}

TEST_CASE("nothing of a model runs before its hash is checked", "[model]") {
  OwnModelRun own;
  SECTION("another file") {
    own.task["model"]["sha256"] = std::string(64, '0');
    CHECK_THAT(own.refusal(), Catch::Contains("is another file: its SHA-256 is"));
  }
  SECTION("missing") {
    fs::remove(own / "net.pt");
    CHECK_THAT(own.refusal(), Catch::Contains("net.pt"));
  }
  SECTION("cut short") {
    fs::resize_file(own / "net.pt", fs::file_size(own / "net.pt") - 100);
    own.task["model"]["sha256"] = sha256_of_file(own / "net.pt");
    CHECK_THAT(own.refusal(), Catch::Contains("is no TorchScript that LibTorch can load"));
  }
  SECTION("a reference that is another") {
    own.task["model"]["reference"] = {{"file", "net.pt"}, {"sha256", std::string(64, '0')}};
    CHECK_THAT(own.refusal(), Catch::Contains("is another file"));
  }
  SECTION("no package") {
    own.task["model"]["format"] = "aotinductor";
    CHECK_THAT(own.refusal(), Catch::Contains("is no package of AOTInductor"));
  }
  CHECK_FALSE(fs::exists(own.out()));
}

TEST_CASE("a model that fails, or gives what was not promised, ends the run", "[model]") {
  struct Case {
    const char* code;
    const char* says;
  };
  const std::vector<Case> cases = {
      {"def forward(self, x):\n    assert x.numel() < 0, 'no mood'\n    return x", "no mood"},
      {"def forward(self, x):\n    return x.flatten(1)[:, 0:3]", "its task says 1x4"},
      {"def forward(self, x):\n    return (x, x)", "gives 2 outputs, its task says 1"},
      {"def forward(self, x):\n    return 'text'", "gives a String, not tensors"},
      {"def forward(self, x):\n    return x @ x.flatten(1)", "failed:"},
      {"def forward(self, x):\n    return (x.flatten(1) @ self.weight) / 0 * 0", "answer"},
      {"def forward(self, x, y):\n    return x", "failed:"},
      {"def forward(self, x):\n    return torch.zeros([1 << 50])", "failed:"}};
  for (const Case& one : cases) {
    OwnModelRun own(one.code);
    const bool runs = std::string(one.says) == "answer";  // and is invalid
    const std::string said = own.refusal(runs ? 3 : 1);
    INFO(one.code << "\n" << said);
    CHECK_THAT(said + (runs ? own.result().dump() : ""), Catch::Contains(one.says));
  }
}

TEST_CASE("a model that fails later leaves an aborted result with what was measured", "[model]") {
  OwnModelRun own(
      "def forward(self, x):\n    assert float(x[0, 0, 0, 0]) < 0.95, 'too bright'\n"
      "    return x.flatten(1) @ self.weight");
  const Outcome outcome = own.run({"--steps", "50"});
  CHECK(outcome.code == 2);
  CHECK_THAT(outcome.err, Catch::Contains("too bright"));
  CHECK(own.result().at("/status/state"_json_pointer) == "aborted");
}

TEST_CASE("a model that does not come back is given up", "[model]") {
  OwnModelRun own(
      "def forward(self, x):\n    while bool(x.sum() > -1):\n        x = x + 1\n    return x");
  own.task["model"]["query_seconds"] = 0.5;
  CHECK_THAT(own.refusal(2), Catch::Contains("no answer within 500.00 ms"));
}

TEST_CASE("a model that ends the process does not pass for a run that is done", "[model]") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    Guard guard("model net", [](const std::string& what) {
      std::_Exit(what == "model net: it ended the process" ? 42 : 43);
    });
    const Guard::Call call(guard, 100);
    std::exit(0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 42);
}

TEST_CASE("a model that changes what was asked for is refused", "[model]") {
  const TemporaryFolder folder;
  save_model(folder / "net.pt");
  WorkloadContext context;
  context.model.emplace();
  const ProgramFile file{folder / "net.pt", sha256_of_file(folder / "net.pt")};
  kernels::set_threads(1);
  kernels::use_allocator("pooled");
  OwnProgram program(context, file, "torchscript", Script::kAsIs);
  const std::vector<at::Tensor> inputs{at::rand({2, 1, 8, 8})};
  CHECK(program.run(inputs).front().value.sizes() == at::IntArrayRef({2, 4}));
  kernels::set_threads(2);
  CHECK_THROWS_WITH(program.run(inputs), Catch::Contains("set the number of threads to 2"));
  kernels::set_threads(1);
  c10::Allocator* const ours = at::getCPUAllocator();
  c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), 100);
  const bool other = at::getCPUAllocator() != ours;
  if (other) CHECK_THROWS_WITH(program.run(inputs), Catch::Contains("put another allocator"));
  c10::SetCPUAllocator(ours, 100);
}

TEST_CASE("samples and labels from a file", "[model]") {
  OwnModelRun own;
  const at::Tensor pictures = at::rand({30, 1, 8, 8});
  at::Tensor labels = at::zeros({30}, at::kLong);
  const std::vector<SafeTensor> held = {{"input", DType::kFloat32, {30, 1, 8, 8}},
                                        {"labels", DType::kInt64, {30}}};
  own.task["model"]["samples"] = {{"tensors", "samples.safetensors"}};
  own.task["quality"] = {{"metric", "top-1"}, {"target", 0.9}};
  const torch::jit::Module net = [&] {
    torch::jit::Module made("Net");
    at::manual_seed(3);
    made.register_parameter("weight", at::randn({64, 4}), false);
    made.register_parameter("bias", at::randn({4}), false);
    return made;
  }();
  labels = (pictures.flatten(1).matmul(net.attr("weight").toTensor()) + net.attr("bias").toTensor())
               .argmax(1);
  SECTION("all right") {
    write_tensors(own / "samples.safetensors", held, {pictures, labels});
    CHECK(own.steps().code == 0);
    CHECK(own.result().at("/quality/value"_json_pointer) == 1);
    CHECK(own.result().at("/data/sha256"_json_pointer) ==
          sha256_of_file(own / "samples.safetensors"));
  }
  SECTION("a tenth wrong") {
    labels.narrow(0, 0, 6).add_(1).remainder_(4);
    write_tensors(own / "samples.safetensors", held, {pictures, labels});
    const Outcome outcome = own.steps();
    CHECK(outcome.code == 3);
    CHECK(own.result().at("/quality/value"_json_pointer) == Approx(0.8));
  }
  SECTION("no labels") {
    write_tensors(own / "samples.safetensors", {held[0]}, {pictures});
    CHECK_THAT(own.refusal(), Catch::Contains("needs samples with labels"));
  }
  SECTION("another shape") {
    write_tensors(own / "samples.safetensors", {{"input", DType::kFloat32, {15, 2, 8, 8}}},
                  {pictures});
    CHECK_THAT(own.refusal(), Catch::Contains("the model takes float32 of 15x1x8x8"));
  }
  SECTION("another name") {
    write_tensors(own / "samples.safetensors", {{"x", DType::kFloat32, {30, 1, 8, 8}}}, {pictures});
    CHECK_THAT(own.refusal(), Catch::Contains("has no tensor 'input'"));
  }
  SECTION("not finite") {
    pictures[3][0][0][0].fill_(INFINITY);
    write_tensors(own / "samples.safetensors", held, {pictures, labels});
    CHECK_THAT(own.refusal(), Catch::Contains("not finite"));
  }
  SECTION("no file") { CHECK_THAT(own.refusal(), Catch::Contains("samples.safetensors")); }
}

TEST_CASE("drawn samples hang on the seed and their place alone", "[model]") {
  ModelTask task;
  task.inputs = {
      {"a", {5, 3}, "float32", -2, 2}, {"b", {400}, "int64", 3, 6}, {"c", {9}, "uint8", 0, 255}};
  task.samples.drawn = 20;
  const WorkloadContext context;
  const auto all = open_samples(task, context);
  CHECK(all->count() == 20);
  const std::vector<at::Tensor> one = all->sample(7);
  REQUIRE(one.size() == 3);
  CHECK(one[0].sizes() == at::IntArrayRef({1, 5, 3}));
  CHECK(one[0].abs().max().item<float>() <= 2);
  CHECK(one[1].scalar_type() == at::kLong);
  CHECK(one[1].min().item<std::int64_t>() == 3);
  CHECK(one[1].max().item<std::int64_t>() == 6);
  CHECK(one[2].scalar_type() == at::kByte);
  CHECK(at::equal(one[0], open_samples(task, context)->sample(7)[0]));
  CHECK_FALSE(at::equal(one[0], all->sample(8)[0]));
  task.samples.seed = 1;
  CHECK_FALSE(at::equal(one[0], open_samples(task, context)->sample(7)[0]));
}

TEST_CASE("metrics of a model", "[model]") {
  const at::Tensor rows = at::tensor({1., 2., 9., 4., 3., 0.}, at::kFloat).view({3, 2});
  const at::Tensor labels = at::tensor({1., 0., 1.}, at::kDouble);
  ModelAnswers answers{rows, 2, labels, [&] { return rows * at::tensor({1.F, 0.F}); }};
  CHECK(*score_model("top-1", answers).value == Approx(2. / 3));
  // Of the reference (1, 0), (9, 0), (3, 0) the first value is always the largest.
  CHECK(*score_model("agreement", answers).value == Approx(2. / 3));
  CHECK(*score_model("relative-error", answers).value ==
        Approx(std::sqrt(4. + 16.) / std::sqrt(1. + 81. + 9.)));
  answers.labels = at::tensor({2., 18., 6.}, at::kDouble);
  CHECK(*score_model("correlation", answers).value == Approx(1));
  answers.labels = at::ones({3}, at::kDouble);
  CHECK_FALSE(score_model("correlation", answers).value);
  answers.rows = rows / 0;
  CHECK_FALSE(score_model("top-1", answers).value);
  CHECK_FALSE(metric_misfit("agreement", 1, false).empty());
  CHECK_FALSE(metric_misfit("top-1", 2, false).empty());
  CHECK(metric_misfit("relative-error", 1, false).empty());
}
