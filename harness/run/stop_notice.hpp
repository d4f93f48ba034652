// Keeps what Ctrl-C says true while a run goes from stage to stage.
#pragma once

#include <filesystem>
#include <string>

#include "harness/run/interrupt.hpp"
#include "harness/run/observer.hpp"

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

}  // namespace harness
