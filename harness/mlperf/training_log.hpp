// The log of a run that trains to a quality target, with the keys of MLPerf Training 5.1.0.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/mlperf/log_writer.hpp"
#include "harness/plan/plan.hpp"
#include "harness/scenario/observer.hpp"
#include "harness/workload/workload.hpp"

namespace harness {

/// What is known of a run before its model is built.
struct TrainingLogFacts {
  std::string organisation = "unaffiliated";  ///< by default $HARNESS_SUBMITTER
  std::string platform{};                     ///< what the machine calls itself
  std::string division{};   ///< closed only for what is MLPerf's own and departs in nothing
  std::string benchmark{};  ///< MLPerf's, by the rules of its logs; else the workload's name
  std::string workload{};
  std::string summary{};
  std::string rules_file{};
  std::string precision{};  ///< fp32, bf16
  bool mlperf_equivalent = false;
  std::vector<Departure> departures{};
  std::int64_t batch_size = 1;
  std::uint32_t seed = 0;
  std::string quality_metric{};
  std::optional<double> quality_target{};
};

/// `system` is what capture_system() returned.
TrainingLogFacts training_log_facts(const RunPlan& plan, const nlohmann::json& system);

/// Writes the log as the run goes. The hyperparameters are the workload's own, asked for when the
/// clock starts. Whatever ends the run from then on, the log ends with run_stop: `aborted` unless
/// run_end() said that the target was reached; only kill -9 leaves it open. A run that ends before
/// its clock started leaves no log: it did not abort, it never began.
class TrainingLog : public Observer {
 public:
  /// Creates `path`, which must not exist, and logs that the initialisation starts. `workload`
  /// outlives this.
  TrainingLog(const std::filesystem::path& path, const TrainingLogFacts& facts,
              const Workload& workload, LogClock clock = steady_log_clock());
  /// Goes on in the log of a run that was stopped or killed; see LogWriter.
  TrainingLog(const std::filesystem::path& path, const WrittenLines& known, std::int64_t last_ms,
              const Workload& workload, LogClock clock = steady_log_clock());
  ~TrainingLog() override;
  TrainingLog(const TrainingLog&) = delete;
  TrainingLog& operator=(const TrainingLog&) = delete;

  void cache_cleared(bool complete, const std::string& reason) override;
  void run_begin() override;
  void data_opened(std::int64_t train_samples, std::int64_t eval_samples) override;
  void epoch_begin(std::int64_t epoch) override;
  void epoch_end(std::int64_t epoch) override;
  void evaluation_begin(std::int64_t epoch) override;
  void evaluated(const Quality& quality, const EvaluationPoint& at) override;
  void resumed(const Resumption& where) override;
  void run_end(bool target_reached) override;
  void finished() override;

  const LogWriter& writer() const { return log_; }

 private:
  void log_submission(const TrainingLogFacts& facts);
  void log_disclosures(const TrainingLogFacts& facts);
  void log_hyperparameters();
  void stop(bool target_reached);

  LogWriter log_;
  const Workload& workload_;
  std::int64_t batch_size_ = 0;
  bool cache_logged_ = false;
  bool started_ = false;  ///< the clock
  bool stopped_ = false;  ///< nothing more is to be logged; nor before resumed(), where one goes on
};

}  // namespace harness
