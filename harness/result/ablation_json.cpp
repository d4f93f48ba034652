#include "harness/result/ablation_json.hpp"

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_from_json.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/json_clean.hpp"

namespace harness {
namespace {

using nlohmann::json;

void put_speedup(json& object, const char* key, const Speedup& speedup) {
  if (!speedup.value) {
    put(object, key, std::optional<double>(), speedup.reason);
    return;
  }
  json& ratio = object[key] = {{"to", speedup.to}, {"median", speedup.value->center}};
  put_bounds(ratio, *speedup.value);
}

Speedup speedup_from(const json& variant, const char* key) {
  const json& ratio = variant.at(key);
  if (ratio.is_null()) return {"", std::nullopt, reason_of(variant, key)};
  return {ratio.at("to"), bounds_from(ratio, ratio.at("median").get<double>()), ""};
}

json turn_json(const Turn& turn) {
  return {{"round", turn.round},
          {"warmup", turn.warmup},
          {"order", turn.order},
          {"step_seconds", turn.step_seconds},
          {"phase_seconds", turn.phase_seconds}};
}

Turn turn_from(const json& object) {
  return {object.at("round"), object.at("warmup"), object.at("order"),
          object.at("step_seconds").get<std::vector<double>>(),
          object.at("phase_seconds").get<std::map<std::string, std::vector<double>>>()};
}

json phase_json(const VariantPhase& phase) {
  json object = {{"name", phase.name}, {"median_seconds", phase.median_seconds}};
  put_speedup(object, "ratio_to_reference", phase.to_reference);
  return object;
}

VariantPhase phase_from(const json& object) {
  return {object.at("name"), object.at("median_seconds"),
          speedup_from(object, "ratio_to_reference")};
}

json variant_json(const Variant& variant) {
  const VariantSettings& settings = variant.settings;
  json object = {{"name", variant.name},
                 {"summary", variant.summary},
                 {"settings",
                  {{"allocator", settings.allocator},
                   {"precision", settings.precision},
                   {"kernels", settings.kernels}}},
                 {"peak_memory_source", variant.memory.source},
                 {"phases", list_json(variant.phases, phase_json)},
                 {"turns", list_json(variant.turns, turn_json)}};
  put(object, "median_seconds", variant.median_seconds, "no round was finished after the warm-up");
  put_speedup(object, "ratio_to_first", variant.to_first);
  put_speedup(object, "ratio_to_previous", variant.to_previous);
  put_speedup(object, "ratio_to_reference", variant.to_reference);
  put(object, "peak_memory_bytes", variant.memory.peak_bytes, variant.memory.reason);
  put(object, "quality_passed", variant.quality ? variant.quality->passed : std::nullopt,
      variant.quality ? "there is nothing to judge it by" : "quality was not evaluated");
  object["quality"] = variant.quality ? quality_json(*variant.quality) : json();
  if (!variant.quality) object["missing"]["quality"] = "quality was not evaluated";
  return object;
}

Variant variant_from(const json& object) {
  Variant variant;
  variant.name = object.at("name");
  variant.summary = object.at("summary");
  const json& settings = object.at("settings");
  variant.settings = {settings.at("allocator"), settings.at("precision"),
                      settings.at("kernels").get<KernelSet>()};
  variant.median_seconds = optional_of<double>(object, "median_seconds");
  variant.to_first = speedup_from(object, "ratio_to_first");
  variant.to_previous = speedup_from(object, "ratio_to_previous");
  variant.to_reference = speedup_from(object, "ratio_to_reference");
  variant.memory = {optional_of<double>(object, "peak_memory_bytes"),
                    object.at("peak_memory_source"), ""};
  if (!variant.memory.peak_bytes) variant.memory.reason = reason_of(object, "peak_memory_bytes");
  if (!object.at("quality").is_null()) variant.quality = quality_from(object.at("quality"));
  variant.phases = list_from<VariantPhase>(object.at("phases"), phase_from);
  variant.turns = list_from<Turn>(object.at("turns"), turn_from);
  return variant;
}

}  // namespace

json to_json(const Ablation& ablation) {
  json document = common_json(ablation, "ablation", kAblationSchemaVersion);
  document["variants"] = list_json(ablation.variants, variant_json);
  document["left_out"] = list_json(ablation.left_out, [](const LeftOut& item) {
    return json{{"name", item.name}, {"reason", item.reason}};
  });
  clean_for_result(document);
  return document;
}

Ablation ablation_from_json(const json& document) {
  try {
    Ablation ablation;
    read_common(document, ablation);
    ablation.variants = list_from<Variant>(document.at("variants"), variant_from);
    ablation.left_out = list_from<LeftOut>(document.at("left_out"), [](const json& item) {
      return LeftOut{item.at("name"), item.at("reason")};
    });
    return ablation;
  } catch (const json::exception& error) {
    throw Error("ablation", "does not fit the schema: " + printable(error.what()),
                "harness validate FILE names each problem", ExitCode::kInvalid);
  }
}

}  // namespace harness
