#include "harness/result/profile_json.hpp"

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/result/json_fields.hpp"
#include "harness/result/result_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr const char* kUnknown = "cannot be told from what was recorded";

constexpr JsonFields kOperator(
    JsonField("phase", &OperatorRow::phase), JsonField("module", &OperatorRow::module),
    JsonField("name", &OperatorRow::name), JsonField("kernel", &OperatorRow::kernel),
    JsonField("backward", &OperatorRow::backward), JsonField("shapes", &OperatorRow::shapes),
    JsonField("calls", &OperatorRow::calls), JsonField("self_seconds", &OperatorRow::self_seconds),
    JsonField("primitive_seconds", &OperatorRow::primitive_seconds),
    JsonField("reorder_seconds", &OperatorRow::reorder_seconds),
    JsonField("bytes", &OperatorRow::bytes), JsonField("flops", &OperatorRow::flops),
    JsonField("page_faults", &OperatorRow::page_faults));

constexpr JsonFields kSystem(JsonField("seconds", &SystemTime::seconds),
                             JsonField("page_faults", &SystemTime::page_faults));

constexpr JsonFields kTensor(JsonField("name", &TensorLayout::name),
                             JsonField("type", &TensorLayout::type),
                             JsonField("layout", &TensorLayout::layout),
                             JsonField("chosen_by_library", &TensorLayout::chosen_by_library));

constexpr JsonFields kPrimitive(JsonField("kind", &Primitive::kind),
                                JsonField("implementation", &Primitive::implementation),
                                JsonField("direction", &Primitive::direction),
                                JsonField("attributes", &Primitive::attributes),
                                JsonField("auxiliary", &Primitive::auxiliary),
                                JsonField("problem", &Primitive::problem),
                                JsonField("median_milliseconds", &Primitive::milliseconds));

constexpr JsonFields kPrimitiveRow(JsonField("library", &PrimitiveRow::library),
                                   JsonField("calls", &PrimitiveRow::calls),
                                   JsonField("seconds", &PrimitiveRow::seconds),
                                   JsonField("created", &PrimitiveRow::created));

constexpr JsonFields kAllocation(JsonField("bytes", &LargeAllocation::bytes),
                                 JsonField("operator", &LargeAllocation::operator_name),
                                 JsonField("module", &LargeAllocation::module),
                                 JsonField("shapes", &LargeAllocation::shapes));

constexpr JsonFields kTables(JsonField("steps", &ProfileTables::steps),
                             JsonField("step_seconds", &ProfileTables::step_seconds),
                             JsonField("between_seconds", &ProfileTables::between_seconds),
                             JsonField("attributed_share", &ProfileTables::attributed_share),
                             JsonField("libraries", &ProfileTables::libraries),
                             JsonField("notes", &ProfileTables::notes));

constexpr JsonFields kFiles(JsonField("trace", &Profile::trace_file),
                            JsonField("log", &Profile::log_file));

json primitive_json(const PrimitiveRow& row) {
  json object = kPrimitiveRow.put(row, kPrimitive.put(row.primitive));
  object["tensors"] = list_json(row.primitive.tensors, kTensor);
  put(object, "operator", row.owner, "it ran outside of all operators");
  put(object, "flops", row.flops, kUnknown);
  put(object, "bytes", row.bytes, kUnknown);
  return object;
}

PrimitiveRow primitive_from(const json& object) {
  PrimitiveRow row = kPrimitiveRow.take(object);
  row.primitive = kPrimitive.take(object);
  row.primitive.tensors = list_from<TensorLayout>(object.at("tensors"), kTensor);
  row.owner = optional_of<std::size_t>(object, "operator");
  row.flops = optional_of<double>(object, "flops");
  row.bytes = optional_of<double>(object, "bytes");
  return row;
}

json tables_json(const ProfileTables& tables) {
  json object = kTables.put(tables);
  object["operators"] = list_json(tables.operators, [&](const OperatorRow& row) {
    json one = kOperator.put(row);
    if (tables.system) one["system_seconds"] = row.system_seconds;
    return one;
  });
  if (tables.system) object["system"] = kSystem.put(*tables.system);
  object["primitives"] = list_json(tables.primitives, primitive_json);
  object["memory"] = list_json(tables.memory, [](const MemoryPoint& point) {
    return json::array({point.seconds, point.bytes});
  });
  object["allocations"] = list_json(tables.allocations, kAllocation);
  object["counters"] = tables.counters;
  object["counters_reason"] = tables.counters_reason;
  return object;
}

ProfileTables tables_from(const json& object) {
  ProfileTables tables = kTables.take(object);
  tables.operators = list_from<OperatorRow>(object.at("operators"), [](const json& one) {
    OperatorRow row = kOperator.take(one);
    row.system_seconds = one.value("system_seconds", 0.0);
    return row;
  });
  tables.primitives = list_from<PrimitiveRow>(object.at("primitives"), primitive_from);
  tables.memory = list_from<MemoryPoint>(object.at("memory"), [](const json& point) {
    return MemoryPoint{point.at(0), point.at(1)};
  });
  tables.allocations = list_from<LargeAllocation>(object.at("allocations"), kAllocation);
  // Since 1.5.0.
  if (const auto system = object.find("system"); system != object.end()) {
    tables.system = kSystem.take(*system);
  }
  // Since 1.1.0.
  tables.counters = object.value("counters", tables.counters);
  tables.counters_reason = object.value("counters_reason", "");
  return tables;
}

}  // namespace

json to_json(const Profile& profile) {
  json document = to_json(static_cast<const Result&>(profile));
  document["kind"] = "profile";
  document["schema_version"] = kProfileSchemaVersion;
  json& part = document["profile"] = tables_json(profile.tables);
  put(part, "overhead", profile.overhead, profile.overhead_reason, interval_json);
  part["files"] = kFiles.put(profile);
  clean_for_result(document);
  return document;
}

Profile profile_from_json(const json& document) {
  try {
    Profile profile;
    static_cast<Result&>(profile) = result_from_json(document);
    const json& part = document.at("profile");
    profile.tables = tables_from(part);
    if (part.at("overhead").is_null()) {
      profile.overhead_reason = reason_of(part, "overhead");
    } else {
      profile.overhead = interval_from(part.at("overhead"));
    }
    kFiles.take(part.at("files"), profile);
    return profile;
  } catch (const json::exception& error) {
    throw Error("profile", "does not fit the schema: " + printable(error.what()),
                "harness validate FILE names each problem", ExitCode::kInvalid);
  }
}

}  // namespace harness
