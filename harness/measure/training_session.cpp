#include "harness/measure/training_session.hpp"

#include <utility>

#include "harness/base/text.hpp"
#include "harness/base/version.hpp"

namespace harness {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// What must be the same when the run goes on; of the data, that comes later.
json conditions_of(const Result& result) {
  return {{"settings", result.settings.effective},
          {"kernels", result.kernels},
          {"rules", result.rules.sha256},
          {"program", version_line()},
          {"machine", result.system.value("fingerprint", json())}};
}

TrainingLog open_log(const RunPlan& plan, const Result& result, const fs::path& path,
                     const Workload& workload, const std::optional<SavedRun>& saved_run) {
  if (!saved_run) return {path, training_log_facts(plan, result.system), workload};
  expect_same_conditions(saved_run->conditions, conditions_of(result));
  expect_state(path.parent_path(), *saved_run);
  return {path, saved_run->log, saved_run->log_ms, workload};
}

}  // namespace

EpochState going_on_from(const SavedRun& saved, int ranks) {
  EpochState state = saved.training;
  const int before = trained_in(saved).ranks;
  state.resumed.push_back({state.epoch, state.steps, utc_now(), before == ranks ? 0 : before});
  return state;
}

TrainingSession::TrainingSession(const RunPlan& plan, const Result& result, const fs::path& out,
                                 const std::string& stem, Workload& workload,
                                 const SamplesFile& samples,
                                 const std::optional<SavedRun>& saved_run,
                                 std::function<void()> saved)
    : out_(out),
      ranks_(plan.ranks),
      trains_(demand<Trains>(workload, "run")),
      samples_(samples),
      saved_(std::move(saved)),
      resumed_from_(saved_run),
      log_(open_log(plan, result, out / (stem + ".log"), workload, saved_run)) {
  next_ = saved_run.value_or(SavedRun{});
  next_.stem = stem;
  next_.identity = result.identity;
  next_.environment_before = result.environment_before;
  next_.conditions = conditions_of(result);
}

std::optional<EpochState> TrainingSession::resume_from() const {
  if (!resumed_from_) return std::nullopt;
  return going_on_from(*resumed_from_, ranks_);
}

void TrainingSession::attach(SessionHooks& hooks) {
  hooks.data_opened = [this, before = std::move(hooks.data_opened)](const DataReport& data) {
    before(data);
    next_.conditions["data"] =
        data.dataset ? json(data.dataset->sha256.value_or("unknown")) : json();
    if (resumed_from_) expect_same_conditions(resumed_from_->conditions, next_.conditions);
  };
  hooks.save = [this](const EpochState& state) { save(state); };
  if (!resumed_from_) return;
  hooks.restore = [this] { restore_workload(out_, *resumed_from_, trains_); };
}

// A state that is saved while an epoch is evaluated is of the moment before its end was logged:
// whoever goes on from it logs that again.
void TrainingSession::epoch_end(std::int64_t /*epoch*/) {
  note_files();
  evaluating_ = true;
}

void TrainingSession::evaluated(const Quality& /*quality*/, const EvaluationPoint& /*at*/) {
  evaluating_ = false;
}

void TrainingSession::note_files() {
  next_.samples = samples_.written();
  next_.log = log_.writer().written();
  next_.log_ms = log_.writer().last_ms();
}

void TrainingSession::save(const EpochState& state) {
  next_.training = state;
  if (!evaluating_) note_files();
  save_run(out_, next_, trains_);
  if (const auto saved = std::exchange(saved_, nullptr)) saved();
}

}  // namespace harness
