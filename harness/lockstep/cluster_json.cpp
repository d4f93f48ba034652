#include "harness/lockstep/cluster_json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace harness {
namespace {

using nlohmann::json;

json to_json(const SideTurns& side) {
  json object = {{"side", side.name},
                 {"says", side.hello.name},
                 {"unit", side.hello.unit},
                 {"start_seconds", side.start_seconds},
                 {"idle_seconds", side.idle_seconds},
                 {"idle_cpu_seconds", side.idle_cpu_seconds},
                 {"exit_code", side.exit_code},
                 {"turns", json::array()}};
  if (!side.hello.setup.is_null()) object["setup"] = side.hello.setup;
  for (const LockstepTurn& turn : side.turns) object["turns"].push_back(to_json(turn));
  if (side.quality) object["quality"] = to_json(side.quality);
  return object;
}

double seconds_from(const json& object, const char* key) {
  const double seconds = object.at(key);
  if (!std::isfinite(seconds) || seconds < 0) throw ProtocolError("a time below 0");
  return seconds;
}

/// 0 where there are none: not all files have them.
double seconds_if_any(const json& object, const char* key) {
  return object.contains(key) ? seconds_from(object, key) : 0;
}

/// Files of before turns were measured have none.
std::int64_t count_in(const json& object, const char* key, std::int64_t missing, std::int64_t least,
                      std::int64_t most) {
  const json value = object.value(key, json(missing));
  if (!value.is_number_integer() || value < least || value > most) {
    throw ProtocolError(std::string("no number of ") + key);
  }
  return value;
}

/// What it holds of the side's answer is checked as the answer was.
LockstepTurn turn_from(json object) {
  LockstepTurn turn{object.at("round"), object.at("place"), {}};
  turn.timed.parent_seconds = seconds_from(object, "parent_seconds");
  turn.timed.waited_seconds = seconds_if_any(object, "waited_seconds");
  turn.timed.stopped_seconds = seconds_if_any(object, "stopped_seconds");
  for (const char* own :
       {"round", "place", "parent_seconds", "waited_seconds", "stopped_seconds"}) {
    object.erase(own);
  }
  turn.timed.answer = parse_answer(object.dump(), std::ssize(object.at("seconds")));
  return turn;
}

SideTurns side_from(const json& object) {
  SideTurns side;
  side.name = object.at("side");
  side.hello.name = object.at("says");
  side.hello.unit = object.at("unit");
  side.hello.setup = object.value("setup", json());
  side.start_seconds = seconds_from(object, "start_seconds");
  side.idle_seconds = seconds_from(object, "idle_seconds");
  side.idle_cpu_seconds = seconds_from(object, "idle_cpu_seconds");
  side.exit_code = object.at("exit_code");
  for (const json& turn : object.at("turns")) side.turns.push_back(turn_from(turn));
  if (object.contains("quality")) {
    side.quality = parse_quality(json{{"quality", object.at("quality")}}.dump());
  }
  return side;
}

}  // namespace

std::string line_of(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace);
}

json to_json(const LockstepTurn& turn) {
  json object = to_json(turn.timed.answer);
  object["round"] = turn.round;
  object["place"] = turn.place;
  object["parent_seconds"] = turn.timed.parent_seconds;
  object["waited_seconds"] = turn.timed.waited_seconds;
  if (turn.timed.stopped_seconds > 0) object["stopped_seconds"] = turn.timed.stopped_seconds;
  return object;
}

json to_json(const ClusterRecord& record) {
  json object = {{"cluster", record.cluster},
                 {"seconds", record.seconds},
                 {"rounds_seconds", record.rounds_seconds},
                 {"steps_per_turn", record.steps_per_turn},
                 {"settle", record.settle},
                 {"slice_seconds", record.slice_seconds},
                 {"sides", json::array()}};
  for (const SideTurns& side : record.sides) object["sides"].push_back(to_json(side));
  if (!record.failed.empty()) {
    object["failed"] = record.failed;
    object["failure"] = record.failure;
  }
  return object;
}

ClusterRecord cluster_from(const json& object) {
  try {
    ClusterRecord record;
    record.cluster = object.at("cluster");
    record.seconds = seconds_from(object, "seconds");
    record.rounds_seconds = seconds_if_any(object, "rounds_seconds");
    record.steps_per_turn = count_in(object, "steps_per_turn", 1, 1, kMostStepsOfOrder);
    record.settle = count_in(object, "settle", 0, 0, kMostSettling);
    record.slice_seconds = seconds_if_any(object, "slice_seconds");
    for (const json& side : object.at("sides")) record.sides.push_back(side_from(side));
    record.failed = object.value("failed", "");
    record.failure = object.value("failure", "");
    return record;
  } catch (const json::exception& error) {
    throw ProtocolError(error.what());
  }
}

}  // namespace harness
