// Models of somebody else's that give their losses, trained by task files.
#include <ATen/ATen.h>
#include <torch/csrc/jit/api/module.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/hash.hpp"
#include "tests/support/own_model.hpp"

using namespace harness;             // NOLINT(google-build-using-namespace)
using namespace harness::workloads;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

/// Classes of (N, 1, 8, 8) by a linear layer, its losses by name.
constexpr const char* kLosses = R"(
def forward(self, x, labels):
    scores = x.flatten(1) @ self.weight + self.bias
    picked = scores.gather(1, labels.unsqueeze(1)).squeeze(1)
    return {"class": (scores.logsumexp(1) - picked).mean(), "size": 0.001 * self.weight.square().sum()}
)";

void save_trained(const fs::path& file, const std::string& code, bool trains = true) {
  torch::jit::Module net("Net");
  at::manual_seed(3);
  net.register_parameter("weight", (at::randn({64, 4}) / 8).requires_grad_(trains), false);
  net.register_parameter("bias", at::zeros({4}).requires_grad_(trains), false);
  net.define(code + "\n");
  net.save(file.string());
}

double loss_of(const json& result, const std::string& name, bool last) {
  for (const json& metric : result.at("metrics")) {
    if (metric.at("tag") != "loss." + name) continue;
    const json& samples = metric.at("samples");
    return (last ? samples.back() : samples.front()).at("value");
  }
  return NAN;
}

}  // namespace

TEST_CASE("a model that gives its losses is trained", "[model]") {
  OwnModelRun own;
  save_trained(own / "net.pt", kLosses);
  const at::Tensor pictures = at::rand({40, 1, 8, 8});
  const at::Tensor labels = pictures.flatten(1).narrow(1, 0, 4).argmax(1);
  write_tensors(own / "samples.safetensors",
                {{"input", DType::kFloat32, {40, 1, 8, 8}}, {"labels", DType::kInt64, {40}}},
                {pictures, labels});
  own.task["model"].erase("outputs");
  own.task["model"]["sha256"] = sha256_of_file(own / "net.pt");
  own.task["model"]["samples"] = {{"tensors", "samples.safetensors"}};
  own.task["model"]["training"] = {{"optimizer", "sgd"}, {"learning_rate", 0.5}, {"momentum", 0.5}};
  SECTION("its losses fall") {
    if (GENERATE(false, true)) {
      own.task["model"]["training"] = {{"optimizer", "adam"}, {"learning_rate", 0.02}};
    }
    own.task["quality"] = {{"metric", "loss"}, {"direction", "lower"}, {"target", 1.0}};
    const Outcome outcome = own.run({"--steps", "60", "--batch-size", "16"});
    INFO(outcome.err << outcome.out);
    REQUIRE(outcome.code == 0);
    const json result = own.result();
    CHECK(result.at("/workload/name"_json_pointer) == "model-train");
    CHECK(loss_of(result, "total", true) < 0.8 * loss_of(result, "total", false));
    CHECK(loss_of(result, "class", true) + loss_of(result, "size", true) ==
          Approx(loss_of(result, "total", true)).epsilon(1e-5));
    CHECK(result.at("/quality/value"_json_pointer) < 1.0);
    CHECK(run_harness({"validate", only_file(own.out(), ".json").string()}).code == 0);
  }
  SECTION("without a target its loss is told") {
    CHECK(own.steps().code == 0);
    CHECK(own.result().at("/quality/metric"_json_pointer) == "loss");
  }
  SECTION("the first step is the one that SGD has") {
    own.task["model"]["training"] = {{"learning_rate", 0.1}};
    REQUIRE(own.run({"--steps", "1", "--batch-size", "40"}).code == 0);
    const json result = own.result();
    at::manual_seed(3);
    at::Tensor weight = (at::randn({64, 4}) / 8).requires_grad_(true);
    at::Tensor bias = at::zeros({4}).requires_grad_(true);
    for (int step = 0; step < 3; ++step) {  // two of them warm up
      const at::Tensor scores = pictures.flatten(1).matmul(weight) + bias;
      const at::Tensor picked = scores.gather(1, labels.unsqueeze(1)).squeeze(1);
      const at::Tensor loss = (scores.logsumexp(1) - picked).mean() + 0.001 * weight.square().sum();
      if (step == 2) CHECK(loss.item<double>() == Approx(loss_of(result, "total", true)));
      weight.mutable_grad().reset();
      bias.mutable_grad().reset();
      loss.backward();
      const at::NoGradGuard none;
      weight.sub_(0.1 * weight.grad());
      bias.sub_(0.1 * bias.grad());
    }
  }
  SECTION("bf16, profiled, with the optimiser's time by itself") {
    CHECK(own.steps({"--precision", "bf16"}).code == 0);
    CHECK_THAT(own.result().dump(), Catch::Contains("time.phase.optimizer"));
  }
  SECTION("what cannot be trained") {
    save_trained(own / "net.pt", kLosses, false);
    own.task["model"]["sha256"] = sha256_of_file(own / "net.pt");
    own.check_refused("gradient");
  }
  SECTION("no loss") {
    save_trained(own / "net.pt",
                 "def forward(self, x, labels):\n    return x.flatten(1) @ self.weight");
    own.task["model"]["sha256"] = sha256_of_file(own / "net.pt");
    own.check_refused("as a loss");
  }
  const auto refused = [&](const std::string& code, const char* what) {
    save_trained(own / "net.pt", "def forward(self, x, labels):\n    " + code);
    own.task["model"]["sha256"] = sha256_of_file(own / "net.pt");
    own.check_refused(what);
  };
  SECTION("losses by names that are taken") {
    refused("return {'total': self.weight.sum()}", "'total'");
    refused("return {'a b': self.weight.sum(), 'a_b': self.bias.sum()}", "both called a_b");
  }
  SECTION("too many losses, and others than at first") {
    refused(
        "all = {'a': self.weight.sum()}\n    for i in range(64):\n        all[str(i)] = "
        "self.bias.sum()\n    return all",
        "at most 64");
    save_trained(own / "net.pt",
                 "def forward(self, x, labels):\n"
                 "    return {'l' + str(int(labels[0])): self.weight.sum()}");
    own.task["model"]["sha256"] = sha256_of_file(own / "net.pt");
    // With another seed it may be found while it warms up.
    CHECK_THAT(own.refusal(2, {"--seed", "1"}), is_about("model net.pt", {"l1", "at first"}));
  }
  SECTION("a graph that cannot be walked back") {
    refused("y = self.weight.exp()\n    z = y.sum()\n    y.mul_(2)\n    return z + y.sum()",
            "failed");
  }
  SECTION("outputs") {
    own.task["model"]["outputs"] = {{4}};
    CHECK_THAT(own.refusal().about, Catch::EndsWith("/task.json"));
    CHECK(own.refusal().names("/model"));
  }
}
