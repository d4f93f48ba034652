// Progress on stderr: one line that rewrites itself on a terminal, plain lines elsewhere. What
// cannot be shown is dropped: no measurement ends for that.
#pragma once

#include <cstdio>
#include <string>

#include "harness/scenario/observer.hpp"
#include "harness/scenario/step_timer.hpp"

namespace harness {

class Progress : public Observer {
 public:
  /// `columns` 0: `out` is no terminal, lines are plain and at most one per `interval` seconds.
  Progress(std::FILE* out, int columns, Clock clock = steady_seconds, double interval = 2.0);
  ~Progress() override;

  void stage(const std::string& name) override;
  void progress(const std::string& what, std::int64_t done, std::int64_t total) override;
  /// A line that stays.
  void note(const std::string& line);
  void length(const RunLength& length) override { length_ = length; }
  void dropped(std::int64_t first, const std::string& why) override;
  void step(const StepRecord& record) override;
  void epoch_end(std::int64_t epoch) override;
  void evaluation_begin(std::int64_t epoch) override;
  void evaluated(const Quality& quality, const EvaluationPoint& at) override;
  void resumed(const Resumption& where) override;
  void finished() override { clear(); }

 private:
  void training_step(const StepRecord& record);
  void query(const StepRecord& record);
  void show(const std::string& line, bool important);
  void clear();

  std::FILE* out_;
  int columns_;
  Clock clock_;
  double interval_;
  double last_shown_ = -1e300;
  bool line_open_ = false;
  RunLength length_{};
  double timed_seconds_ = 0;
  // Of LoadGen's queries.
  double last_at_ = 0;     ///< when the last one was answered, seconds from the begin
  double timed_from_ = 0;  ///< the same of when the timed test began: a rate may be searched before
  std::int64_t timed_ = 0;  ///< queries, or samples
  // Of a run that trains to a target.
  double epoch_seconds_ = 0;       ///< of the steps of the epoch so far
  std::int64_t steps_before_ = 0;  ///< of the epochs before
  std::int64_t resumed_at_ = 0;    ///< steps of this epoch that an earlier process did
  double evaluation_begin_ = 0;
  double evaluation_seconds_ = 0;  ///< of the last one
  std::string last_quality_{};     ///< "mAP 0.312, "
  double latest_ = 0;              ///< seconds of a step, smoothed
};

/// Width of the terminal behind `out`, 0 when it is none.
int terminal_columns(std::FILE* out);

}  // namespace harness
