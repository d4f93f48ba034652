#include "harness/measure/stop_notice.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/print.hpp"

namespace harness {
namespace {

constexpr const char* kInSteps = "stopping after the current step";
constexpr const char* kInQueries = "stopping after the query in progress";
constexpr const char* kInEvaluation = "stopping as soon as the evaluation in progress allows it";

}  // namespace

StopNotice::StopNotice(std::filesystem::path samples)
    : samples_(std::move(samples)), message_("stopping before the first step") {}

void StopNotice::stage(const std::string& name) {
  if (name == "steps" || name == "train") message_.change(kInSteps);
  if (name == "queries") message_.change(kInQueries);
  if (name == "evaluate") message_.change(kInEvaluation);
}

void StopNotice::step(const StepRecord& /*record*/) {
  // Before the first one the file holds nothing that was measured.
  if (!std::exchange(stepped_, true)) name_samples_left(samples_);
}

void StopNotice::evaluation_begin(std::int64_t /*epoch*/) { message_.change(kInEvaluation); }

void StopNotice::evaluated(const Quality& /*quality*/, const EvaluationPoint& at) {
  if (at.epoch > 0) message_.change(kInSteps);
}

void StopNotice::finished() {
  message_.change("the run is over, only its result is still to be written");
}

void tell_failure(StopReason stop, const std::string& why) {
  if (stop == StopReason::kFailed) print_err(fmt::format("harness: {}\n", why));
}

}  // namespace harness
