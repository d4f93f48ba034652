// What a campaign is and how many clusters it planned, kept beside its results: so that it can be
// judged again, and goes on after a stop.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/gate/plan.hpp"
#include "harness/lockstep/asked.hpp"

namespace harness {

/// The commands that do the steps of a suite's task, in lockstep.
struct SuiteTaskCommands {
  std::string workload{};
  std::string id{};  ///< of their campaign
  AskedCommand baseline{};
  AskedCommand candidate{};
};

struct PlannedCampaign {
  std::string id{};
  AskedCommand baseline{};  ///< without text in files of before commands were kept
  AskedCommand candidate{};
  AskedCommand anchor{};  ///< without text: there is none
  /// Whether what the commands are is known; before they were asked it was read out of their text,
  /// time and again.
  bool asked = true;
  bool whole = false;  ///< runs whole commands, not sides in lockstep
  /// Behind it come whole trainings of these commands, in the folder "convergence".
  AskedCommand trained_baseline{};
  AskedCommand trained_candidate{};
  /// Of two suites: the campaigns before theirs, in the folder "steps".
  std::vector<SuiteTaskCommands> tasks{};
  /// rules/gate.json, by which it is judged.
  std::string rules_sha256{};
  double pause_seconds = 0;  ///< before each start
  /// Empty: nobody gave one.
  std::optional<double> budget_seconds{};
  std::optional<double> convergence_budget_seconds{};
  std::int64_t rounds = 0;  ///< of a cluster; 0: not planned yet
  /// Of the first night: by --pairs, or the rules. 0: not kept.
  std::size_t most_clusters = 0;
  /// Without nights: not planned yet.
  GatePlan plan{{}, GatePlan{}.block, false};
};

/// Writes plan.jsonl, one line, into the campaign's folder, over what is there. Throws Error.
void write_plan(const std::filesystem::path& folder, const PlannedCampaign& campaign);

/// The plan in a folder; nothing where there is none. Throws Error for a file that is no plan.
std::optional<PlannedCampaign> read_plan(const std::filesystem::path& folder);

/// "harness gate --resume DIR" for the campaign in `folder`, or the one that it is a part of.
std::string line_to_go_on(const std::filesystem::path& folder);

}  // namespace harness
