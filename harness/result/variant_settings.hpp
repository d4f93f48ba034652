// What sets the variants of a stack apart, and how many of them a file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "harness/base/types.hpp"

namespace harness {

// As the schema has them.
inline constexpr std::size_t kMostVariants = 64;
inline constexpr std::int64_t kMostTurns = 200'000;  ///< of one variant

/// What a variant sets; everything else is the same for all of them.
struct VariantSettings {
  /// Settings in which variants may differ (SettingScope::kVariant), by their names.
  std::map<std::string, std::string> chosen{};
  KernelSet kernels{};

  std::string of(const std::string& name) const {
    const auto found = chosen.find(name);
    return found == chosen.end() ? "" : found->second;
  }

  bool operator==(const VariantSettings&) const = default;
};

/// A variant of the rules that this machine or this version cannot run.
struct LeftOut {
  std::string name{};
  std::string reason{};
};

/// Each setting of variants at its default, no kernels: what the first variant of a ladder builds
/// on, and what a file has for a setting that it does not hold.
VariantSettings standard_variant();

}  // namespace harness
