#include "harness/result/setting.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace harness {

std::string Setting::option() const {
  std::string text = name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::string Setting::misfit(const nlohmann::json& value) const {
  switch (kind) {
    case SettingKind::kText:
      return value.is_string() ? "" : "is no text";
    case SettingKind::kFlag:
      return value.is_boolean() ? "" : "is neither true nor false";
    case SettingKind::kList: {
      const bool texts =
          value.is_array() && std::all_of(value.begin(), value.end(),
                                          [](const auto& item) { return item.is_string(); });
      return texts ? "" : "is no list of texts";
    }
    case SettingKind::kInteger:
      if (!value.is_number_integer()) return "is no whole number";
      break;
    case SettingKind::kNumber:
      if (!value.is_number()) return "is no number";
      break;
  }
  const double number = value.get<double>();
  if (number >= low && number <= high) return "";
  return fmt::format("is not from {} to {}", low, high);
}

nlohmann::json Setting::from_text(const std::string& text) const {
  if (kind == SettingKind::kText) return text;
  return nlohmann::json::parse(text, nullptr, false);
}

SettingTable& SettingTable::instance() {
  static SettingTable table;
  return table;
}

void SettingTable::add(Setting setting) {
  if (find(setting.name) != nullptr) {
    throw std::logic_error("setting declared twice: " + setting.name);
  }
  constexpr std::array kFacts = {"machine",  "processor", "governor",
                                 "compiler", "commit",    "weights"};
  const bool taken = std::find(kFacts.begin(), kFacts.end(), setting.name) != kFacts.end();
  const bool plain =
      !setting.name.empty() && std::all_of(setting.name.begin(), setting.name.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
      });
  const bool fits_variants = setting.scope != SettingScope::kVariant ||
                             (setting.kind == SettingKind::kText && setting.standard.is_string());
  if (taken || !plain || !fits_variants) {
    throw std::logic_error("no such setting can be declared: " + setting.name);
  }
  settings_.push_back(std::make_unique<Setting>(std::move(setting)));
}

const Setting* SettingTable::find(const std::string& name) const {
  const auto found = std::find_if(settings_.begin(), settings_.end(),
                                  [&](const auto& setting) { return setting->name == name; });
  return found == settings_.end() ? nullptr : found->get();
}

RegisterSettings::RegisterSettings(std::vector<Setting> settings) {
  for (Setting& setting : settings) SettingTable::instance().add(std::move(setting));
}

}  // namespace harness
