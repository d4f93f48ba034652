// Which tasks make a suite, and in which scenarios each tier drives them: rules/suite.json, or
// another file of that form.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/workload/rules.hpp"

namespace harness {

struct SuiteTaskRule {
  std::string workload{};
  std::map<std::string, std::string> set{};  ///< of the workload's own settings
};

struct SuiteTier {
  std::string summary{};
  std::vector<std::string> scenarios{};
  double pause_seconds = 0;  ///< to cool down between two runs
};

struct SuiteRules {
  std::string version{};
  std::string summary{};
  std::string file{};  ///< rules/suite.json, or the name of a file given with --rules
  std::string sha256{};
  std::string default_tier{};
  std::string reference{};  ///< below the project's folder
  std::vector<SuiteTaskRule> tasks{};
  std::map<std::string, SuiteTier> tiers{};

  /// Throws Error with the nearest names.
  const SuiteTier& tier(const std::string& name) const;
  std::vector<std::string> task_names() const;
  /// As much of them as a result refers to, and what a closed result may not change: the tasks and
  /// the scenarios of `tier`.
  Rules as_rules(const std::string& tier) const;
};

/// Reads rules/suite.json below `home`. Throws Error that names the place in the file.
SuiteRules load_suite_rules(const std::filesystem::path& home);
/// The same for any other file.
SuiteRules load_suite_rules_file(const std::filesystem::path& file,
                                 const std::filesystem::path& home);

}  // namespace harness
