// What all kinds of result files share, back from JSON. All of it throws nlohmann's exceptions for
// a document that does not fit the schema.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/result/result_common.hpp"

namespace harness {

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

}  // namespace harness
