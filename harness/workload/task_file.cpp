#include "harness/workload/task_file.hpp"

#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/base/files.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"
#include "harness/workload/model_task.hpp"
#include "harness/workload/rules_file.hpp"

namespace harness {
namespace {

using nlohmann::json;

namespace fs = std::filesystem;

/// Where in `value` there is a null, as a pointer; empty where there is none.
std::string null_in(const json& value) {
  if (value.is_null()) return "/";
  if (!value.is_structured()) return {};
  for (const auto& [key, inner] : value.items()) {
    const std::string found = null_in(inner);
    if (!found.empty()) return "/" + key + (found == "/" ? "" : found);
  }
  return {};
}

/// What lies at `outer`/`inner`; null where one of them is no object that has it.
json at(const json& document, const char* outer, const char* inner) {
  const auto member = [](const json& value, const char* key) {
    return value.is_object() ? value.value(key, json()) : json();
  };
  return member(member(document, outer), inner);
}

/// What the schema would only call an unknown field: it knows four kinds of samples, and none that
/// lacks a field of its own.
void check_samples(const json& own, const std::string& name) {
  const json samples = at(own, "model", "samples");
  if (!samples.is_object()) return;
  const auto refuse = [&](const std::string& why) {
    throw Error(name, "/model/samples: " + why,
                "mend the file; docs/tasks.md describes each field");
  };
  const bool boxes = samples.contains("boxes");
  if (!boxes && !samples.contains("pictures")) return;
  const std::string kind = boxes ? "boxes" : "pictures";
  if (!samples.contains("preprocessing")) refuse("with '" + kind + "' comes 'preprocessing'");
  if (!boxes) return;
  if (!samples.contains("classes")) refuse("with 'boxes' comes 'classes', how many there are");
  if (samples.at("preprocessing") == "imagenet")
    refuse("imagenet cuts pictures, and boxes with them");
  if (at(own, "quality", "metric") == "mAP") return;
  throw Error(name, "/quality: boxes are judged by mAP",
              R"("quality": {"metric": "mAP", "target": ...} in the task)");
}

/// What the metric that is asked for implies, where the file does not say it. Throws Error for one
/// that no model has. `where` is the place of `quality` in the file.
void complete_quality(json& quality, const json& metric, bool trains, const std::string& where,
                      const std::string& name) {
  if (!metric.is_string()) return;  // the schema says so
  const auto& known = model_metrics(trains);
  const auto found = known.find(metric.get<std::string>());
  if (found == known.end()) {
    std::vector<std::string> names;
    for (const auto& [one, direction] : known) names.push_back(one);
    throw Error(name,
                where + ": quality metric '" + printable(metric.get<std::string>(), 60) +
                    "' is none of a model" + (trains ? " that trains" : ""),
                did_you_mean(metric.get<std::string>(), names));
  }
  const std::string direction = found->second == Direction::kLower ? "lower" : "higher";
  if (quality.value("direction", json(direction)) != direction) {
    throw Error(name, where + "/direction: of " + found->first + " " + direction + " is better",
                "leave it out");
  }
  quality["direction"] = direction;
}

/// The quality of the file, or of the tier or scenario that `part` is, and all within it. `usual`
/// is the metric where none is named.
void complete_qualities(json& part, const json& usual, bool trains, const std::string& where,
                        const std::string& name) {
  if (!part.is_object()) return;
  if (part.contains("quality") && part.at("quality").is_object()) {
    json& quality = part.at("quality");
    complete_quality(quality, quality.value("metric", usual), trains, where + "/quality", name);
  }
  for (const char* inner : {"tiers", "scenarios"}) {
    if (!part.contains(inner) || !part.at(inner).is_object()) continue;
    for (auto& [key, value] : part.at(inner).items()) {
      complete_qualities(value, json(), trains, where + "/" + inner + "/" + printable(key, 64),
                         name);
    }
  }
}

/// Of what is asked of a model: neither the model that answers, nor where files lie whose content
/// has a hash of its own, nor how long an answer is waited for.
std::string hash_of(json document) {
  document.erase("summary");
  json& model = document.at("model");
  for (const char* key : {"file", "sha256", "format", "query_seconds"}) model.erase(key);
  if (model.contains("reference")) model.at("reference").erase("file");
  // Of pictures with boxes the annotations alone may be hashed: there the path stays.
  for (const char* key : {"tensors", "pictures"}) {
    if (model.at("samples").contains(key)) model.at("samples").at(key) = true;
  }
  return sha256_hex(document.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

Rules load_task_file(const fs::path& file, const fs::path& home, const ScenarioInfos& scenarios) {
  const std::string name = printable(file.string());
  json own = read_rules_text(file);
  if (!own.is_object() || !own.contains("model")) {
    throw Error(name, "is no task: it has no section 'model'",
                "docs/tasks.md describes task files; rules of a workload are given with --rules");
  }
  // It would take away what rules/model.json says.
  if (const std::string null = null_in(own); !null.empty()) {
    throw Error(name, printable(null) + ": is null", "leave it out");
  }
  const bool trains = own.at("model").is_object() && own.at("model").contains("training");
  const std::string workload = trains ? kTrainedModelWorkload : kModelWorkload;
  if (own.contains("workload") && own.at("workload") != workload) {
    throw Error(name, "its field 'workload' says " + printable(own.at("workload").dump(), 60),
                "this task is for '" + workload + "': leave it out");
  }
  json document = read_rules_text(home / rules_file_of(workload));
  check_samples(own, name);
  const json usual = at(document, "quality", "metric");
  complete_qualities(own, usual, trains, "", name);
  // A quality of another metric than the rules' own has nothing of theirs.
  const json metric = at(own, "quality", "metric");
  if (metric.is_string() && metric != usual) document.erase("quality");
  document.merge_patch(own);
  Rules rules = rules_from_document(document, home, file, scenarios);
  rules.model =
      model_task_from_json(document.at("model"), fs::absolute(file).parent_path(), file.string());
  rules.sha256 = hash_of(std::move(document));
  return never_mlperfs(std::move(rules));
}

}  // namespace harness
