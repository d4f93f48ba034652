// Two commands run in turn until the gate can tell them apart, or knows that it cannot.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/gate/gate.hpp"
#include "harness/gate/report.hpp"

namespace harness {

struct CampaignOptions {
  std::string baseline{};  ///< commands for /bin/sh
  std::string candidate{};
  std::filesystem::path out{};  ///< a new or empty folder: baseline/NNN, candidate/NNN, logs
  std::string id{};             ///< a UUID
  GateRules rules{};
  /// No pair begins that would likely end after it. A run that takes a minute longer than the whole
  /// budget is ended.
  std::optional<double> budget_seconds{};
  double pause_seconds = 0;  ///< to cool down, before each run
};

struct CampaignHooks {
  /// The results in a folder, checked; throws Error for one that is not sound.
  std::function<std::vector<Result>(const std::filesystem::path&)> read{};
  /// Called with the report of the first pair, so that it can refuse before the others run.
  std::function<void(const GateReport&)> look_at_first{};
  /// One line for people, after each pair.
  std::function<void(const std::string&)> say{};
};

/// A `harness run` gets its own --out and is judged by its results' metrics, any other command by
/// its wall time; both commands have to be of one kind. Throws Error for a command that fails,
/// Interrupted when asked to stop; what was measured stays in `out`.
GateReport run_campaign(const CampaignOptions& options, const CampaignHooks& hooks);

/// Drops the last pair of a campaign's files if a run in it was stopped: an interrupted campaign
/// ends that way.
void drop_stopped_pair(Side& baseline, Side& candidate);

/// The place in its campaign of a run that a campaign started; empty for other runs. It comes from
/// an environment variable. Throws Error if that holds something else.
std::optional<CampaignPlace> inherited_campaign();

}  // namespace harness
