#include "harness/lockstep/protocol.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/base/text.hpp"

namespace harness {
namespace {

using nlohmann::json;

constexpr std::int64_t kVersion = 1;
constexpr std::size_t kMostNames = 1000;  // of losses, or of phases: conv-blocks has one a pass
constexpr double kMostStepSeconds = 86'400;
constexpr double kLeastStepSeconds = 1e-9;  // no clock tells less, and ratios stay finite
constexpr std::size_t kShown = 80;

[[noreturn]] void refuse(std::string_view line, const std::string& why) {
  throw ProtocolError(fmt::format("{} in the line '{}'", why, printable(line, kShown)));
}

json parse_object(std::string_view line) {
  JsonLimits limits;
  limits.file_bytes = kMostLineBytes;
  json object;
  try {
    object = parse_json(line, "a line", limits);
  } catch (const Error& error) {
    throw ProtocolError(fmt::format("'{}' is no JSON: {}", printable(line, kShown), error.why()));
  }
  if (!object.is_object()) refuse(line, "no object");
  if (object.contains("error")) {
    const json& why = object.at("error");
    if (!why.is_string()) refuse(line, "an error without words");
    throw ProtocolError("it says: " + printable(why.get<std::string>()));
  }
  return object;
}

/// Throws for a member that is none of `known`: half of a misunderstanding is none.
void expect_only(std::string_view line, const json& object, const std::set<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!known.contains(key)) refuse(line, fmt::format("unknown '{}'", printable(key, kShown)));
  }
}

std::int64_t count_in(std::string_view line, const json& object, const char* key,
                      std::int64_t otherwise, std::int64_t low, std::int64_t high) {
  const json value = object.value(key, json(otherwise));
  const bool fits = value.is_number_integer() && value >= low && value <= high;
  if (!fits) refuse(line, fmt::format("'{}' is not from {} to {}", key, low, high));
  return value.get<std::int64_t>();
}

bool choice_in(std::string_view line, const json& object, const char* key) {
  const json value = object.value(key, json(false));
  if (!value.is_boolean()) refuse(line, fmt::format("'{}' is neither true nor false", key));
  return value.get<bool>();
}

std::string word_in(std::string_view line, const json& object, const char* key) {
  const json value = object.value(key, json());
  if (!value.is_string() || value.get<std::string>().empty()) {
    refuse(line, fmt::format("no '{}'", key));
  }
  return value.get<std::string>();
}

std::vector<double> seconds_in(std::string_view line, const json& list, const std::string& name) {
  if (!list.is_array()) refuse(line, fmt::format("'{}' is no list", printable(name, kShown)));
  std::vector<double> seconds;
  for (const json& value : list) {
    const double one = value.is_number() ? value.get<double>() : -1;
    const bool fits =
        one <= kMostStepSeconds && (one >= kLeastStepSeconds || (one >= 0 && name != "seconds"));
    if (!fits) {
      refuse(line, fmt::format("'{}' holds {}, which is no time of a step", printable(name, kShown),
                               printable(value.dump(), kShown)));
    }
    seconds.push_back(one);
  }
  return seconds;
}

std::vector<std::optional<double>> losses_in(std::string_view line, const json& list) {
  if (!list.is_array()) refuse(line, "a loss is no list");
  std::vector<std::optional<double>> losses;
  for (const json& value : list) {
    if (!value.is_null() && !value.is_number()) refuse(line, "a loss is no number");
    losses.push_back(value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  }
  return losses;
}

/// Calls `take` with each name and its list in the object `key`, if there is one.
template <class Take>
void for_lists(std::string_view line, const json& object, const char* key, const Take& take) {
  const json lists = object.value(key, json::object());
  if (!lists.is_object() || lists.size() > kMostNames) {
    refuse(line, fmt::format("'{}' is no object of at most {} lists", key, kMostNames));
  }
  for (const auto& [name, list] : lists.items()) take(name, list);
}

}  // namespace

bool TurnAnswer::diverged() const {
  for (const auto& [name, values] : losses) {
    if (!values.empty() && !values.back()) return true;
  }
  return false;
}

std::string hello_line(const SideHello& hello) {
  json object = {{"lockstep", kVersion}, {"name", hello.name}, {"unit", hello.unit}};
  if (hello.settle > 0) object["settle"] = hello.settle;
  if (hello.slices) object["slices"] = true;
  if (hello.leaves_out_stops) object["leaves_out_stops"] = true;
  if (!hello.setup.is_null()) object["setup"] = hello.setup;
  return object.dump();
}

