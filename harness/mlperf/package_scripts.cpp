#include "harness/mlperf/package_scripts.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "harness/base/text.hpp"
#include "harness/plan/settings.hpp"
#include "harness/result/setting.hpp"

namespace harness {
namespace {

using nlohmann::json;

/// A path is one of the machine that ran: its last part is enough to know it by.
std::string without_folders(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) return text;
  const std::string name = std::filesystem::path(text).filename().string();
  return text.substr(0, text.find('=') + 1) + (name.empty() ? "FOLDER" : name);
}

std::string script(const std::string& mark, const std::string& what, const std::string& body) {
  return fmt::format("#!/usr/bin/env bash\n# {}\n# {}\nset -euo pipefail\n{}", mark, what, body);
}

std::string described(const Artifact& artifact) {
  return fmt::format("{}, SHA-256 {}", artifact.name, artifact.sha256.value_or("none: generated"));
}

}  // namespace

std::string repeat_command(const Result& result, std::optional<std::int64_t> runs) {
  const RunRequest request = request_from_result(result);
  std::vector<std::string> words = {"./quickstart run"};
  for (const auto& setting : SettingTable::instance().list()) {
    if (setting->name == "seed" || !request.settings.contains(setting->name)) continue;
    const json& asked = request.settings.at(setting->name);
    for (const json& value : asked.is_array() ? asked : json::array({asked})) {
      std::string text = value.is_string() ? without_folders(value) : value.dump();
      if (setting->name == "runs" && runs) text = std::to_string(*runs);
      words.push_back("--" + setting->option());
      words.push_back(setting->name == "data" ? std::string("\"$DATA_DIR\"") : shell_word(text));
    }
  }
  return join(words, " ");
}

std::string data_text(const Result& result) {
  return result.dataset ? described(*result.dataset) : "none";
}

json measurements(const std::string& mark, const Result& result) {
  json settings = result.settings.effective.value("set", json::object());
  for (auto& [name, value] : settings.items()) {
    if (value.is_string()) value = without_folders(value.get<std::string>());
  }
  json weights = json::array();
  for (const Artifact& artifact : result.weights) {
    weights.push_back(fmt::format("{}, SHA-256 {}", without_folders(artifact.source),
                                  artifact.sha256.value_or("none: generated")));
  }
  // A head is fitted to the data at hand, and lies in a file of its own.
  const bool has_head = result.loadgen && result.weights.size() > 1;
  const json precision = result.settings.effective.value("precision", json());
  const bool int8 = precision == "int8";
  return {{"notice", mark},
          {"workload", result.rules.workload},
          {"rules_sha256", result.rules.sha256},
          {"starting_weights_filename", weights},
          {"weight_data_types", precision},
          {"input_data_types", int8 ? json("fp32") : precision},
          {"retraining", has_head ? "of the head" : "no"},
          {"weight_transformations",
           int8 ? "norms folded into convolutions; quantised after training: int8 by output "
                  "channel, activations by their range on the samples that the rules list"
           : result.loadgen ? "norms folded into convolutions, packed by custom kernels"
                            : "none"},
          {"settings", settings},
          {"kernels", result.kernels},
          {"hyperparameters", result.hyperparameters}};
}

std::string implementation_text(const std::string& mark, const Result& result) {
  return fmt::format(
      "{}\n\nThe implementation is harness {}, commit {}: its source tree belongs here.\n", mark,
      result.identity.harness_version, result.identity.git_commit);
}

std::string framework_of(const Result& result) {
  const json software = result.system.value("software", json::object());
  return fmt::format("harness {}, LibTorch {}", result.identity.harness_version,
                     software.value("libtorch", "not used"));
}

void add_benchmark_folder(std::map<std::string, std::string>& files, const std::string& folder,
                          const std::string& system, const std::string& mark, const Result& result,
                          const std::string& score) {
  const std::string here = fmt::format("{}/{}/", folder, system);
  const std::string commit = result.identity.git_commit;
  files[here + "setup.sh"] = script(
      mark, "Builds harness, in its checked-out source tree HARNESS_HOME.",
      fmt::format(
          "cd \"${{HARNESS_HOME:?the source tree of harness}}\"\n"
          "[[ \"$(git rev-parse HEAD)\" == {} ]] || echo 'another commit than the runs had'\n"
          "./quickstart list\n",
          shell_word(commit)));
  files[here + "init_datasets.sh"] = script(
      mark, "The data are found or composed, and hashed, by every run before its clock starts.",
      fmt::format("echo {}\n", shell_word("data of the runs: " + data_text(result))));
  files[here + "run_and_time.sh"] =
      script(mark, "The five runs, one process each.",
             fmt::format("cd \"${{HARNESS_HOME:?the source tree of harness}}\"\n{}\n",
                         repeat_command(result, 5)));
  files[here + fmt::format("{}_harness.json", system)] =
      measurements(mark, result).dump(2, ' ', true) + "\n";
  files[here + "README.md"] = fmt::format(
      "{}\n\n# {} on {}\n\nFive runs of the workload `{}` by harness {} (commit {}{}).\n\n"
      "- Score: {}\n- Data: {}\n- To repeat: `setup.sh`, `init_datasets.sh`, `run_and_time.sh`; "
      "each log's seed is "
      "in `results/`.\n- Settings, kernels and hyperparameters: `{}_harness.json`.\n",
      mark, result.rules.workload, system, result.rules.workload, result.identity.harness_version,
      commit, result.identity.git_dirty ? ", modified" : "", score, data_text(result), system);
  files[folder + "/implementations/harness/README.md"] = implementation_text(mark, result);
}

}  // namespace harness
