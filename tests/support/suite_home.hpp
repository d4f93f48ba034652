// A project's folder of a test's own, with a suite of two workloads that need no model: null, and
// the stub of a framework that tests/added/ brings.
#pragma once

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/base/files.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/scenario/loadgen/driver.hpp"
#include "tests/added/run_added.hpp"
#include "tests/support/files_of_runs.hpp"
#include "tests/support/process.hpp"
#include "tests/support/temporary_folder.hpp"

namespace harness {

class SuiteHome {
 public:
  SuiteHome() {
    namespace fs = std::filesystem;
    const fs::path project = home_folder();
    const auto everything = fs::copy_options::recursive;
    fs::create_directory(folder_ / "results");
    fs::copy(project / "rules", folder_ / "rules", everything);
    fs::copy(project / "results" / "schema", folder_ / "results" / "schema", everything);
    for (const char* stub : {"stub-train.json", "stub-queries.json"}) {
      fs::copy(project / "tests" / "added" / stub, folder_ / "rules" / stub);
    }
    write({});
  }

  /// The suite's rules, `null` with these settings of its own; the stub serves steps alone.
  void write(const nlohmann::json& set_of_null, double pause = 0,
             const std::string& version = "1.0.0") const {
    write_rules({{"kind", "suite"},
                 {"version", version},
                 {"summary", "Two workloads without a model."},
                 {"default_tier", "quick"},
                 {"tasks",
                  {{{"workload", "null"},
                    {"set", set_of_null.is_null() ? nlohmann::json::object() : set_of_null}},
                   {{"workload", "stub-train"}}}},
                 {"tiers",
                  {{"quick",
                    {{"summary", "both"},
                     {"scenarios", {"steps", "bursts"}},
                     {"pause_seconds", pause}}}}}});
  }
  /// A task that answers queries, in all of LoadGen's scenarios.
  void write_queries(const std::string& microseconds, const std::string& version = "1.0.0") const {
    nlohmann::json rules = read_json_file(rules_file());
    rules["version"] = version;
    rules["tasks"] = nlohmann::json::array(
        {nlohmann::json{{"workload", "stub-queries"}, {"set", {{"query-us", microseconds}}}}});
    rules["tiers"]["quick"]["scenarios"] = {"single-stream", "multi-stream", "server", "offline"};
    write_rules(rules);
  }
  void write_rules(const nlohmann::json& rules) const {
    std::ofstream(rules_file()) << rules.dump(2) << "\n";
  }

  std::filesystem::path rules_file() const { return folder_ / "rules" / "suite.json"; }
  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  std::vector<std::string> environment() const {
    return {"HARNESS_HOME=" + folder_.path().string()};
  }
  static std::string program() {
    return (std::filesystem::path(harness_program()).parent_path() / "harness_added").string();
  }
  Outcome run(const std::vector<std::string>& arguments) const {
    return Process(arguments, environment(), {}, program()).wait();
  }
  Outcome suite(const std::filesystem::path& out, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"suite", "--out", out.string()});
    return run(more);
  }

 private:
  TemporaryFolder folder_{};
};

/// Whether this build cannot run LoadGen's scenarios.
inline bool without_loadgen() {
  if (loadgen::why_unavailable().empty()) return false;
  WARN("not tested: " << loadgen::why_unavailable());
  return true;
}

/// The one suite result in `out`.
inline std::filesystem::path suite_file(const std::filesystem::path& out) {
  std::vector<std::filesystem::path> suites;
  for (const std::filesystem::path& file : files_ending(out, ".json")) {
    if (file.filename().string().starts_with("suite-")) suites.push_back(file);
  }
  REQUIRE(suites.size() == 1);
  return suites.front();
}

inline nlohmann::json read_suite(const std::filesystem::path& out) {
  return read_json_file(suite_file(out));
}

}  // namespace harness
