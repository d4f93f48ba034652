// Keeps what Ctrl-C says true while a run goes from stage to stage.
#pragma once

#include <filesystem>
#include <string>

#include "harness/scenario/observer.hpp"
#include "harness/scenario/session.hpp"
#include "harness/system/interrupt.hpp"

namespace harness {

/// An observer of one run; when it ends, the message is again the one from before.
class StopNotice : public Observer {
 public:
  /// `samples`: the file that holds what was measured, should the run be ended at once.
  explicit StopNotice(std::filesystem::path samples);

  void stage(const std::string& name) override;
  void step(const StepRecord& record) override;
  void evaluation_begin(std::int64_t epoch) override;
  void evaluated(const Quality& quality, const EvaluationPoint& at) override;
  void finished() override;

 private:
  std::filesystem::path samples_;
  bool stepped_ = false;
  StopMessage message_;
};

/// Says on stderr at once what ended a run before its time; its result, which says it too, may not
/// find a place any more.
void tell_failure(StopReason stop, const std::string& why);

}  // namespace harness
