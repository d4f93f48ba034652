#include "harness/result/ablation_json.hpp"

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/result/json_fields.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr JsonFields kTurn(JsonField("round", &Turn::round), JsonField("warmup", &Turn::warmup),
                           JsonField("order", &Turn::order),
                           JsonField("step_seconds", &Turn::step_seconds),
                           JsonField("phase_seconds", &Turn::phase_seconds));

constexpr JsonFields kPhase(JsonField("name", &VariantPhase::name),
                            JsonField("median_seconds", &VariantPhase::median_seconds));

constexpr JsonFields kVariant(JsonField("name", &Variant::name),
                              JsonField("summary", &Variant::summary));

constexpr JsonFields kLeftOut(JsonField("name", &LeftOut::name),
                              JsonField("reason", &LeftOut::reason));

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

json phase_json(const VariantPhase& phase) {
  json object = kPhase.put(phase);
  put_speedup(object, "ratio_to_reference", phase.to_reference);
  return object;
}

VariantPhase phase_from(const json& object) {
  VariantPhase phase = kPhase.take(object);
  phase.to_reference = speedup_from(object, "ratio_to_reference");
  return phase;
}

json variant_json(const Variant& variant) {
  json object = kVariant.put(variant);
  object["settings"] = variant.settings.chosen;
  object["settings"]["kernels"] = variant.settings.kernels;
  object["peak_memory_source"] = variant.memory.source;
  object["phases"] = list_json(variant.phases, phase_json);
  object["turns"] = list_json(variant.turns, kTurn);
  put(object, "median_seconds", variant.median_seconds, "no round was finished after the warm-up");
  put_speedup(object, "ratio_to_first", variant.to_first);
  put_speedup(object, "ratio_to_previous", variant.to_previous);
  put_speedup(object, "ratio_to_reference", variant.to_reference);
  put(object, "peak_memory_bytes", variant.memory.peak_bytes, variant.memory.reason);
  put(object, "quality_passed", variant.quality ? variant.quality->passed : std::nullopt,
      variant.quality ? "there is nothing to judge it by" : "quality was not evaluated");
  put(object, "quality", variant.quality, "quality was not evaluated", quality_json);
  return object;
}

Variant variant_from(const json& object) {
  Variant variant = kVariant.take(object);
  json settings = object.at("settings");
  variant.settings.kernels = settings.at("kernels").get<KernelSet>();
  settings.erase("kernels");
  variant.settings.chosen = standard_variant().chosen;
  for (const auto& [name, value] : settings.items()) variant.settings.chosen[name] = value;
  variant.median_seconds = optional_of<double>(object, "median_seconds");
  variant.to_first = speedup_from(object, "ratio_to_first");
  variant.to_previous = speedup_from(object, "ratio_to_previous");
  variant.to_reference = speedup_from(object, "ratio_to_reference");
  variant.memory = {optional_of<double>(object, "peak_memory_bytes"),
                    object.at("peak_memory_source"), ""};
  if (!variant.memory.peak_bytes) variant.memory.reason = reason_of(object, "peak_memory_bytes");
  if (!object.at("quality").is_null()) variant.quality = quality_from(object.at("quality"));
  variant.phases = list_from<VariantPhase>(object.at("phases"), phase_from);
  variant.turns = list_from<Turn>(object.at("turns"), kTurn);
  return variant;
}

}  // namespace

json to_json(const Ablation& ablation) {
  json document = common_json(ablation, "ablation", kAblationSchemaVersion);
  document["variants"] = list_json(ablation.variants, variant_json);
  document["left_out"] = list_json(ablation.left_out, kLeftOut);
  clean_for_result(document);
  return document;
}

Ablation ablation_from_json(const json& document) {
  try {
    Ablation ablation;
    read_common(document, ablation);
    ablation.variants = list_from<Variant>(document.at("variants"), variant_from);
    ablation.left_out = list_from<LeftOut>(document.at("left_out"), kLeftOut);
    return ablation;
  } catch (const json::exception& error) {
    throw Error("ablation", "does not fit the schema: " + printable(error.what()),
                "harness validate FILE names each problem", ExitCode::kInvalid);
  }
}

}  // namespace harness
