#include "harness/kinds/suite/suite_json.hpp"

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/result/json_fields.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr JsonFields kRun(JsonField("uuid", &SuiteRun::uuid), JsonField("file", &SuiteRun::file),
                          JsonField("digest", &SuiteRun::digest),
                          JsonField("mistrusted", &SuiteRun::mistrusted),
                          JsonField("division", &SuiteRun::division),
                          JsonField("rules_version", &SuiteRun::rules_version),
                          JsonField("seconds", &SuiteRun::seconds));

constexpr JsonFields kFigure(JsonField("tag", &Figure::tag), JsonField("unit", &Figure::unit),
                             JsonField("value", &Figure::value));

constexpr JsonFields kReference(JsonField("file", &SuiteReference::file),
                                JsonField("digest", &SuiteReference::digest),
                                JsonField("uuid", &SuiteReference::uuid),
                                JsonField("machine", &SuiteReference::machine),
                                JsonField("processor", &SuiteReference::processor),
                                JsonField("tier", &SuiteReference::tier),
                                JsonField("started_at", &SuiteReference::started_at));

constexpr JsonFields kMissing(JsonField("name", &LeftOut::name),
                              JsonField("reason", &LeftOut::reason));

json run_json(const SuiteRun& run) { return kRun.put(run, {{"state", to_text(run.state)}}); }

SuiteRun run_from(const json& object) {
  SuiteRun run = kRun.take(object);
  run.state = state_from(object.at("state"));
  return run;
}

json figure_json(const Figure& figure) {
  return kFigure.put(figure, {{"direction", to_text(figure.direction)}});
}

Figure figure_from(const json& object) {
  Figure figure = kFigure.take(object);
  figure.direction = direction_from(object.at("direction"));
  return figure;
}

json suite_quality_json(const SuiteQuality& quality) {
  json object = {{"metric", quality.metric}, {"direction", to_text(quality.direction)}};
  put(object, "value", quality.value, quality.reason);
  put(object, "target", quality.target, "the rules set none");
  put(object, "passed", quality.passed, "there is nothing to judge it by");
  put(object, "fp32", quality.fp32, "the rules froze none for this data");
  put(object, "share", share_of_fp32(quality), "there are no two of a kind to compare");
  return object;
}

SuiteQuality suite_quality_from(const json& object) {
  SuiteQuality quality;
  quality.metric = object.at("metric");
  quality.direction = direction_from(object.at("direction"));
  quality.value = optional_of<double>(object, "value");
  if (!quality.value) quality.reason = reason_of(object, "value");
  quality.target = optional_of<double>(object, "target");
  quality.passed = optional_of<bool>(object, "passed");
  quality.fp32 = optional_of<double>(object, "fp32");
  return quality;
}

json task_json(const SuiteTask& task) {
  json object = {
      {"workload", task.workload}, {"scenario", task.scenario}, {"available", task.available}};
  put(object, "run", task.run, task.no_run, run_json);
  put(object, "figure", task.figure, task.no_figure, figure_json);
  put(object, "quality", task.quality, task.run ? "the run has none" : task.no_run,
      suite_quality_json);
  put(object, "reference", task.reference, task.no_ratio);
  put(object, "ratio", task.ratio, task.no_ratio);
  return object;
}

SuiteTask task_from(const json& object) {
  SuiteTask task;
  task.workload = object.at("workload");
  task.scenario = object.at("scenario");
  task.available = object.at("available");
  const auto there = [&](const char* key, std::string& why) {
    const bool is_there = !object.at(key).is_null();
    if (!is_there) why = reason_of(object, key);
    return is_there;
  };
  std::string ignored;
  if (there("run", task.no_run)) task.run = run_from(object.at("run"));
  if (there("figure", task.no_figure)) task.figure = figure_from(object.at("figure"));
  if (there("quality", ignored)) task.quality = suite_quality_from(object.at("quality"));
  if (there("ratio", task.no_ratio)) task.ratio = object.at("ratio").get<double>();
  task.reference = optional_of<double>(object, "reference");
  return task;
}

json score_json(const SuiteScore& score) {
  json object = {{"counted", score.counted}, {"left_out", list_json(score.missing, kMissing)}};
  put(object, "value", score.value, score.reason);
  return object;
}

SuiteScore score_from(const json& object) {
  SuiteScore score;
  score.value = optional_of<double>(object, "value");
  if (!score.value) score.reason = reason_of(object, "value");
  object.at("counted").get_to(score.counted);
  score.missing = list_from<LeftOut>(object.at("left_out"), kMissing);
  return score;
}

}  // namespace

json to_json(const Suite& suite) {
  json document = common_json(suite, kSuiteName, kSuiteSchemaVersion);
  document["tasks"] = list_json(suite.tasks, task_json);
  put(document, "reference", suite.reference, suite.no_reference,
      [](const SuiteReference& reference) { return kReference.put(reference); });
  document["score"] = score_json(suite.score);
  clean_for_result(document);
  return document;
}

Suite suite_from_json(const json& document) {
  try {
    Suite suite;
    read_common(document, suite);
    suite.tasks = list_from<SuiteTask>(document.at("tasks"), task_from);
    if (document.at("reference").is_null()) {
      suite.no_reference = reason_of(document, "reference");
    } else {
      suite.reference = kReference.take(document.at("reference"));
    }
    suite.score = score_from(document.at("score"));
    return suite;
  } catch (const json::exception& error) {
    throw Error("suite", "does not fit the schema: " + printable(error.what()),
                "harness validate FILE names each problem", ExitCode::kInvalid);
  }
}

}  // namespace harness
