// The result of a suite: what several tasks reached, each in several scenarios, and one score over
// them. Each run has a result file of its own beside it. JSON form:
// results/schema/suite.schema.json.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/kinds/suite/figure.hpp"
#include "harness/result/result_common.hpp"
#include "harness/result/variant_settings.hpp"

namespace harness {

inline constexpr const char* kSuiteSchemaVersion = "1.0.0";

/// In the place of the workload's name.
inline constexpr const char* kSuiteName = "suite";

/// A run by its result file.
struct SuiteRun {
  std::string uuid{};
  std::string file{};    ///< its name, beside the suite's
  std::string digest{};  ///< of its document
  RunState state = RunState::kAborted;
  bool mistrusted = false;
  std::string division{};
  std::string rules_version{};
  double seconds = 0;  ///< from its start to its end
};

/// What a run's answers are worth.
struct SuiteQuality {
  std::string metric{};
  Direction direction = Direction::kHigher;
  std::optional<double> value{};
  std::string reason{};  ///< why `value` is missing
  std::optional<double> target{};
  std::optional<bool> passed{};
  std::optional<double> fp32{};  ///< what the rules froze for the same data
};

/// Of the quality in fp32, where more is better and that is known.
std::optional<double> share_of_fp32(const SuiteQuality& quality);

/// A task in one scenario.
struct SuiteTask {
  std::string workload{};
  std::string scenario{};
  bool available =
      true;  ///< whether the program can run it; else it is no fault that it is missing
  std::optional<SuiteRun> run{};
  std::string no_run{};  ///< why there is none
  std::optional<Figure> figure{};
  std::string no_figure{};
  std::optional<SuiteQuality> quality{};
  std::optional<double> reference{};  ///< the figure of the same task in the reference result
  std::optional<double> ratio{};      ///< to it; above 1 is faster
  std::string no_ratio{};             ///< why it does not count in the score
};

/// The result that figures are held against.
struct SuiteReference {
  std::string file{};  ///< its name
  std::string digest{};
  std::string uuid{};
  std::string machine{};    ///< its fingerprint
  std::string processor{};  ///< its model
  std::string tier{};
  std::string started_at{};
};

struct SuiteScore {
  std::optional<double> value{};  ///< geometric mean of the ratios of `counted`
  std::string reason{};           ///< why it is missing
  std::vector<std::string> counted{};
  std::vector<LeftOut> missing{};
};

struct Suite : ResultCommon {
  std::vector<SuiteTask> tasks{};  ///< in the order in which they were measured
  std::optional<SuiteReference> reference{};
  std::string no_reference{};
  SuiteScore score{};
};

/// "classify/offline": how a task in its scenario is called.
std::string name_of(const SuiteTask& task);

/// Whether `task` was measured, valid, and good enough: what counts in scores, on both sides.
bool counts(const SuiteTask& task);

/// How many times faster than `reference` the figure is; empty where one of them is not above 0.
std::optional<double> ratio_of(const Figure& figure, double reference);

/// Holds each task against the same of `reference` (null: there is none, for the reason in
/// `no_reference`): fills reference, ratio and no_ratio.
void compare_with(const Suite* reference, Suite& suite);

/// The score that the ratios of `suite` give.
SuiteScore score_of(const Suite& suite);

}  // namespace harness
