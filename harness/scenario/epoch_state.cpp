#include "harness/scenario/epoch_state.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/result/common_json.hpp"
#include "harness/result/json_fields.hpp"
#include "harness/result/result_json.hpp"

namespace harness {
namespace {

using nlohmann::json;
using Values = std::map<std::string, double>;

constexpr JsonFields kState(JsonField("epoch", &EpochState::epoch),
                            JsonField("steps", &EpochState::steps),
                            JsonField("samples", &EpochState::samples),
                            JsonField("seconds", &EpochState::seconds));

constexpr JsonFields kTotals(JsonField("steps", &EpochTotals::steps),
                             JsonField("seconds", &EpochTotals::seconds));

constexpr JsonFields kSum(JsonField("step_seconds", &StepRecord::seconds),
                          JsonField("samples", &StepRecord::samples),
                          JsonField("phases", &StepRecord::phases),
                          JsonField("stages", &StepRecord::stages),
                          JsonField("losses", &StepRecord::losses));

void add_to(Values& sums, const Values& values) {
  for (const auto& [name, value] : values) sums[name] += value;
}

Values divided(Values sums, double count) {
  for (auto& [name, value] : sums) value /= count;
  return sums;
}

bool plausible(const EpochState& state) {
  constexpr std::int64_t kMostCounted = std::int64_t{1} << 53;
  const EpochTotals& totals = state.totals;
  const auto counts = [](std::int64_t value) { return value >= 0 && value <= kMostCounted; };
  return state.epoch >= 1 && counts(state.epoch) && counts(state.steps) && counts(state.samples) &&
         counts(totals.steps) && totals.steps <= state.steps && counts(totals.sum.samples) &&
         state.seconds >= 0 && totals.seconds >= 0 && totals.seconds <= state.seconds &&
         totals.sum.seconds >= 0;
}

}  // namespace

void EpochTotals::add(const StepRecord& step) {
  ++steps;
  sum.seconds += step.seconds;
  sum.samples += step.samples;
  add_to(sum.phases, step.phases);
  add_to(sum.stages, step.stages);
  add_to(sum.losses, step.losses);
}

StepRecord EpochTotals::mean(std::int64_t epoch) const {
  const auto count = static_cast<double>(steps);
  StepRecord record;
  record.step = epoch;
  record.seconds = sum.seconds / count;
  record.samples = sum.samples / steps;
  record.phases = divided(sum.phases, count);
  record.stages = divided(sum.stages, count);
  record.losses = divided(sum.losses, count);
  return record;
}

json to_json(const EpochState& state) {
  json document = kState.put(state);
  document["totals"] = kSum.put(state.totals.sum, kTotals.put(state.totals));
  document["quality"] =
      state.quality ? quality_json(QualityReport{*state.quality, {}, {}, {}}) : json();
  document["metrics"] = list_json(state.metrics, metric_json);
  document["resumed"] = list_json(state.resumed, resumption_json);
  return document;
}

EpochState epoch_state_from_json(const json& document) {
  EpochState state = kState.take(document);
  state.totals = kTotals.take(document.at("totals"));
  kSum.take(document.at("totals"), state.totals.sum);
  if (const json& quality = document.at("quality"); !quality.is_null()) {
    state.quality = quality_from(quality).quality;
  }
  state.metrics = list_from<Metric>(document.at("metrics"), metric_from_json);
  state.resumed = list_from<Resumption>(document.at("resumed"), resumption_from_json);
  if (!plausible(state)) throw std::out_of_range("impossible epochs, steps or times");
  return state;
}

}  // namespace harness
