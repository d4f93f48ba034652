#include "harness/result/world_report.hpp"

#include <algorithm>

#include "harness/result/common_json.hpp"
#include "harness/result/json_fields.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr JsonFields kRank(JsonField("rank", &RankReport::rank),
                           JsonField("cpus", &RankReport::cpus));
constexpr JsonFields kWorld(JsonField("ranks", &WorldReport::ranks),
                            JsonField("nodes", &WorldReport::nodes),
                            JsonField("engine", &WorldReport::engine),
                            JsonField("global_batch_size", &WorldReport::global_batch_size));

struct Number {
  const char* key;
  std::optional<double> RankReport::*member;
};
constexpr Number kNumbers[] = {{"own_seconds", &RankReport::own_seconds},
                               {"wait_seconds", &RankReport::wait_seconds},
                               {"sum_seconds", &RankReport::sum_seconds},
                               {"peak_bytes", &RankReport::peak_bytes}};

json rank_json(const RankReport& rank) {
  json object = kRank.put(rank, {{"node", rank.node}});
  if (!rank.cpu_model.empty()) object["cpu_model"] = rank.cpu_model;
  for (const auto& [key, member] : kNumbers) put(object, key, rank.*member, rank.missing);
  return object;
}

RankReport rank_from(const json& object) {
  RankReport rank = kRank.take(object);
  rank.node = object.value("node", std::int64_t{0});
  rank.cpu_model = object.value("cpu_model", std::string());
  for (const auto& [key, member] : kNumbers) {
    rank.*member = optional_of<double>(object, key);
    if (!(rank.*member)) rank.missing = reason_of(object, key);
  }
  return rank;
}

}  // namespace

std::optional<double> RankReport::hidden() const {
  if (!wait_seconds || !sum_seconds || *sum_seconds <= 0) return std::nullopt;
  return std::max(0.0, 1 - *wait_seconds / *sum_seconds);
}

const RankReport* slowest_rank(const WorldReport& world) {
  // Less than this is chance.
  constexpr double kNoticed = 1.02;
  const RankReport* slowest = nullptr;
  const RankReport* fastest = nullptr;
  for (const RankReport& rank : world.members) {
    if (!rank.own_seconds) continue;
    if (slowest == nullptr || *rank.own_seconds > *slowest->own_seconds) slowest = &rank;
    if (fastest == nullptr || *rank.own_seconds < *fastest->own_seconds) fastest = &rank;
  }
  const bool told = slowest != nullptr && *slowest->own_seconds > kNoticed * *fastest->own_seconds;
  return told ? slowest : nullptr;
}

json world_json(const WorldReport& world) {
  json object = kWorld.put(world);
  object["members"] = list_json(world.members, rank_json);
  return object;
}

WorldReport world_from_json(const json& object) {
  WorldReport world = kWorld.take(object);
  world.members = list_from<RankReport>(object.at("members"), rank_from);
  return world;
}

}  // namespace harness
