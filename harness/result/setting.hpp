// What a person can choose for a measurement, each declared once. From here come the options of the
// command line, the plan, what a result holds, what --from repeats, and what must agree before two
// results are compared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace harness {

struct RunPlan;  // of plan/
struct Result;

/// What it means for a comparison that something is not the same on both sides.
enum class SetUpPart {
  kAlways,  ///< it was other work; so with everything that nobody declared
  kChosen,  ///< between files another set-up; on purpose where two commands run in turn
  kExempt,  ///< another length, repetition or draw of the same work
};

/// Where a setting can be given.
enum class SettingScope {
  kCommon,       ///< `run`, `profile`, `ablate`: there the same for all variants
  kVariant,      ///< `run`, `profile`; in an ablation the variants differ in it
  kMeasurement,  ///< `run` and `profile`
  kRun,          ///< `run`
  kNone,         ///< nowhere: it follows from others, and stands in the result
};

enum class SettingKind { kText, kInteger, kNumber, kList, kFlag };

struct Setting {
  std::string name{};  ///< as in results; with '-' for '_' the option
  SettingKind kind = SettingKind::kText;
  SettingScope scope = SettingScope::kCommon;
  SetUpPart part = SetUpPart::kAlways;
  std::string summary{};     ///< for the help
  std::string value_name{};  ///< of a text or a number, for the help
  double low = 0;            ///< bounds of a number
  double high = 0;
  /// What holds where neither the command line nor the rules name a value, and in results from
  /// before the setting was there.
  nlohmann::json standard{};
  std::vector<std::string> choices{};  ///< of a text; empty: any, or what the workload offers
  /// Puts into the plan what was asked for, and into its effective settings what is used. Throws
  /// Error for what cannot be. Empty: the value is what was asked, or what the rules or `standard`
  /// say; it is checked against bounds and choices, and handed to the workload by its name
  /// (WorkloadContext::chosen).
  std::function<void(RunPlan& plan, const Setting& setting)> choose{};
  /// What to ask for to have a result's value again; null: nothing. Empty: its effective value.
  std::function<nlohmann::json(const Result& result)> repeat{};

  /// Asked for as a file; what is used, and compared, is the file's SHA-256.
  bool by_hash = false;
  /// Rules may name a default for it: `choose` asks for it. So with every setting without `choose`.
  bool by_rules = false;

  std::string option() const;  ///< "batch-size"
  bool takes_default_of_rules() const { return by_rules || !choose; }
  /// Why `value` is none for it: another type or out of bounds. Empty when it is one, whatever the
  /// choices are.
  std::string misfit(const nlohmann::json& value) const;
  /// A value as rules have it: as text.
  nlohmann::json from_text(const std::string& text) const;
};

class SettingTable {
 public:
  static SettingTable& instance();

  /// Throws std::logic_error for a name that is taken or stands for something else in comparisons,
  /// and for a setting of variants that is no text with a default.
  void add(Setting setting);
  /// Null for one that nobody declared.
  const Setting* find(const std::string& name) const;
  const std::vector<std::unique_ptr<Setting>>& list() const { return settings_; }

 private:
  std::vector<std::unique_ptr<Setting>> settings_;
};

/// The registration line: `const RegisterSettings registered({{.name = ...}, ...});`
struct RegisterSettings {
  explicit RegisterSettings(std::vector<Setting> settings);
};

}  // namespace harness
