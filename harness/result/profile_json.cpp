#include "harness/result/profile_json.hpp"

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/result/common_from_json.hpp"
#include "harness/result/common_json.hpp"
#include "harness/result/json_clean.hpp"
#include "harness/result/result_from_json.hpp"
#include "harness/result/result_json.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr const char* kUnknown = "cannot be told from what was recorded";

json operator_json(const OperatorRow& row) {
  return {{"phase", row.phase},
          {"module", row.module},
          {"name", row.name},
          {"kernel", row.kernel},
          {"backward", row.backward},
          {"shapes", row.shapes},
          {"calls", row.calls},
          {"self_seconds", row.self_seconds},
          {"primitive_seconds", row.primitive_seconds},
          {"reorder_seconds", row.reorder_seconds},
          {"bytes", row.bytes},
          {"flops", row.flops},
          {"page_faults", row.page_faults}};
}

OperatorRow operator_from(const json& object) {
  OperatorRow row;
  row.phase = object.at("phase");
  row.module = object.at("module");
  row.name = object.at("name");
  row.kernel = object.at("kernel");
  row.backward = object.at("backward");
  row.shapes = object.at("shapes");
  row.calls = object.at("calls");
  row.self_seconds = object.at("self_seconds");
  row.primitive_seconds = object.at("primitive_seconds");
  row.reorder_seconds = object.at("reorder_seconds");
  row.bytes = object.at("bytes");
  row.flops = object.at("flops");
  row.page_faults = object.at("page_faults");
  return row;
}

json tensor_json(const TensorLayout& tensor) {
  return {{"name", tensor.name},
          {"type", tensor.type},
          {"layout", tensor.layout},
          {"chosen_by_library", tensor.chosen_by_library}};
}

json primitive_json(const PrimitiveRow& row) {
  const Primitive& primitive = row.primitive;
  json object = {{"library", row.library},
                 {"kind", primitive.kind},
                 {"implementation", primitive.implementation},
                 {"direction", primitive.direction},
                 {"tensors", list_json(primitive.tensors, tensor_json)},
                 {"attributes", primitive.attributes},
                 {"auxiliary", primitive.auxiliary},
                 {"problem", primitive.problem},
                 {"median_milliseconds", primitive.milliseconds},
                 {"calls", row.calls},
                 {"seconds", row.seconds},
                 {"created", row.created}};
  put(object, "operator", row.owner, "it ran outside of all operators");
  put(object, "flops", row.flops, kUnknown);
  put(object, "bytes", row.bytes, kUnknown);
  return object;
}

PrimitiveRow primitive_from(const json& object) {
  PrimitiveRow row;
  row.library = object.at("library");
  Primitive& primitive = row.primitive;
  primitive.kind = object.at("kind");
  primitive.implementation = object.at("implementation");
  primitive.direction = object.at("direction");
  primitive.tensors = list_from<TensorLayout>(object.at("tensors"), [](const json& tensor) {
    return TensorLayout{tensor.at("name"), tensor.at("type"), tensor.at("layout"),
                        tensor.at("chosen_by_library")};
  });
  primitive.attributes = object.at("attributes");
  primitive.auxiliary = object.at("auxiliary");
  primitive.problem = object.at("problem");
  primitive.milliseconds = object.at("median_milliseconds");
  row.calls = object.at("calls");
  row.seconds = object.at("seconds");
  row.created = object.at("created");
  row.owner = optional_of<std::size_t>(object, "operator");
  row.flops = optional_of<double>(object, "flops");
  row.bytes = optional_of<double>(object, "bytes");
  return row;
}

json tables_json(const ProfileTables& tables) {
  return {{"steps", tables.steps},
          {"step_seconds", tables.step_seconds},
          {"between_seconds", tables.between_seconds},
          {"attributed_share", tables.attributed_share},
          {"operators", list_json(tables.operators, operator_json)},
          {"primitives", list_json(tables.primitives, primitive_json)},
          {"memory", list_json(tables.memory,
                               [](const MemoryPoint& point) {
                                 return json::array({point.seconds, point.bytes});
                               })},
          {"allocations", list_json(tables.allocations,
                                    [](const LargeAllocation& item) {
                                      return json{{"bytes", item.bytes},
                                                  {"operator", item.operator_name},
                                                  {"module", item.module},
                                                  {"shapes", item.shapes}};
                                    })},
          {"libraries", tables.libraries},
          {"counters", tables.counters},
          {"counters_reason", tables.counters_reason},
          {"notes", tables.notes}};
}

ProfileTables tables_from(const json& object) {
  ProfileTables tables;
  tables.steps = object.at("steps");
  tables.step_seconds = object.at("step_seconds");
  tables.between_seconds = object.at("between_seconds");
  tables.attributed_share = object.at("attributed_share");
  tables.operators = list_from<OperatorRow>(object.at("operators"), operator_from);
  tables.primitives = list_from<PrimitiveRow>(object.at("primitives"), primitive_from);
  tables.memory = list_from<MemoryPoint>(object.at("memory"), [](const json& point) {
    return MemoryPoint{point.at(0), point.at(1)};
  });
  tables.allocations = list_from<LargeAllocation>(object.at("allocations"), [](const json& item) {
    return LargeAllocation{item.at("bytes"), item.at("operator"), item.at("module"),
                           item.at("shapes")};
  });
  tables.libraries = object.at("libraries").get<std::vector<std::string>>();
  // Since 1.1.0.
  tables.counters = object.value("counters", tables.counters);
  tables.counters_reason = object.value("counters_reason", "");
  tables.notes = object.at("notes").get<std::vector<std::string>>();
  return tables;
}

}  // namespace

json to_json(const Profile& profile) {
  json document = to_json(static_cast<const Result&>(profile));
  document["kind"] = "profile";
  document["schema_version"] = kProfileSchemaVersion;
  json& part = document["profile"] = tables_json(profile.tables);
  part["overhead"] = profile.overhead ? interval_json(*profile.overhead) : json();
  if (!profile.overhead) part["missing"]["overhead"] = why_missing(profile.overhead_reason);
  part["files"] = {{"trace", profile.trace_file}, {"log", profile.log_file}};
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
    profile.trace_file = part.at("files").at("trace");
    profile.log_file = part.at("files").at("log");
    return profile;
  } catch (const json::exception& error) {
    throw Error("profile", "does not fit the schema: " + printable(error.what()),
                "harness validate FILE names each problem", ExitCode::kInvalid);
  }
}

}  // namespace harness
