// What every kind of result file holds: which run it was, under which rules, on which machine, and
// what it is worth.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <typeinfo>
#include <vector>

#include "harness/base/types.hpp"

namespace harness {

inline constexpr const char* kUnverifiedNotice = "Result not verified by MLCommons Association.";

/// A rule that was broken. `path` points into the result (`settings.effective.batch_size`).
struct Violation {
  std::string rule{};
  std::string path{};
  std::string expected{};
  std::string actual{};
  std::string hint{};
};

/// A setting that differs from rules/W.json; any departure makes the division `open`.
struct Departure {
  std::string path{};
  std::string expected{};
  std::string actual{};
};

enum class RunState { kValid, kInvalid, kAborted, kDryRun };

/// The rule that a run breaks which ends without reaching its quality target.
inline constexpr const char* kConvergedRule = "converged";
inline constexpr const char* kCompletedRule = "completed";  ///< of what was stopped or failed
// Of a result that stands for several runs: each is there, and each is valid.
inline constexpr const char* kRunThereRule = "run-there";
inline constexpr const char* kRunValidRule = "run-valid";

struct Status {
  RunState state = RunState::kAborted;
  bool mistrusted = false;
  std::vector<std::string> mistrust_reasons{};
  std::vector<Violation> violations{};
  std::vector<std::string> recommendations{};
};

/// Of a run that trained to its end without reaching its quality target; MLPerf calls that aborted.
bool missed_target(const Status& status);
/// Aborted before its end: by somebody, by a signal, by a failure.
bool was_stopped(const Status& status);

/// A value of a document in words: a text without its quotes.
std::string plain_text(const nlohmann::json& value);
/// The text at `key` of an object; empty where there is none.
std::string text_member(const nlohmann::json& object, const char* key);

/// What most operators take, and those that do not: "reference except NAME=custom"; "none"
/// without any.
std::string kernels_text(const KernelSet& kernels);

/// Where a run stands in a gate's campaign, in which runs of two sides alternate.
struct CampaignPlace {
  std::string id{};       ///< a UUID, shared by all runs of the campaign
  std::string side{};     ///< baseline | candidate
  std::int64_t pair = 1;  ///< 1-based; the two sides' runs of one number were measured in turn
};

struct Identity {
  std::string uuid{};
  std::string series_id{};
  std::int64_t run_index = 1;  ///< 1-based within the series
  std::int64_t run_count = 1;
  std::string started_at{};  ///< UTC, 2026-01-31T12:00:00.123Z
  std::string ended_at{};
  std::string harness_version{};
  std::string git_commit{};
  bool git_dirty = false;
  std::vector<std::string> command_line{};
  std::optional<CampaignPlace> campaign{};  ///< empty for runs by themselves
};

/// How a workload is driven where nothing says it, as in files of older versions.
inline const char* default_scenario(bool trains_to_target) {
  return trains_to_target ? "epochs" : "steps";
}

struct RulesReference {
  std::string workload{};
  std::string file{};  ///< rules/NAME.json, or the name of a file given with --rules
  std::string version{};
  std::string sha256{};
  std::string tier{};
  std::string division{};  ///< closed | open
  std::vector<Departure> departures{};
  bool mlperf_equivalent = false;
  std::string scenario{};  ///< how the workload was driven; empty where that is of each part
  bool lockstep = false;   ///< when told, in turn with other processes
};

/// What was asked for and what was used, by the names of the command line with '_' for '-'
/// (batch_size, threads, cpus, precision, allocator, warmup_steps, min_steps, ...);
/// `set` in either holds the workload's own KEY=VALUE settings.
struct Settings {
  nlohmann::json requested = nlohmann::json::object();
  nlohmann::json effective = nlohmann::json::object();
};

/// The effective setting `key`, safe to print; "-" where there is none.
std::string setting_text(const Settings& settings, const char* key);

struct Memory {
  std::optional<double> peak_bytes{};
  std::string source{};
  std::string reason{};
};

struct QualityReport {
  Quality quality{};
  std::optional<double> target{};
  std::optional<bool> passed{};
  std::optional<std::int64_t> reached_at_step{};
  /// In what its checks are not those that this program asks for (rules/checks.json); in no file.
  std::string foreign_checks{};
};

struct CostReport {
  Cost cost{};
  std::optional<double> achieved_flops_per_second{};  ///< step FLOPs over the median step
  /// Of the measured peak of `cost.precision`; above 1 where kernels do less than `cost` counts.
  std::optional<double> utilisation{};
  std::string reason{};  ///< why `utilisation` is missing
  /// Of the multiplications that the FLOPs stand for, those that were done; empty: not told.
  std::optional<double> work_done{};
};

/// What `harness submit` did to a file before it was shared.
struct Submission {
  std::string original_digest{};        ///< of the file as it was measured
  std::vector<std::string> redacted{};  ///< JSON pointers of the texts that were changed
};

/// The part that all kinds share; each kind adds what it measured.
struct ResultCommon {
  ResultCommon() = default;
  ResultCommon(const ResultCommon&) = default;
  ResultCommon(ResultCommon&&) = default;
  ResultCommon& operator=(const ResultCommon&) = default;
  ResultCommon& operator=(ResultCommon&&) = default;
  virtual ~ResultCommon() = default;

  Identity identity{};
  RulesReference rules{};
  Settings settings{};
  Seeds seeds{};
  std::optional<Artifact> dataset{};
  std::vector<Artifact> weights{};
  std::map<std::string, std::string> hyperparameters{};
  nlohmann::json system = nlohmann::json::object();              ///< system::capture()
  nlohmann::json environment_before = nlohmann::json::object();  ///< system::environment()
  nlohmann::json environment_after = nlohmann::json::object();
  nlohmann::json preparation = nlohmann::json::object();  ///< seconds of data, cache_clear, init
  Status status{};
  std::optional<Submission> submission{};  ///< empty: the file is as it was measured
};

/// `result` where it is a T and nothing derived from it: a profile is no run. Else, or for null,
/// null.
template <class T>
const T* exactly(const ResultCommon* result) {
  const bool is_one = result != nullptr && typeid(*result) == typeid(T);
  return is_one ? static_cast<const T*>(result) : nullptr;
}

}  // namespace harness
