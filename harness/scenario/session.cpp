#include "harness/scenario/session.hpp"

#include <utility>

#include "harness/base/error.hpp"

namespace harness {

Session::Session(std::vector<Participant> all, const SessionHooks& hooks,
                 const std::vector<Observer*>& observers, SessionRecord& record)
    : all_(std::move(all)),
      hooks_(hooks),
      observers_(observers),
      record_(record),
      timer_(hooks_.clock) {
  for (const Participant& one : all_) {
    steps_.push_back(&demand<Steps>(*one.workload, one.name.empty() ? "run" : one.name));
    WorkloadContext& context = *one.context;
    context.phases = &timer_;
    context.stopwatch = &timer_;
    context.progress = [this](const std::string& what, std::int64_t done, std::int64_t total) {
      tell(&Observer::progress, what, done, total);
    };
    context.interrupted = [this] { stop_if_asked(); };
  }
}

Session::~Session() {
  const WorkloadContext untold;
  for (const Participant& one : all_) {
    one.context->phases = nullptr;
    one.context->stopwatch = nullptr;
    one.context->progress = untold.progress;
    one.context->interrupted = untold.interrupted;
  }
}

void Session::run(const std::function<void()>& loop,
                  const std::function<void(std::size_t)>& prepare) {
  // The order MLPerf asks for: data verified, caches cleared, model initialised, clock started.
  tell(&Observer::stage, "data");
  timed("data_seconds", [&] { open_data(); });
  hooks_.data_opened(record_.data);
  if (hooks_.clear_cache && !record_.data.root.empty()) clear_cache();
  stop_if_asked();
  tell(&Observer::stage, "prepare");
  timed("init_seconds", [&] {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      tell_progress("preparing ", i);
      prepare ? prepare(i) : all_[i].workload->prepare(*all_[i].context);
    }
    if (hooks_.restore) hooks_.restore();
  });
  timer_.forget();
  try {
    loop();
  } catch (const Interrupted&) {
    record_.stop = StopReason::kInterrupted;
    record_.stop_detail = "interrupted";
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

void Session::evaluate(const std::function<void(std::size_t, const Quality&)>& put) {
  tell(&Observer::stage, "evaluate");
  timed("evaluation_seconds", [&] {
    for (std::size_t i = 0; i < all_.size(); ++i) {
      current_ = i;
      tell_progress("quality of ", i);
      if (all_.size() > 1) all_[i].workload->activate();
      const Quality quality = steps_[i]->evaluate();
      put(i, quality);
      tell(&Observer::evaluated, quality, EvaluationPoint{all_[i].name});
    }
  });
  stop_if_asked();  // not every workload looks while it evaluates
}

void Session::end(StopReason reason, std::string detail) {
  const std::string& name = all_[current_].name;
  record_.stop = reason;
  record_.stop_detail = name.empty() ? std::move(detail) : name + ": " + detail;
}

void Session::stop_if_asked() const {
  if (hooks_.stop_requested()) throw Interrupted();
}

void Session::enter(std::size_t i) {
  current_ = i;
  stop_if_asked();
  all_[i].workload->activate();
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

// Verified once: the others take over what the first has opened, where they can.
void Session::open_data() {
  record_.data = all_.front().workload->open_data(*all_.front().context);
  for (std::size_t i = 1; i < all_.size(); ++i) {
    stop_if_asked();
    if (all_[i].workload->share_data(*all_.front().workload)) continue;
    all_[i].workload->open_data(*all_[i].context);
  }
}

void Session::clear_cache() {
  tell(&Observer::stage, "cache");
  const nlohmann::json cleared = hooks_.clear_cache(record_.data.root);
  record_.preparation["cache_clear"] = cleared;
  const nlohmann::json why = cleared.value("reason", nlohmann::json());
  tell(&Observer::cache_cleared, cleared.value("complete", nlohmann::json()) == true,
       why.is_string() ? why.get<std::string>() : "");
}

void Session::tell_progress(const std::string& what, std::size_t done) const {
  if (all_.size() == 1) return;
  stop_if_asked();
  tell(&Observer::progress, what + all_[done].name, static_cast<std::int64_t>(done),
       std::ssize(all_));
}

}  // namespace harness
