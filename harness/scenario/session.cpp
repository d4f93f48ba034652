#include "harness/scenario/session.hpp"

#include <utility>

#include "harness/base/error.hpp"

namespace harness {

Session::Session(Workload& workload, WorkloadContext& context, const SessionHooks& hooks,
                 const std::vector<Observer*>& observers, SessionRecord& record)
    : workload_(workload),
      context_(context),
      hooks_(hooks),
      observers_(observers),
      record_(record),
      steps_(demand<Steps>(workload, "run")),
      timer_(hooks_.clock) {
  timer_.share_with(context_.ranks);
  if (hooks_.spans) timer_.keep_spans();
  context_.phases = &timer_;
  context_.stopwatch = &timer_;
  context_.progress = [this](const std::string& what, std::int64_t done, std::int64_t total) {
    tell(&Observer::progress, what, done, total);
  };
  context_.interrupted = [this] {
    if (together_ ? stop_asked() : hooks_.stop_requested()) throw Interrupted();
  };
}

Session::~Session() {
  const WorkloadContext untold;
  context_.phases = nullptr;
  context_.stopwatch = nullptr;
  context_.progress = untold.progress;
  context_.interrupted = untold.interrupted;
}

void Session::run(const std::function<void()>& loop) {
  // The order MLPerf asks for: data verified, caches cleared, model initialised, clock started.
  tell(&Observer::stage, "data");
  // What the first rank had to compose the others find in place.
  if (context_.rank() > 0) together(false);
  timed("data_seconds", [&] { record_.data = workload_.open_data(context_); });
  if (context_.world() > 1 && context_.rank() == 0) together(false);
  hooks_.data_opened(record_.data);
  if (hooks_.clear_cache && !record_.data.root.empty()) clear_cache();
  stop_if_asked();
  tell(&Observer::stage, "prepare");
  timed("init_seconds", [&] {
    workload_.prepare(context_);
    if (hooks_.restore) hooks_.restore();
  });
  timer_.forget();
  together_ = true;
  try {
    loop();
  } catch (const Interrupted&) {
    end(StopReason::kInterrupted, "interrupted");
  } catch (const LostRank& error) {
    // One that was asked to stop in the middle of a step, as this one will have been.
    if (record_.steps == 0) throw;
    record_.lost_rank = true;
    end(hooks_.stop_requested() ? StopReason::kInterrupted : StopReason::kFailed,
        hooks_.stop_requested() ? "interrupted" : reason(error));
  } catch (const std::exception& error) {
    if (record_.steps == 0) throw;  // a picture that cannot be decoded, say: nothing to lose yet
    end(StopReason::kFailed, reason(error));
  }
  for (Observer* observer : observers_) {
    try {
      observer->finished();
    } catch (const std::exception& error) {
      // A disk that is full at the very end must not cost the record itself.
      if (record_.stop_detail.empty()) record_.stop_detail = reason(error);
    }
  }
}

void Session::evaluate(const std::function<void(const Quality&)>& put,
                       const std::function<Quality()>& evaluation) {
  tell(&Observer::stage, "evaluate");
  timed("evaluation_seconds", [&] {
    const Quality quality = evaluation ? evaluation() : steps_.evaluate();
    put(quality);
    tell(&Observer::evaluated, quality, EvaluationPoint{});
  });
  stop_if_asked();  // not every workload looks while it evaluates
}

void Session::end(StopReason reason, std::string detail) {
  record_.stop = reason;
  record_.stop_detail = std::move(detail);
}

bool Session::together(bool mine) const {
  return context_.ranks == nullptr ? mine : any_of(*context_.ranks, mine);
}

bool Session::diverged(const StepRecord& step) {
  std::string trouble = non_finite_loss(step);
  if (trouble.empty()) return false;
  end(StopReason::kNonFinite, std::move(trouble));
  return true;
}

void Session::timed(const char* name, const std::function<void()>& work) {
  const double start = now();
  work();
  record_.preparation[name] = now() - start;
}

void Session::clear_cache() {
  tell(&Observer::stage, "cache");
  const nlohmann::json cleared = hooks_.clear_cache(record_.data.root);
  record_.preparation["cache_clear"] = cleared;
  const nlohmann::json why = cleared.value("reason", nlohmann::json());
  tell(&Observer::cache_cleared, cleared.value("complete", nlohmann::json()) == true,
       why.is_string() ? why.get<std::string>() : "");
}

}  // namespace harness