SideHello parse_hello(std::string_view line) {
  const json object = parse_object(line);
  expect_only(line, object,
              {"lockstep", "name", "unit", "settle", "slices", "leaves_out_stops", "setup"});
  if (object.value("lockstep", json()) != kVersion) {
    refuse(line, fmt::format("no \"lockstep\": {}", kVersion));
  }
  SideHello hello;
  hello.name = word_in(line, object, "name");
  hello.unit = word_in(line, object, "unit");
  if (hello.unit != "step" && hello.unit != "query") refuse(line, "unit is neither step nor query");
  hello.settle = count_in(line, object, "settle", 0, 0, kMostSettling);
  hello.slices = choice_in(line, object, "slices");
  hello.leaves_out_stops = choice_in(line, object, "leaves_out_stops");
  hello.setup = object.value("setup", json());
  if (!hello.setup.is_null() && !hello.setup.is_object()) refuse(line, "'setup' is no object");
  return hello;
}

std::string order_line(const StepOrder& order) {
  switch (order.kind) {
    case OrderKind::kEvaluate:
      return R"({"do":"evaluate"})";
    case OrderKind::kFinish:
      return R"({"do":"finish"})";
    case OrderKind::kStep:
      break;
  }
  return json{{"do", "step"}, {"count", order.count}}.dump();
}

StepOrder parse_order(std::string_view line) {
  const json object = parse_object(line);
  const std::string what = word_in(line, object, "do");
  expect_only(line, object, {"do", what == "step" ? "count" : "do"});
  if (what == "evaluate") return {OrderKind::kEvaluate, 0};
  if (what == "finish") return {OrderKind::kFinish, 0};
  if (what != "step") refuse(line, "neither step, evaluate nor finish");
  return {OrderKind::kStep, count_in(line, object, "count", 1, 1, kMostStepsOfOrder)};
}

json to_json(const TurnAnswer& answer) {
  json object = {{"seconds", answer.seconds}};
  for (const auto& [name, values] : answer.losses) {
    json& list = object["losses"][name] = json::array();
    for (const std::optional<double>& value : values) {
      list.push_back(value ? json(*value) : json());
    }
  }
  for (const auto& [name, values] : answer.phases) object["phases"][name] = values;
  return object;
}

std::string answer_line(const TurnAnswer& answer) { return to_json(answer).dump(); }

TurnAnswer parse_answer(std::string_view line, std::int64_t count) {
  const json object = parse_object(line);
  expect_only(line, object, {"seconds", "losses", "phases"});
  TurnAnswer answer;
  answer.seconds = seconds_in(line, object.value("seconds", json()), "seconds");
  for_lists(line, object, "losses", [&](const std::string& name, const json& list) {
    answer.losses[name] = losses_in(line, list);
  });
  for_lists(line, object, "phases", [&](const std::string& name, const json& list) {
    answer.phases[name] = seconds_in(line, list, name);
  });
  const std::size_t steps = answer.seconds.size();
  const auto wanted = static_cast<std::size_t>(count);
  const bool fewer = answer.diverged() && steps > 0 && steps < wanted;
  if (steps != wanted && !fewer) {
    refuse(line, fmt::format("{} of {} asked for", format_count(std::ssize(answer.seconds), "step"),
                             count));
  }
  const auto expect_steps = [&](const auto& lists) {
    for (const auto& [name, values] : lists) {
      if (values.size() == steps) continue;
      refuse(line, fmt::format("'{}' is not as long as 'seconds'", printable(name, kShown)));
    }
  };
  expect_steps(answer.losses);
  expect_steps(answer.phases);
  return answer;
}

json to_json(const std::optional<Quality>& quality) {
  if (!quality) return nullptr;
  return {{"metric", quality->metric}, {"value", quality->value ? json(*quality->value) : json()}};
}

std::string quality_line(const std::optional<Quality>& quality) {
  return json{{"quality", to_json(quality)}}.dump();
}

std::optional<Quality> parse_quality(std::string_view line) {
  const json object = parse_object(line);
  expect_only(line, object, {"quality"});
  if (!object.contains("quality")) refuse(line, "no 'quality'");
  const json& told = object.at("quality");
  if (told.is_null()) return std::nullopt;
  if (!told.is_object()) refuse(line, "'quality' is no object");
  expect_only(line, told, {"metric", "value"});
  Quality quality;
  quality.metric = word_in(line, told, "metric");
  const json value = told.value("value", json());
  if (!value.is_null() && !value.is_number()) refuse(line, "the quality is no number");
  if (value.is_number()) quality.value = value.get<double>();
  return quality;
}

std::string error_line(const std::string& why) { return json{{"error", why}}.dump(); }

}  // namespace harness
