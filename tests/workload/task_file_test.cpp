#include <catch2/catch.hpp>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/workload/rules_file.hpp"
#include "harness/workload/task_file.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/refusal.hpp"
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

ErrorParts refusal(const Edit& edit) {
  return refusal_of([&] { load(edit); });
}

/// The place in the file that is refused; empty when none is.
std::string refused_at(const Edit& edit) {
  const ErrorParts found = refusal(edit);
  CHECK((found.about.empty() || found.about.ends_with("/task.json")));
  return found.place();
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
  CHECK(refusal([](json& task) { task["model"]["training"] = json::object(); }).names("losses"));
  CHECK(refusal([](json& task) { task["model"].erase("outputs"); }).names("outputs are missing"));
  const auto trained = [](const json& training, const char* key = nullptr, const json& value = {}) {
    return refused_at([&](json& task) {
      task["model"].erase("outputs");
      task["model"]["training"] = training;
      if (key != nullptr) task["model"][key] = value;
    });
  };
  const json good = {{"learning_rate", 0.1}};
  CHECK(trained(good).empty());
  CHECK(trained({{"optimizer", "adam"}, {"momentum", 0.5}}) == "/model/training/momentum");
  CHECK(trained({{"learning_rate", 0}}) == "/model/training/learning_rate");
  CHECK(trained(good, "reference", {{"file", "r.pt"}, {"sha256", std::string(64, 'c')}}) ==
        "/model/reference");
  CHECK(trained(good, "file", "net.pt2") == "/model/training");
  CHECK(trained(good, "batch", 4) == "/model/batch");
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
  const auto at = [](const json& said) {
    return refused_at([&](json& task) { task["quality"] = said; });
  };
  CHECK(at({{"metric", "relative-error"}}) == "/quality");
  CHECK(at({{"metric", "relative-error"}, {"direction", "higher"}, {"target", 1}}) ==
        "/quality/direction");
  const ErrorParts unknown = refusal([](json& task) {
    task["quality"] = {{"metric", "top1"}, {"target", 1}};
  });
  CHECK(unknown.names("quality metric 'top1'"));
  CHECK(unknown.names("top-1"));
  CHECK(refusal([](json& task) {
          task["model"].erase("outputs");
          task["model"]["training"] = {{"learning_rate", 0.1}};
          task["quality"] = {{"metric", "top-1"}, {"target", 1}};
        }).names("quality metric 'top-1'"));
}

TEST_CASE("the quality of a tier, and of a scenario in it, is held to the same", "[task]") {
  for (const char* place : {"/tiers/quick/quality", "/tiers/quick/scenarios/offline/quality"}) {
    CAPTURE(place);
    const auto asked = [&](const json& quality) {
      return [place, quality](json& task) { task[json::json_pointer(place)] = quality; };
    };
    CHECK_THAT(refusal(asked({{"metric", "accuracy"}, {"direction", "higher"}, {"target", 0.9}})),
               is_at(place, {"quality metric 'accuracy'"}));
    const json worse = {{"metric", "relative-error"}, {"direction", "higher"}, {"target", 1}};
    CHECK(refused_at(asked(worse)) == std::string(place) + "/direction");
    CHECK(refused_at(asked({{"target", 0.5}})) == place);
    const Rules rules = load(asked({{"metric", "relative-error"}, {"target", 0.01}}));
    const Rules offline = rules.in_tier("quick", "offline");
    REQUIRE(offline.quality);
    CHECK(offline.quality->metric == "relative-error");
    CHECK(offline.quality->direction == Direction::kLower);
    CHECK(rules.quality->metric == "agreement");
  }
}

