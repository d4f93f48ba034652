#include "harness/scenario/step_timer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace harness {

void StepTimer::phase_begin(const char* name) {
  if (listener_ != nullptr) listener_->phase_begin(name);
  begin_ = clock_();
}

void StepTimer::phase_end(const char* name) {
  const double end = clock_();
  phases_[name] += end - begin_;
  if (keeps_spans_) keep({name, false, begin_, end});
  if (listener_ != nullptr) listener_->phase_end(name);
}

void StepTimer::add(const char* stage, double seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  stages_[stage] += seconds;
}

void StepTimer::span(const std::string& name, double begin, double end) {
  if (keeps_spans_) keep({name, true, begin, end});
}

void StepTimer::keep(Span span) {
  const std::lock_guard<std::mutex> lock(mutex_);
  spans_.push_back(std::move(span));
}

StepRecord StepTimer::time_step(Steps& steps, double start, bool rest) {
  StepRecord step;
  // What one rank does alone between steps is no part of the others' next one.
  if (ranks_ != nullptr) any_of(*ranks_, false);
  const double before = clock_();
  StepStats stats = steps.step();
  if (rest) steps.rest();
  const double after = clock_();
  step.seconds = step.own_seconds = after - before;
  step.elapsed = after - start;
  step.losses = std::move(stats.losses);
  if (ranks_ != nullptr) share(step);
  step.phases = std::exchange(phases_, {});
  step.stages = std::exchange(stages_, {});
  step.spans = std::exchange(spans_, {});
  if (keeps_spans_) step.spans.push_back({"step", false, before, after});
  step.samples = stats.samples;
  return step;
}

// The same numbers on all, so that all decide alike what follows from them; in one exchange, since
// over a slow network each takes its time.
void StepTimer::share(StepRecord& step) const {
  std::vector<double> mine = {step.seconds, step.elapsed};
  for (const auto& [name, loss] : step.losses) mine.push_back(loss);
  const auto all = gather_numbers(*ranks_, mine);
  for (const auto& theirs : all) step.seconds = std::max(step.seconds, theirs.at(0));
  step.elapsed = all.front().at(1);
  std::size_t at = 2;
  for (auto& [name, loss] : step.losses) {
    loss = 0;
    for (const auto& theirs : all) loss += theirs.at(at);
    loss /= static_cast<double>(all.size());
    ++at;
  }
}

std::string non_finite_loss(const StepRecord& record) {
  for (const auto& [name, loss] : record.losses) {
    if (!std::isfinite(loss)) {
      return fmt::format("loss '{}' is {} at step {}", name,
                         std::isnan(loss) ? "not a number" : "infinite", record.step);
    }
  }
  return {};
}

}  // namespace harness
