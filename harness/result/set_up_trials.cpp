#include "harness/result/set_up_trials.hpp"

#include <algorithm>
#include <utility>

#include "harness/result/json_fields.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr JsonFields kFields(JsonField("threads", &SetUpTrial::threads),
                             JsonField("batch_size", &SetUpTrial::batch_size),
                             JsonField("samples_per_second", &SetUpTrial::samples_per_second));

}  // namespace

const SetUpTrial& best_set_up(const std::vector<SetUpTrial>& trials) {
  const SetUpTrial& usual = trials.front();
  const SetUpTrial& fastest =
      *std::max_element(trials.begin(), trials.end(), [](const SetUpTrial& a, const SetUpTrial& b) {
        return a.samples_per_second < b.samples_per_second;
      });
  const bool worth = fastest.samples_per_second >= kWorthAnotherSetUp * usual.samples_per_second;
  return worth ? fastest : usual;
}

json set_up_json(const SetUpTrials& set_up) {
  json trials = json::array();
  for (const SetUpTrial& trial : set_up.trials) {
    json one = kFields.put(trial);
    if (!trial.precision.empty()) one["precision"] = trial.precision;
    trials.push_back(std::move(one));
  }
  json object = {{"seconds", set_up.seconds}, {"trials", std::move(trials)}};
  if (!set_up.from.empty()) object["from"] = set_up.from;
  return object;
}

SetUpTrials set_up_from(const json& object) {
  SetUpTrials set_up{object.at("seconds").get<double>(), object.value("from", ""), {}};
  for (const json& one : object.at("trials")) {
    set_up.trials.push_back(kFields.take(one));
    set_up.trials.back().precision = one.value("precision", "");
  }
  return set_up;
}

}  // namespace harness
