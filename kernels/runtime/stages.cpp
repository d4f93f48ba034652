#include "kernels/runtime/stages.hpp"

#include <atomic>
#include <utility>

namespace harness::kernels {
namespace {

std::atomic<const StageClock*> current{nullptr};

}  // namespace

MeasuredStages::MeasuredStages(StageClock clock) : clock_(std::move(clock)) { current = &clock_; }
MeasuredStages::~MeasuredStages() { current = nullptr; }

Stage::Stage(const char* name) : name_(name), clock_(current) {
  if (clock_ != nullptr) start_ = clock_->now();
}

Stage::~Stage() {
  if (clock_ != nullptr) clock_->add(name_, clock_->now() - start_);
}

}  // namespace harness::kernels
