// JSON of what all kinds of result files share, for the files that write one kind each.
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

/// `valid`, `invalid`, `aborted` or `dry-run`.
std::string to_text(RunState state);
/// `lower`, `higher` or `none`.
std::string to_text(Direction direction);

}  // namespace harness
