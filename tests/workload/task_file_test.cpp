#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/workload/rules_file.hpp"
#include "harness/workload/task_file.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace harness;  // NOLINT(google-build-using-namespace)
using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Edit = std::function<void(json&)>;

json small_task() {
  return {{"summary", "Twice as much."},
          {"model",
           {{"file", "twice.pt"},
            {"sha256", std::string(64, 'a')},
            {"inputs", {{{"shape", {3, 2}}}}},
            {"outputs", {{6}}},
            {"samples", {{"drawn", 40}}}}}};
}

Rules load(const Edit& edit) {
  const TemporaryFolder folder;
  json task = small_task();
  edit(task);
  std::ofstream(folder / "task.json") << task;
  return load_task_file(folder / "task.json", home_folder(), scenario_infos());
}

std::string refusal(const Edit& edit) {
  try {
    load(edit);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a task says what is its own, and has the rest from rules/model.json", "[task]") {
  const Rules rules = load([](json& task) {
    task["tiers"]["quick"]["min_steps"] = 7;
    task["quality"]["target"] = 0.5;
    task["model"]["inputs"][0]["range"] = {-1, 1};
  });
  const Rules base = load_rules(home_folder(), "model", scenario_infos());
  CHECK(rules.workload == "model");
  CHECK(rules.file == "task.json");
  CHECK_FALSE(rules.mlperf_equivalent);
  CHECK(rules.tier("quick").min_steps == 7);
  CHECK(rules.tier("quick").warmup_steps == base.tier("quick").warmup_steps);
  CHECK(rules.tier("standard").in_scenario("server").key("latency_bound_ms") == 100);
  REQUIRE(rules.quality);
  CHECK(rules.quality->metric == "agreement");
  CHECK(rules.quality->target == 0.5);
  REQUIRE(rules.ablation);
  CHECK(rules.ablation->variants.size() == base.ablation->variants.size());
  REQUIRE(rules.model);
  CHECK(rules.model->program.file.filename() == "twice.pt");
  CHECK(rules.model->program.file.is_absolute());
  CHECK(rules.model->format == "torchscript");
  REQUIRE(rules.model->inputs.size() == 1);
  CHECK(rules.model->inputs[0].name == "input");
  CHECK(rules.model->inputs[0].shape == std::vector<std::int64_t>{3, 2});
  CHECK(rules.model->inputs[0].low == -1);
  CHECK(rules.model->outputs == std::vector<std::vector<std::int64_t>>{{6}});
  CHECK(rules.model->samples.drawn == 40);
  CHECK(rules.model->query_seconds == 60);
  CHECK_FALSE(base.model);
}

TEST_CASE("a task that trains has the rules of model-train, and no outputs", "[task]") {
  const Rules rules = load([](json& task) {
    task["model"].erase("outputs");
    task["model"]["training"] = {{"optimizer", "adam"}, {"learning_rate", 0.5}};
  });
  CHECK(rules.workload == "model-train");
  CHECK_FALSE(rules.quality);
  REQUIRE(rules.model->training);
  CHECK(rules.model->training->optimizer == "adam");
  CHECK(rules.model->training->learning_rate == 0.5);
  CHECK_THAT(refusal([](json& task) { task["model"]["training"] = json::object(); }),
             Catch::Contains("gives losses"));
  CHECK_THAT(refusal([](json& task) { task["model"].erase("outputs"); }),
             Catch::Contains("outputs are missing"));
  CHECK_THAT(refusal([](json& task) {
               task["model"].erase("outputs");
               task["model"]["training"] = {{"optimizer", "adam"}, {"momentum", 0.5}};
             }),
             Catch::Contains("/model/training/momentum: is for sgd"));
  CHECK_THAT(refusal([](json& task) {
               task["model"].erase("outputs");
               task["model"]["training"] = {{"learning_rate", 0}};
             }),
             Catch::Contains("/model/training/learning_rate"));
  const auto trained = [](const char* key, const json& value) {
    return refusal([&](json& task) {
      task["model"].erase("outputs");
      task["model"]["training"] = {{"learning_rate", 0.1}};
      task["model"][key] = value;
    });
  };
  CHECK_THAT(trained("reference", {{"file", "r.pt"}, {"sha256", std::string(64, 'c')}}),
             Catch::Contains("/model/reference: is for a model that answers"));
  CHECK_THAT(trained("file", "net.pt2"), Catch::Contains("AOTInductor cannot be trained"));
  CHECK_THAT(trained("batch", 4), Catch::Contains("/model/batch: is of a model that answers"));
}

TEST_CASE("a package of AOTInductor is known by its name", "[task]") {
  CHECK(load([](json& task) { task["model"]["file"] = "a.pt2"; }).model->format == "aotinductor");
  const Rules given = load([](json& task) {
    task["model"]["file"] = "a.pt2";
    task["model"]["format"] = "torchscript";
  });
  CHECK(given.model->format == "torchscript");
}

TEST_CASE("the hash of a task is of what is asked, not of who answers", "[task]") {
  const std::string hash = load([](json&) {}).sha256;
  CHECK(load([](json& task) {
          task["model"]["file"] = "other.pt2";
          task["model"]["sha256"] = std::string(64, 'b');
          task["model"]["query_seconds"] = 5;
          task["summary"] = "Another.";
        }).sha256 == hash);
  // Where a file lies is not what it holds, which has a hash of its own.
  const auto of_samples = [](const char* kind, const char* path, const char* reference) {
    return load([&](json& task) {
             task["model"]["inputs"][0]["shape"] = {3, 2, 2};
             task["model"]["samples"] = {{kind, path}};
             if (std::string(kind) == "pictures") {
               task["model"]["samples"]["preprocessing"] = "unit";
             }
             task["model"]["reference"] = {{"file", reference}, {"sha256", std::string(64, 'c')}};
           })
        .sha256;
  };
  CHECK(of_samples("tensors", "a", "r.pt") == of_samples("tensors", "../b", "x/r.pt"));
  CHECK(of_samples("pictures", "a", "r.pt") == of_samples("pictures", "b/a", "r.pt"));
  CHECK(of_samples("tensors", "a", "r.pt") != of_samples("pictures", "a", "r.pt"));
  const std::vector<Edit> edits = {
      [](json& task) { task["model"]["inputs"][0]["shape"] = {6}; },
      [](json& task) { task["model"]["samples"]["seed"] = 1; },
      [](json& task) { task["quality"]["target"] = 0.5; },
      [](json& task) { task["tiers"]["quick"]["min_steps"] = 7; },
      [](json& task) {
        task["model"]["reference"] = {{"file", "r.pt"}, {"sha256", std::string(64, 'c')}};
      }};
  for (const Edit& edit : edits) CHECK(load(edit).sha256 != hash);
}

TEST_CASE("a quality has the direction of its metric, and nothing of another metric's", "[task]") {
  const auto quality = [](const json& said) {
    return *load([&](json& task) { task["quality"] = said; }).quality;
  };
  const QualityRule error = quality({{"metric", "relative-error"}, {"target", 0.01}});
  CHECK(error.direction == Direction::kLower);
  CHECK_FALSE(error.highest);
  CHECK(quality({{"metric", "correlation"}, {"target", 0.9}}).direction == Direction::kHigher);
  CHECK(quality({{"target", 0.9}}).highest == 1);
  CHECK_THAT(refusal([](json& task) {
               task["quality"] = {{"metric", "relative-error"}};
             }),
             Catch::Contains("/quality"));
  CHECK_THAT(
      refusal([](json& task) {
        task["quality"] = {{"metric", "relative-error"}, {"direction", "higher"}, {"target", 1}};
      }),
      Catch::Contains("of relative-error lower is better"));
  CHECK_THAT(refusal([](json& task) {
               task["quality"] = {{"metric", "top1"}, {"target", 1}};
             }),
             Catch::Contains("'top1' is none of a model") && Catch::Contains("top-1"));
  CHECK_THAT(refusal([](json& task) {
               task["model"].erase("outputs");
               task["model"]["training"] = {{"learning_rate", 0.1}};
               task["quality"] = {{"metric", "top-1"}, {"target", 1}};
             }),
             Catch::Contains("none of a model that trains"));
}

TEST_CASE("lists and texts in place of objects are refused by the schema", "[task]") {
  for (const json& other : {json::array({1}), json("text"), json(7), json(false)}) {
    CAPTURE(other);
    CHECK_THAT(refusal([&](json& task) { task["model"] = other; }), Catch::Contains("/model"));
    CHECK_THAT(refusal([&](json& task) { task["model"]["samples"] = other; }),
               Catch::Contains("/model/samples"));
    CHECK_THAT(
        refusal([&](json& task) {
          task["model"]["samples"] = {{"boxes", "b"}, {"preprocessing", "unit"}, {"classes", 3}};
          task["quality"] = other;
        }),
        Catch::Contains("/quality"));
    CHECK_THAT(refusal([&](json& task) {
                 task["quality"] = {{"metric", other}};
               }),
               Catch::Contains("quality"));
  }
}

TEST_CASE("samples that lack what belongs to them are told what", "[task]") {
  const auto with = [](const json& samples, const json& quality) {
    return refusal([&](json& task) {
      task["model"]["inputs"][0]["shape"] = {3, 8, 8};
      task["model"]["outputs"] = {{4, 6}};
      task["model"]["samples"] = samples;
      task["quality"] = quality;
    });
  };
  const json map = {{"metric", "mAP"}, {"target", 0.5}};
  const json whole = {{"boxes", "b"}, {"preprocessing", "unit"}, {"classes", 3}};
  CHECK(with(whole, map) == "no error");
  CHECK_THAT(with({{"boxes", "b"}, {"classes", 3}}, map), Catch::Contains("comes 'preprocessing'"));
  CHECK_THAT(with({{"pictures", "b"}}, map), Catch::Contains("comes 'preprocessing'"));
  CHECK_THAT(with({{"boxes", "b"}, {"preprocessing", "unit"}}, map),
             Catch::Contains("comes 'classes'"));
  CHECK_THAT(with({{"boxes", "b"}, {"preprocessing", "imagenet"}, {"classes", 3}}, map),
             Catch::Contains("imagenet cuts pictures"));
  CHECK_THAT(with(whole, {{"metric", "agreement"}, {"target", 0.5}}),
             Catch::Contains("boxes are judged by mAP"));
  CHECK_THAT(refusal([](json& task) { task["model"]["inputs"][0]["type"] = "int64"; }),
             Catch::Contains("/model/inputs/0/range: is missing: drawn int64 needs one"));
  CHECK_THAT(refusal([](json& task) { task["model"]["format"] = "onnx"; }),
             Catch::Contains("docs/tasks.md"));
}

TEST_CASE("a task that makes no sense is refused with its place", "[task]") {
  struct Case {
    Edit edit;
    const char* says;
  };
  const auto model = [](const std::function<void(json&)>& edit) {
    return [edit](json& task) { edit(task["model"]); };
  };
  const std::vector<Case> cases = {
      {[](json& task) { task.erase("model"); }, "has no section 'model'"},
      {[](json& task) { task = json::array(); }, "has no section 'model'"},
      {[](json& task) { task["workload"] = "null"; }, "its field 'workload' says \"null\""},
      {[](json& task) { task["workload"] = 5; }, "its field 'workload' says 5"},
      {[](json& task) { task["quality"] = nullptr; }, "/quality: is null"},
      {[](json& task) { task["tiers"]["quick"]["seed"] = nullptr; }, "/tiers/quick/seed: is null"},
      {[](json& task) { task["modle"] = 1; }, "modle"},
      {[](json& task) { task["quality"]["target"] = 1.5; }, "/quality/target"},
      {model([](json& m) { m["sha256"] = "abc"; }), "/model/sha256"},
      {model([](json& m) { m.erase("sha256"); }), "sha256"},
      {model([](json& m) { m["format"] = "onnx"; }), "/model/format"},
      {model([](json& m) { m["inputs"] = json::array(); }), "/model/inputs"},
      {model([](json& m) { m["inputs"][0]["shape"] = {-1}; }), "/model/inputs/0/shape"},
      {model([](json& m) {
         m["inputs"][0]["shape"] = {1 << 20, 1 << 20};
       }),
       "/model/inputs/0/shape: more than"},
      {model([](json& m) {
         m["outputs"] = {{1 << 30}, {1 << 30}, {1}};
       }),
       "/model/outputs/2"},
      {model([](json& m) { m["inputs"][0]["type"] = "float16"; }), "/model/inputs/0/type"},
      {model([](json& m) {
         m["inputs"][0]["range"] = {1, 1};
       }),
       "/model/inputs/0/range: its end"},
      {model([](json& m) {
         m["inputs"][0] = {{"shape", {1}}, {"type", "int64"}, {"range", {0, 1.5}}};
       }),
       "int64 has whole numbers"},
      {model([](json& m) {
         m["inputs"][0] = {{"shape", {1}}, {"type", "uint8"}, {"range", {0, 256}}};
       }),
       "uint8 has 0 to 255"},
      {model([](json& m) { m["inputs"][0]["name"] = "labels"; }), "/model/inputs/0/name"},
      {model([](json& m) {
         m["inputs"] = {{{"shape", {1}}, {"name", "a"}}, {{"shape", {1}}, {"name", "a"}}};
       }),
       "/model/inputs/1/name"},
      {model([](json& m) {
         m["samples"] = {{"drawn", 0}};
       }),
       "/model/samples"},
      {model([](json& m) {
         m["samples"] = {{"drawn", 4}, {"tensors", "x"}};
       }),
       "/model/samples"},
      {model([](json& m) {
         m["samples"] = {{"pictures", "p"}, {"preprocessing", "unit"}};
       }),
       "/model/samples/pictures: is for a single input"},
      {model([](json& m) { m["batch"] = 0; }), "/model/batch"},
      {model([](json& m) { m["query_seconds"] = 0; }), "/model/query_seconds"}};
  for (const Case& one : cases) {
    const std::string said = refusal(one.edit);
    INFO(said);
    CHECK_THAT(said, Catch::Contains(one.says));
    CHECK(said.find('\n') == std::string::npos);
    CHECK(said.size() < 1500);
  }
}

TEST_CASE("rules and tasks are not taken for each other", "[task]") {
  const TemporaryFolder folder;
  std::ofstream(folder / "task.json") << small_task();
  const std::string task = (folder / "task.json").string();
  const auto says = [](const std::vector<std::string>& arguments) {
    const Outcome outcome = run_harness(arguments);
    CHECK(outcome.code == 1);
    CHECK(outcome.err.find('\n') == outcome.err.size() - 1);
    return outcome.err;
  };
  CHECK_THAT(says({"run", "--rules", task}), Catch::Contains("give it with --task"));
  CHECK_THAT(says({"run", "--task", (home_folder() / "rules/null.json").string()}),
             Catch::Contains("has no section 'model'") && Catch::Contains("--rules"));
  CHECK_THAT(says({"run", "--task", task, "--rules", task}), Catch::Contains("leave --rules out"));
  CHECK_THAT(says({"run", "--task", task, "--workload", "null"}),
             Catch::Contains("are for 'model'"));
  CHECK_THAT(says({"run", "--task", (folder / "none.json").string()}),
             Catch::Contains("none.json"));
}
