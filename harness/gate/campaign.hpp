// Two commands run in turn until the gate can tell them apart, or knows that it cannot.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/error.hpp"
#include "harness/gate/campaign_screen.hpp"
#include "harness/gate/gate.hpp"
#include "harness/gate/plan_file.hpp"
#include "harness/gate/report.hpp"

namespace harness {

/// A command that did not even run once: a mistake in it, or an option that an old build lacks.
class NeverBegan : public Error {
 public:
  using Error::Error;
};

struct CampaignOptions {
  AskedCommand baseline{};
  AskedCommand candidate{};
  AskedCommand anchor{};  ///< in lockstep: a third side that creep is held to; without text: none
  std::filesystem::path out{};  ///< a new or empty folder: baseline/NNN, candidate/NNN, logs
  std::string id{};             ///< a UUID
  /// Of sides in lockstep: whole trainings of these commands follow. Without text: none do.
  AskedCommand trained_baseline{};
  AskedCommand trained_candidate{};
  /// Of two suites: the steps of their tasks, which come before them. Empty: none do.
  std::vector<SuiteTaskCommands> tasks{};
  /// For trainings; 0: none. Empty: by the rules.
  std::optional<double> convergence_budget_seconds{};
  bool pool = false;  ///< a later night may add to what is inconclusive
  /// A campaign in `out` that was stopped goes on; one that ended inconclusive, and was to be
  /// pooled, gets another night.
  std::optional<PlannedCampaign> resumed{};
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
  /// Where it is, after each pair that did not end it.
  std::function<void(const GateReport&, const CampaignProgress&)> show{};
  /// One line for people: what happened.
  std::function<void(const std::string&)> say{};
};

/// A `harness run`, or a `harness suite`, gets its own --out and is judged by its results' metrics,
/// any other command by its wall time; both commands have to be of one kind. Throws Error for a
/// command that fails, Interrupted when asked to stop; what was measured stays in `out`.
GateReport run_campaign(const CampaignOptions& options, const CampaignHooks& hooks);

/// Drops the last pair of a campaign's files if a run in it was stopped: an interrupted campaign
/// ends that way.
void drop_stopped_pair(Side& baseline, Side& candidate);

/// The environment variable that tells a run its place.
std::pair<std::string, std::string> campaign_variable(const CampaignPlace& place);
/// The same of a command that is only asked what it is, and has no place yet.
std::pair<std::string, std::string> asking_variable();
/// What a build from before commands were asked says of asking_variable(), before it measures
/// anything: so it does not run for minutes to tell nothing.
inline constexpr const char* kNoPlace = "HARNESS_CAMPAIGN: does not hold a place in a campaign";

/// The place in its campaign of a run that a campaign started; empty for other runs. It comes from
/// an environment variable. Throws Error if that holds something else.
std::optional<CampaignPlace> inherited_campaign();

}  // namespace harness
