#include "harness/commands/profile_file.hpp"

#include <stdexcept>
#include <utility>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/commands/checked_file.hpp"

namespace harness {
namespace {

WhatIf changes_between(const Profile& profile, const WorkloadContext& context) {
  WhatIf what_if;
  const nlohmann::json& recorded = profile.settings.effective;
  what_if.from_precision = recorded.at("precision");
  what_if.from_batch = recorded.at("batch_size");
  what_if.to_precision = context.precision;
  what_if.to_batch = context.batch_size;
  return what_if;
}

}  // namespace

Profile read_profile(const std::string& file) {
  CheckedFile checked = check_file(file);
  require_sound(checked, checked.report.problems_code);
  const std::string name = printable(file);
  if (!checked.report.profile) {
    throw Error(name, "is no profile", "'harness profile' writes one");
  }
  if (checked.report.profile->tables.primitives.empty()) {
    throw Error(name, "holds no primitive: nothing can be replayed");
  }
  return std::move(*checked.report.profile);
}

StepModel model_of(const Profile& profile, const WorkloadContext& context,
                   std::vector<std::string>& notes) {
  double overhead = 1;
  if (profile.overhead && profile.overhead->center > 1) {
    overhead = profile.overhead->center;
  } else if (!profile.overhead) {
    notes.push_back("what recording costs is not known, and taken for nothing");
  }
  try {
    return imagine(profile.tables, overhead, changes_between(profile, context));
  } catch (const std::invalid_argument& error) {
    throw Error("--set", error.what(), "take a profile in the other precision");
  }
}

std::optional<double> copy_bandwidth_of(const Profile& profile) {
  for (const Peak& peak : profile.peaks) {
    if (peak.tag == "copy.bandwidth") return undisturbed(peak.samples);
  }
  return std::nullopt;
}

}  // namespace harness
