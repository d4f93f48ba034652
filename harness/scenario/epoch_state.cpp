#include "harness/scenario/epoch_state.hpp"

#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "harness/result/common_json.hpp"
#include "harness/result/result_json.hpp"

namespace harness {
namespace {

using nlohmann::json;
using Values = std::map<std::string, double>;

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
  const EpochTotals& totals = state.totals;
  json metrics = json::array();
  for (const Metric& metric : state.metrics) metrics.push_back(metric_json(metric));
  json resumed = json::array();
  for (const Resumption& one : state.resumed) {
    resumed.push_back(resumption_json(one));
  }
  const QualityReport last{state.quality.value_or(Quality{}), {}, {}, {}};
  return {{"epoch", state.epoch},
          {"quality", state.quality ? quality_json(last) : json()},
          {"totals",
           {{"steps", totals.steps},
            {"seconds", totals.seconds},
            {"step_seconds", totals.sum.seconds},
            {"samples", totals.sum.samples},
            {"phases", totals.sum.phases},
            {"stages", totals.sum.stages},
            {"losses", totals.sum.losses}}},
          {"steps", state.steps},
          {"samples", state.samples},
          {"seconds", state.seconds},
          {"metrics", std::move(metrics)},
          {"resumed", std::move(resumed)}};
}

EpochState epoch_state_from_json(const json& document) {
  EpochState state;
  state.epoch = document.at("epoch");
  const json& totals = document.at("totals");
  state.totals.steps = totals.at("steps");
  state.totals.seconds = totals.at("seconds");
  state.totals.sum.seconds = totals.at("step_seconds");
  state.totals.sum.samples = totals.at("samples");
  state.totals.sum.phases = totals.at("phases").get<Values>();
  state.totals.sum.stages = totals.at("stages").get<Values>();
  state.totals.sum.losses = totals.at("losses").get<Values>();
  state.steps = document.at("steps");
  state.samples = document.at("samples");
  state.seconds = document.at("seconds");
  if (const json& quality = document.at("quality"); !quality.is_null()) {
    state.quality = quality_from(quality).quality;
  }
  for (const json& metric : document.at("metrics")) {
    state.metrics.push_back(metric_from_json(metric));
  }
  for (const json& one : document.at("resumed")) {
    state.resumed.push_back(resumption_from_json(one));
  }
  if (!plausible(state)) throw std::out_of_range("impossible epochs, steps or times");
  return state;
}

}  // namespace harness
