// JSON of what all kinds of result files share, for the files that write and read one kind each.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/result_common.hpp"

namespace harness {

std::string why_missing(const std::string& why);

/// An optional value with the house's convention for a missing one: null, and why under "missing".
template <class T>
void put(nlohmann::json& object, const char* key, const std::optional<T>& value,
         const std::string& why) {
  object[key] = value ? nlohmann::json(*value) : nlohmann::json();
  if (!value) object["missing"][key] = why_missing(why);
}

template <class T, class ToJson>
nlohmann::json list_json(const std::vector<T>& items, const ToJson& item_json) {
  nlohmann::json list = nlohmann::json::array();
  for (const T& item : items) list.push_back(item_json(item));
  return list;
}

/// Every member but those of one kind alone; not cleaned yet, see clean_for_result().
nlohmann::json common_json(const ResultCommon& common, const char* kind, const char* version);
/// low and high of `interval`, with the reason where there are none, and its confidence.
void put_bounds(nlohmann::json& object, const Interval& interval);
inline nlohmann::json or_null(const std::optional<double>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json();
}
nlohmann::json interval_json(const Interval& interval);
nlohmann::json quality_json(const QualityReport& report);
nlohmann::json identity_json(const Identity& identity);
nlohmann::json submission_json(const Submission& submission);

template <class T>
std::optional<T> optional_of(const nlohmann::json& object, const char* key) {
  const nlohmann::json& value = object.at(key);
  return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

template <class T, class FromJson>
std::vector<T> list_from(const nlohmann::json& list, const FromJson& item_from) {
  std::vector<T> items;
  items.reserve(list.size());
  for (const nlohmann::json& item : list) items.push_back(item_from(item));
  return items;
}

// All of these throw nlohmann's exceptions for a document that does not fit the schema.

/// Why `key` is null: beside it, or under its name in "missing".
std::string reason_of(const nlohmann::json& object, const char* key);
Direction direction_from(const std::string& text);
/// low, high and confidence, with a center from wherever the object keeps it.
Interval bounds_from(const nlohmann::json& object, double center);
Interval interval_from(const nlohmann::json& object);
QualityReport quality_from(const nlohmann::json& object);
Identity identity_from_json(const nlohmann::json& object);
/// Fills `common` from the members that common_json() writes.
void read_common(const nlohmann::json& document, ResultCommon& common);

}  // namespace harness
