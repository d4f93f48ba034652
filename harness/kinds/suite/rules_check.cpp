#include "harness/kinds/suite/rules_check.hpp"

#include <fmt/format.h>

#include <exception>
#include <nlohmann/json.hpp>
#include <system_error>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/digest.hpp"
#include "harness/result/validate.hpp"

namespace harness {
namespace {

/// Of the result in `file` as it was measured; of what is none, why.
std::string digest_in(const std::filesystem::path& file) {
  try {
    const nlohmann::json document = read_result_document(file.string());
    const nlohmann::json::json_pointer original("/submission/original_digest");
    return document.contains(original) ? printable(plain_text(document.at(original)), 64)
                                       : digest_of(document);
  } catch (const std::exception& error) {
    return "none (" + reason(error) + ")";
  }
}

}  // namespace

std::vector<Constraint> closed_constraints(const Rules& rules, const Suite& suite) {
  std::vector<Constraint> constraints = rules.closed;
  for (std::size_t i = 0; i < suite.tasks.size(); ++i) {
    // What was not measured is no departure, unless the program could never have done it.
    if (!suite.tasks[i].run && suite.tasks[i].available) continue;
    constraints.push_back({"run-closed", fmt::format("/tasks/{}/run/division", i), "equals",
                           "closed", "see the run's own departures"});
  }
  return constraints;
}

std::vector<Violation> broken_runs(const Suite& suite) {
  std::vector<Violation> violations;
  for (std::size_t i = 0; i < suite.tasks.size(); ++i) {
    const SuiteTask& task = suite.tasks[i];
    const std::string path = fmt::format("/tasks/{}/run", i);
    if (!task.run) {
      if (!task.available) continue;
      violations.push_back(
          {kRunThereRule, path, "a run of " + name_of(task), task.no_run,
           "suite --resume, with the folder of this file, measures what is missing"});
    } else if (task.run->state != RunState::kValid) {
      violations.push_back({kRunValidRule, path + "/state", "valid", to_text(task.run->state),
                            "see " + task.run->file});
    }
  }
  return violations;
}

std::vector<Violation> changed_runs(const Suite& suite, const std::filesystem::path& folder,
                                    std::vector<std::string>& notes) {
  std::vector<Violation> violations;
  std::vector<std::string> missing;
  bool any = false;
  for (std::size_t i = 0; i < suite.tasks.size(); ++i) {
    if (!suite.tasks[i].run) continue;
    const SuiteRun& run = *suite.tasks[i].run;
    const std::filesystem::path file = folder / std::filesystem::path(run.file).filename();
    std::error_code ignored;
    if (!std::filesystem::exists(file, ignored)) {
      missing.push_back(printable(run.file, 100));
      continue;
    }
    any = true;
    const std::string found = digest_in(file);
    if (found == run.digest) continue;
    violations.push_back(
        {"files", fmt::format("/tasks/{}/run/digest", i),
         fmt::format("{} of {}, which was changed since", found, printable(run.file, 100)),
         run.digest, ""});
  }
  if (any && !missing.empty()) {
    notes.push_back(fmt::format("of its runs {} {} not beside it", join(missing, ", "),
                                missing.size() == 1 ? "is" : "are"));
  }
  return violations;
}

}  // namespace harness
