#include "harness/result/variant_settings.hpp"

#include "harness/result/setting.hpp"

namespace harness {

VariantSettings standard_variant() {
  VariantSettings settings;
  for (const auto& setting : SettingTable::instance().list()) {
    if (setting->scope != SettingScope::kVariant || setting->name == "kernels") continue;
    settings.chosen[setting->name] = setting->standard;
  }
  return settings;
}

}  // namespace harness
