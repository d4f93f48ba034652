// What all kinds of result files share, as JSON and back, for the files that write and read one
// kind each. What reads throws nlohmann's exceptions for a document that does not fit the schema.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "harness/result/result_common.hpp"

namespace harness {

std::string why_missing(const std::string& why);

/// An optional value with the house's convention for a missing one: null, and why under "missing".
template <class T, class ToJson>
void put(nlohmann::json& object, const char* key, const std::optional<T>& value,
         const std::string& why, const ToJson& value_json) {
  object[key] = value ? value_json(*value) : nlohmann::json();
  if (!value) object["missing"][key] = why_missing(why);
}
template <class T>
void put(nlohmann::json& object, const char* key, const std::optional<T>& value,
         const std::string& why) {
  put(object, key, value, why, [](const T& known) { return nlohmann::json(known); });
}

template <class T>
std::optional<T> optional_of(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}
/// Why `key` is null: beside it, or under its name in "missing".
std::string reason_of(const nlohmann::json& object, const char* key);

/// `item_json` makes one of an item, or is a table of its fields; so does `item_from` the way back.
template <class T, class ToJson>
nlohmann::json list_json(const std::vector<T>& items, const ToJson& item_json) {
  nlohmann::json list = nlohmann::json::array();
  for (const T& item : items) {
    if constexpr (std::is_invocable_v<ToJson, const T&>) {
      list.push_back(item_json(item));
    } else {
      list.push_back(item_json.put(item));
    }
  }
  return list;
}
template <class T, class FromJson>
std::vector<T> list_from(const nlohmann::json& list, const FromJson& item_from) {
  std::vector<T> items;
  items.reserve(list.size());
  for (const nlohmann::json& item : list) {
    if constexpr (std::is_invocable_v<FromJson, const nlohmann::json&>) {
      items.push_back(item_from(item));
    } else {
      items.push_back(item_from.take(item));
    }
  }
  return items;
}

/// Every member but those of one kind alone; not cleaned yet, see clean_for_result().
nlohmann::json common_json(const ResultCommon& common, const char* kind, const char* version);
/// Fills `common` from the members that common_json() writes.
void read_common(const nlohmann::json& document, ResultCommon& common);
/// low and high of `interval`, with the reason where there are none, and its confidence.
void put_bounds(nlohmann::json& object, const Interval& interval);
template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}
/// low, high and confidence, with a center from wherever the object keeps it.
Interval bounds_from(const nlohmann::json& object, double center);
nlohmann::json interval_json(const Interval& interval);
Interval interval_from(const nlohmann::json& object);
nlohmann::json quality_json(const QualityReport& report);
QualityReport quality_from(const nlohmann::json& object);
nlohmann::json identity_json(const Identity& identity);
Identity identity_from_json(const nlohmann::json& object);
nlohmann::json submission_json(const Submission& submission);

/// `valid`, `invalid`, `aborted` or `dry-run`.
std::string to_text(RunState state);
RunState state_from(const std::string& text);
/// `lower`, `higher` or `none`.
std::string to_text(Direction direction);
Direction direction_from(const std::string& text);

}  // namespace harness
