// Reading captured facts back without trusting them: result files are edited by hand.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "harness/base/text.hpp"

namespace harness {

/// Looks fields up by their dotted name. Holds a reference: `facts` must outlive it.
class FactReader {
 public:
  explicit FactReader(const nlohmann::json& facts) : facts_(facts) {}

  std::optional<double> number(const std::string& field) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr || !value->is_number()) return std::nullopt;
    const double number = value->get<double>();
    return std::isfinite(number) ? std::optional(number) : std::nullopt;
  }
  std::optional<std::string> text(const std::string& field) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr || !value->is_string()) return std::nullopt;
    return printable(value->get_ref<const std::string&>());
  }
  std::optional<bool> flag(const std::string& field) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr || !value->is_boolean()) return std::nullopt;
    return value->get<bool>();
  }
  /// Elements of an array; 0 for anything else.
  std::size_t size(const std::string& field) const {
    const nlohmann::json* value = find(field);
    return value != nullptr && value->is_array() ? value->size() : 0;
  }
  /// The first number of an array.
  std::optional<double> first(const std::string& field) const {
    const nlohmann::json* value = find(field);
    if (value == nullptr || !value->is_array() || value->empty() || !value->front().is_number()) {
      return std::nullopt;
    }
    return value->front().get<double>();
  }
  /// The reason stored under `missing`, or "not captured".
  std::string reason(const std::string& field) const {
    const auto missing = facts_.is_object() ? facts_.find("missing") : facts_.end();
    if (facts_.is_object() && missing != facts_.end() && missing->is_object()) {
      const auto entry = missing->find(field);
      if (entry != missing->end() && entry->is_string()) {
        return printable(entry->get_ref<const std::string&>());
      }
    }
    return "not captured";
  }

 private:
  const nlohmann::json* find(const std::string& field) const {
    const nlohmann::json* value = &facts_;
    for (const std::string& part : split(field, '.')) {
      if (!value->is_object()) return nullptr;
      const auto next = value->find(part);
      if (next == value->end()) return nullptr;
      value = &*next;
    }
    return value;
  }

  const nlohmann::json& facts_;
};

}  // namespace harness
