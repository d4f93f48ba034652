#include "harness/result/setting.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace harness {

std::string Setting::option() const {
  std::string text = name;
  std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

SettingTable& SettingTable::instance() {
  static SettingTable table;
  return table;
}

void SettingTable::add(Setting setting) {
  if (find(setting.name) != nullptr) {
    throw std::logic_error("setting declared twice: " + setting.name);
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