TEST_CASE("lists and texts in place of objects are refused by the schema", "[task]") {
  for (const json& other : {json::array({1}), json("text"), json(7), json(false)}) {
    CAPTURE(other);
    CHECK(refused_at([&](json& task) { task["model"] = other; }) == "/model");
    CHECK(refused_at([&](json& task) { task["model"]["samples"] = other; }) == "/model/samples");
    CHECK(refused_at([&](json& task) {
            task["model"]["samples"] = {{"boxes", "b"}, {"preprocessing", "unit"}, {"classes", 3}};
            task["quality"] = other;
          }) == "/quality");
    CHECK(refusal([&](json& task) { task["quality"] = {{"metric", other}}; }).names("quality"));
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
  CHECK(with(whole, map).about.empty());
  for (const auto& [samples, lacking] : std::vector<std::pair<json, const char*>>{
           {{{"boxes", "b"}, {"classes", 3}}, "'preprocessing'"},
           {{{"pictures", "b"}}, "'preprocessing'"},
           {{{"boxes", "b"}, {"preprocessing", "unit"}}, "'classes'"},
           {{{"boxes", "b"}, {"preprocessing", "imagenet"}, {"classes", 3}}, "imagenet"}}) {
    CHECK_THAT(with(samples, map), is_at("/model/samples", {lacking}));
  }
  CHECK_THAT(with(whole, {{"metric", "agreement"}, {"target", 0.5}}), is_at("/quality", {"mAP"}));
  CHECK(refused_at([](json& task) { task["model"]["inputs"][0]["type"] = "int64"; }) ==
        "/model/inputs/0/range");
  CHECK(refusal([](json& task) { task["model"]["format"] = "onnx"; }).names("docs/tasks.md"));
}

TEST_CASE("a task that makes no sense is refused with its place", "[task]") {
  struct Case {
    Edit edit;
    std::string place;
    const char* names = "";  // where the place does not say it all
  };
  const auto model = [](const std::function<void(json&)>& edit) {
    return [edit](json& task) { edit(task["model"]); };
  };
  const std::vector<Case> cases = {
      {[](json& task) { task.erase("model"); }, "is", "section 'model'"},
      {[](json& task) { task = json::array(); }, "is", "section 'model'"},
      {[](json& task) { task["workload"] = "null"; }, "its", "field 'workload' says \"null\""},
      {[](json& task) { task["workload"] = 5; }, "its", "field 'workload' says 5"},
      {[](json& task) { task["quality"] = nullptr; }, "/quality"},
      {[](json& task) { task["tiers"]["quick"]["seed"] = nullptr; }, "/tiers/quick/seed"},
      {[](json& task) { task["modle"] = 1; }, "breaks", "'modle'"},
      {[](json& task) { task["quality"]["target"] = 1.5; }, "/quality/target"},
      {model([](json& m) { m["sha256"] = "abc"; }), "/model/sha256"},
      {model([](json& m) { m.erase("sha256"); }), "/model", "sha256"},
      {model([](json& m) { m["format"] = "onnx"; }), "/model/format"},
      {model([](json& m) { m["inputs"] = json::array(); }), "/model/inputs"},
      {model([](json& m) { m["inputs"][0]["shape"] = {-1}; }), "/model/inputs/0/shape/0"},
      {model([](json& m) {
         m["inputs"][0]["shape"] = {1 << 20, 1 << 20};
       }),
       "/model/inputs/0/shape", "2147483648"},
      {model([](json& m) {
         m["outputs"] = {{1 << 30}, {1 << 30}, {1}};
       }),
       "/model/outputs/2"},
      {model([](json& m) { m["inputs"][0]["type"] = "float16"; }), "/model/inputs/0/type"},
      {model([](json& m) {
         m["inputs"][0]["range"] = {1, 1};
       }),
       "/model/inputs/0/range", "end"},
      {model([](json& m) {
         m["inputs"][0] = {{"shape", {1}}, {"type", "int64"}, {"range", {0, 1.5}}};
       }),
       "/model/inputs/0/range", "int64"},
      {model([](json& m) {
         m["inputs"][0] = {{"shape", {1}}, {"type", "uint8"}, {"range", {0, 256}}};
       }),
       "/model/inputs/0/range", "0 to 255"},
      {model([](json& m) { m["inputs"][0]["name"] = "labels"; }), "/model/inputs/0/name"},
      {model([](json& m) {
         m["inputs"] = {{{"shape", {1}}, {"name", "a"}}, {{"shape", {1}}, {"name", "a"}}};
       }),
       "/model/inputs/1/name"},
      {model([](json& m) {
         m["samples"] = {{"drawn", 0}};
       }),
       "/model/samples/drawn"},
      {model([](json& m) {
         m["samples"] = {{"drawn", 4}, {"tensors", "x"}};
       }),
       "/model/samples"},
      {model([](json& m) {
         m["samples"] = {{"pictures", "p"}, {"preprocessing", "unit"}};
       }),
       "/model/samples/pictures", "[3, H, W]"},
      {model([](json& m) { m["batch"] = 0; }), "/model/batch"},
      {model([](json& m) { m["query_seconds"] = 0; }), "/model/query_seconds"}};
  for (const Case& one : cases) {
    const ErrorParts found = refusal(one.edit);
    CAPTURE(found);
    CHECK(found.about.ends_with("/task.json"));
    CHECK_THAT(found, is_at(one.place, {one.names}));
  }
}

TEST_CASE("rules and tasks are not taken for each other", "[task]") {
  const TemporaryFolder folder;
  std::ofstream(folder / "task.json") << small_task();
  const std::string task = (folder / "task.json").string();
  const std::string rules = (home_folder() / "rules/null.json").string();
  const std::string none = (folder / "none.json").string();
  check_one_error(run_harness({"run", "--rules", task}), 1, task + ": is a task");
  check_one_error(run_harness({"run", "--task", rules}), 1, rules + ": is no task");
  check_one_error(run_harness({"run", "--task", task, "--rules", task}), 1, "leave --rules out");
  check_one_error(run_harness({"run", "--task", task, "--workload", "null"}), 1,
                  "--workload null: ");
  check_one_error(run_harness({"run", "--task", none}), 1, none + ": ");
}
