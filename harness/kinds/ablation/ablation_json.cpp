#include "harness/kinds/ablation/ablation_json.hpp"

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/cost_json.hpp"
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

constexpr JsonFields kPeerFile(JsonField("file", &PeerFile::file),
                               JsonField("sha256", &PeerFile::sha256));

constexpr JsonFields kPeer(JsonField("command", &Peer::command),
                           JsonField("version", &Peer::version));

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

json turn_json(const Turn& turn) {
  json object = kTurn.put(turn);
  if (turn.cluster > 0) object["cluster"] = turn.cluster;
  if (turn.group > 0) object["group"] = turn.group;
  return object;
}

Turn turn_from(const json& object) {
  Turn turn = kTurn.take(object);
  turn.cluster = object.value("cluster", turn.cluster);
  turn.group = object.value("group", turn.group);
  return turn;
}

json peer_json(const Peer& peer) {
  json object = kPeer.put(peer);
  if (!peer.doubt.empty()) object["doubt"] = peer.doubt;
  object["files"] = list_json(peer.files, kPeerFile);
  return object;
}

Peer peer_from(const json& object) {
  Peer peer = kPeer.take(object);
  peer.doubt = object.value("doubt", "");
  peer.files = list_from<PeerFile>(object.at("files"), kPeerFile);
  return peer;
}

json settings_json(const VariantSettings& settings) {
  json object = settings.chosen;
  object["kernels"] = settings.kernels;
  return object;
}

VariantSettings settings_from(json object) {
  VariantSettings settings = standard_variant();
  settings.kernels = object.at("kernels").get<KernelSet>();
  object.erase("kernels");
  for (const auto& [name, value] : object.items()) settings.chosen[name] = value;
  return settings;
}

std::string why_no_quality(const Variant& variant) {
  if (variant.peer) return "a peer is not judged";
  return variant.quality ? "there is nothing to judge it by" : "quality was not evaluated";
}

json variant_json(const Variant& variant) {
  json object = kVariant.put(variant);
  if (variant.peer) object["peer"] = peer_json(*variant.peer);
  put(object, "settings", variant.peer ? std::nullopt : std::optional(variant.settings),
      "a peer has none", settings_json);
  object["peak_memory_source"] = variant.memory.source;
  object["phases"] = list_json(variant.phases, phase_json);
  object["turns"] = list_json(variant.turns, turn_json);
  put(object, "median_seconds", variant.median_seconds, "no round was finished after the warm-up");
  put_speedup(object, "ratio_to_first", variant.to_first);
  put_speedup(object, "ratio_to_previous", variant.to_previous);
  put_speedup(object, "ratio_to_reference", variant.to_reference);
  put(object, "peak_memory_bytes", variant.memory.peak_bytes, variant.memory.reason);
  put(object, "cost", variant.cost, "no cost was computed", cost_json);
  put(object, "quality_passed", variant.quality ? variant.quality->passed : std::nullopt,
      why_no_quality(variant));
  put(object, "quality", variant.quality, why_no_quality(variant), quality_json);
  return object;
}

Variant variant_from(const json& object) {
  Variant variant = kVariant.take(object);
  if (object.contains("peer")) {
    variant.peer = peer_from(object.at("peer"));
  } else {
    variant.settings = settings_from(object.at("settings"));
  }
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
  const json cost = object.value("cost", json());
  if (!cost.is_null()) variant.cost = cost_from(cost);
  return variant;
}

}  // namespace

json to_json(const Ablation& ablation) {
  json document = common_json(ablation, "ablation", kAblationSchemaVersion);
  document["variants"] = list_json(ablation.variants, variant_json);
  document["left_out"] = list_json(ablation.left_out, kLeftOut);
  document["peaks"] = list_json(ablation.peaks, peak_json);
  clean_for_result(document);
  return document;
}

Ablation ablation_from_json(const json& document) {
  try {
    Ablation ablation;
    read_common(document, ablation);
    ablation.variants = list_from<Variant>(document.at("variants"), variant_from);
    ablation.left_out = list_from<LeftOut>(document.at("left_out"), kLeftOut);
    if (document.contains("peaks")) {
      ablation.peaks = list_from<Peak>(document.at("peaks"), peak_from);
    }
    return ablation;
  } catch (const json::exception& error) {
    throw Error("ablation", "does not fit the schema: " + printable(error.what()),
                "harness validate FILE names each problem", ExitCode::kInvalid);
  }
}

}  // namespace harness
