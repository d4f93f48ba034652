// Models of somebody else's, made here, run by task files.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <c10/core/CPUAllocator.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "harness/base/hash.hpp"
#include "harness/base/steady.hpp"
#include "kernels/runtime/allocator.hpp"
#include "kernels/runtime/threads.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/own_model.hpp"
#include "tests/support/small_scenes.hpp"
#include "tests/support/text_lines.hpp"
#include "workloads/data/data_source.hpp"
#include "workloads/model/guard.hpp"
#include "workloads/model/own_program.hpp"

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
  const auto refused = [&](const fs::path& file, const char* what) {
    CHECK_THAT(own.refusal(), is_about(file.string(), {what}));
  };
  SECTION("another file") {
    own.task["model"]["sha256"] = std::string(64, '0');
    refused(own / "net.pt", "its SHA-256");
  }
  SECTION("missing") {
    fs::remove(own / "net.pt");
    refused(own / "net.pt", "No such file");
  }
  SECTION("cut short") {
    fs::resize_file(own / "net.pt", fs::file_size(own / "net.pt") - 100);
    own.task["model"]["sha256"] = sha256_of_file(own / "net.pt");
    refused(own / "net.pt", "no TorchScript");
  }
  SECTION("a reference that is another") {
    own.task["model"]["reference"] = {{"file", "net.pt"}, {"sha256", std::string(64, '0')}};
    refused(own / "net.pt", "its SHA-256");
  }
  SECTION("no package") {
    own.task["model"]["format"] = "aotinductor";
    refused("quality metric 'agreement' of the task", "\"reference\" in the task");
    own.task["model"]["reference"] = {{"file", "net.pt"},
                                      {"sha256", sha256_of_file(own / "net.pt")}};
    refused(own / "net.pt", "no package of AOTInductor");
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
      {"def forward(self, x):\n    return x.flatten(1)[:, 0:3]", "1x4"},
      {"def forward(self, x):\n    return (x, x)", "2 outputs"},
      {"def forward(self, x):\n    return 'text'", "String"},
      {"def forward(self, x):\n    return x @ x.flatten(1)", "failed"},
      {"def forward(self, x):\n    return (x.flatten(1) @ self.weight).to_sparse()", "sparse"},
      {"def forward(self, x, y):\n    return x", "failed"},
      {"def forward(self, x):\n    return torch.zeros([1 << 50])", "memory ran out"}};
  for (const Case& one : cases) {
    OwnModelRun own(one.code);
    INFO(one.code);
    own.check_refused(one.says);
  }
}

TEST_CASE("a model that asks for more memory than is left is refused, not killed", "[model]") {
  // A quarter of the machine's at a time, which the C library grants without a limit, and never
  // written to: without one the run ends well, and no memory is taken.
  const auto bytes = static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                     static_cast<std::int64_t>(::sysconf(_SC_PAGESIZE));
  OwnModelRun own("def forward(self, x):\n    held = [x]\n    for i in range(16):\n" +
                  ("        held.append(torch.empty([x.size(1) * " + std::to_string(bytes / 16)) +
                  " + i]))\n    return x.flatten(1) @ self.weight * (len(held) / len(held))");
  CHECK_THAT(own.refusal(1, {"--allocator", "system"}),
             is_about("model net.pt", {"memory ran out"}));
}

TEST_CASE("answers that are not finite make a result invalid, and a reference's no quality",
          "[model]") {
  OwnModelRun own("def forward(self, x):\n    return (x.flatten(1) @ self.weight) / 0 * 0");
  SECTION("its own") {
    CHECK(own.steps().code == 3);
    CHECK_THAT(own.result().at("/status/violations"_json_pointer).dump(),
               Catch::Contains("\"finite-loss.answer\""));
  }
  SECTION("the reference's") {
    own.task["model"]["reference"] = {{"file", "net.pt"},
                                      {"sha256", sha256_of_file(own / "net.pt")}};
    save_model(own / "right.pt");
    own.task["model"]["file"] = "right.pt";
    own.task["model"]["sha256"] = sha256_of_file(own / "right.pt");
    CHECK(own.steps().code == 3);
    CHECK(own.result().at("/quality/missing/value"_json_pointer) ==
          "not all answers of the reference are finite");
  }
}

TEST_CASE("a model that works on its input in place is refused", "[model]") {
  OwnModelRun own("def forward(self, x):\n    x.sub_(0.5)\n    return x.flatten(1) @ self.weight");
  own.check_refused("its input 0");
}

