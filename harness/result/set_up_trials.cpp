#include "harness/result/set_up_trials.hpp"

#include <algorithm>

#include "harness/result/common_json.hpp"
#include "harness/result/json_fields.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr JsonFields kTrial(JsonField("threads", &SetUpTrial::threads),
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
  json object = {{"seconds", set_up.seconds}, {"trials", list_json(set_up.trials, kTrial)}};
  if (!set_up.from.empty()) object["from"] = set_up.from;
  return object;
}

SetUpTrials set_up_from(const json& object) {
  return {object.at("seconds").get<double>(), object.value("from", ""),
          list_from<SetUpTrial>(object.at("trials"), kTrial)};
}

}  // namespace harness
