#include "harness/workload/task_file.hpp"

#include <string>
#include <utility>

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

/// Of what is asked of a model.
std::string hash_of(json document) {
  document.erase("summary");
  for (const char* key : {"file", "sha256", "format"}) document.at("model").erase(key);
  return sha256_hex(document.dump(-1, ' ', false, json::error_handler_t::replace));
}

}  // namespace

Rules load_task_file(const fs::path& file, const fs::path& home, const ScenarioInfos& scenarios) {
  const std::string name = printable(file.string());
  const json own = read_rules_text(file);
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
  document.merge_patch(own);
  Rules rules = rules_from_document(document, home, file, scenarios);
  rules.model =
      model_task_from_json(document.at("model"), fs::absolute(file).parent_path(), file.string());
  rules.sha256 = hash_of(std::move(document));
  return never_mlperfs(std::move(rules));
}

}  // namespace harness