TEST_CASE("what a model prints is no part of the result", "[model]") {
  OwnModelRun own(
      "def forward(self, x):\n    print('hello', x.size(0))\n    return x.flatten(1) @ "
      "self.weight");
  const Outcome outcome = own.steps({"--json"});
  INFO(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(json::parse(outcome.out, nullptr, false).is_object());
  CHECK_THAT(outcome.err, HasLines({"*model: hello 1"}));
}

TEST_CASE("a model that fails later leaves an aborted result with what was measured", "[model]") {
  OwnModelRun own(
      "def forward(self, x):\n    assert float(x[0, 0, 0, 0]) < 0.95, 'too bright'\n"
      "    return x.flatten(1) @ self.weight");
  const Outcome outcome = own.run({"--steps", "50"});
  CHECK(refusal_in(outcome, 2).names("too bright"));
  const json result = own.result();
  CHECK(result.at("/status/state"_json_pointer) == "aborted");
  const json& metrics = result.at("metrics");
  const auto steps = std::find_if(metrics.begin(), metrics.end(),
                                  [](const json& one) { return one.at("tag") == "time.step"; });
  REQUIRE(steps != metrics.end());
  CHECK_FALSE(steps->at("samples").empty());
}

TEST_CASE("a model that does not come back is given up", "[model]") {
  OwnModelRun own(
      "def forward(self, x):\n    while bool(x.sum() > -1):\n        x = x + 1\n    return x");
  own.task["model"]["query_seconds"] = 0.5;
  own.check_refused("500.00 ms");
}

TEST_CASE("the time for an answer is that of a query, however many are asked for the quality",
          "[model]") {
  const TemporaryFolder folder;
  save_model(folder / "net.pt");
  std::atomic<int> given_up = 0;
  WorkloadContext context;
  context.model.emplace();
  context.model->query_seconds = 0.5;
  context.give_up = [&](const std::string&) { ++given_up; };
  kernels::set_threads(1);
  OwnProgram program(context, {folder / "net.pt", sha256_of_file(folder / "net.pt")}, "torchscript",
                     Script::kAsIs);
  const auto works_for_a_second = [] { std::this_thread::sleep_for(std::chrono::seconds(1)); };
  program.watch(16, works_for_a_second);
  CHECK(given_up == 0);
  program.watch(1, works_for_a_second);
  CHECK(given_up > 0);
}

TEST_CASE("a model that ends the process does not pass for a run that is done", "[model]") {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const auto give_up = [](const std::string& what) {
      std::_Exit(what == "model net: it ended the process" ? 42 : 43);
    };
    Guard guard("model net", give_up, steady_seconds);
    const Guard::Call call(guard, 100, "late");
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
  const auto refusal = [&] { return refusal_of([&] { program.run(inputs); }); };
  CHECK_THAT(refusal(), is_about("model net.pt", {"threads to 2"}));
  kernels::set_threads(1);
  c10::Allocator* const ours = at::getCPUAllocator();
  c10::SetCPUAllocator(c10::GetDefaultCPUAllocator(), 100);
  REQUIRE(at::getCPUAllocator() != ours);
  CHECK_THAT(refusal(), is_about("model net.pt", {"another allocator"}));
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
  const auto refused = [&](const char* what) {
    CHECK_THAT(own.refusal(), is_about((own / "samples.safetensors").string(), {what}));
  };
  SECTION("all right") {
    write_tensors(own / "samples.safetensors", held, {pictures, labels});
    CHECK(own.steps().code == 0);
    CHECK(own.result().at("/quality/value"_json_pointer) == 1);
    CHECK(own.result().at("/data/sha256"_json_pointer) ==
          sha256_of_file(own / "samples.safetensors"));
  }
  SECTION("a fifth wrong") {
    labels.narrow(0, 0, 6).add_(1).remainder_(4);
    write_tensors(own / "samples.safetensors", held, {pictures, labels});
    const Outcome outcome = own.steps();
    CHECK(outcome.code == 3);
    CHECK(own.result().at("/quality/value"_json_pointer) == Approx(0.8));
  }
  SECTION("labels that are no classes") {
    labels[0] = 4;
    write_tensors(own / "samples.safetensors", held, {pictures, labels});
    CHECK_THAT(own.refusal(), is_about("quality metric 'top-1' of the task", {"0 to 3"}));
  }
  SECTION("no labels") {
    write_tensors(own / "samples.safetensors", {held[0]}, {pictures});
    CHECK_THAT(own.refusal(),
               is_about("quality metric 'top-1' of the task", {"samples with labels"}));
  }
  SECTION("another shape") {
    write_tensors(own / "samples.safetensors", {{"input", DType::kFloat32, {15, 2, 8, 8}}},
                  {pictures});
    refused("float32 of 15x1x8x8");
  }
  SECTION("another name") {
    write_tensors(own / "samples.safetensors", {{"x", DType::kFloat32, {30, 1, 8, 8}}}, {pictures});
    refused("no tensor 'input'");
  }
  SECTION("not finite") {
    pictures[3][0][0][0].fill_(INFINITY);
    write_tensors(own / "samples.safetensors", held, {pictures, labels});
    refused("not finite");
  }
  SECTION("no file") { refused("does not exist"); }
}

TEST_CASE("a model that finds boxes is judged on a folder of the user's", "[model]") {
  if (real_source() == nullptr) return;
  OwnModelRun own("def forward(self, x):\n    return torch.zeros([x.size(0), 4, 6])");
  const DataSource scenes = open_fashion_scenes(tiny_set(), 10, {}, own / "cache");
  own.task["model"]["inputs"][0]["shape"] = {3, 32, 48};
  own.task["model"]["outputs"] = {{4, 6}};
  own.task["model"]["samples"] = {
      {"boxes", scenes.layout.root.string()}, {"preprocessing", "unit"}, {"classes", 10}};
  own.task["quality"] = {{"metric", "mAP"}, {"target", 0.1}};
  SECTION("none found") {
    const Outcome outcome = own.steps();
    INFO(outcome.err);
    CHECK(outcome.code == 3);
    CHECK(own.result().at("/quality/value"_json_pointer) == 0);
    CHECK(own.result().at("/data/sha256"_json_pointer).is_string());
  }
  SECTION("another metric") {
    own.task["quality"] = {{"metric", "top-1"}, {"target", 0.1}};
    CHECK(own.refusal().names("mAP"));
  }
  SECTION("no boxes") {
    own.task["model"]["outputs"] = {{24}};
    CHECK(own.refusal().names("[boxes, 6]"));
  }
  SECTION("no folder") {
    own.task["model"]["samples"]["boxes"] = "nowhere";
    CHECK_THAT(own.refusal().about, Catch::EndsWith("/nowhere"));
    CHECK(own.refusal().names("samples/boxes"));
  }
}
