#include "harness/measure/profile_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "harness/base/error.hpp"
#include "harness/base/text.hpp"
#include "harness/check/checked_file.hpp"
#include "harness/system/affinity.hpp"
#include "harness/system/doctor.hpp"

namespace harness {
namespace {

WhatIf changes_between(const Profile& profile, const WorkloadContext& context) {
  WhatIf what_if;
  const nlohmann::json& recorded = profile.settings.effective;
  what_if.from_precision = recorded.at("precision");
  what_if.from_batch = recorded.at("batch_size");
  if (what_if.from_batch < 1) throw Error("profile", "has no batch size above 0");
  what_if.to_precision = context.precision;
  what_if.to_batch = context.batch_size;
  return what_if;
}

}  // namespace

Profile read_profile(const std::string& file) {
  CheckedFile checked = check_file(file);
  require_sound(checked, checked.report.problems_code);
  const std::string name = printable(file);
  if (checked.report.as<Profile>() == nullptr) {
    throw Error(name, "is no profile", "'harness profile' writes one");
  }
  return checked.report.take<Profile>();
}

void fit_to_machine(RunRequest& request, bool threads_asked, std::vector<std::string>& notes) {
  if (const std::string cpus = request.text("cpus"); !cpus.empty()) {
    const std::vector<int> wanted = parse_cpu_list(cpus);
    const std::vector<int> allowed = allowed_cpus();
    if (!std::includes(allowed.begin(), allowed.end(), wanted.begin(), wanted.end())) {
      notes.push_back("the profile was pinned to CPUs " + cpus +
                      ", which are not all here: nothing is pinned");
      request.settings.erase("cpus");
    }
  }
  const std::int64_t usable = usable_cpus().count;
  const std::int64_t threads = request.settings.value("threads", std::int64_t{0});
  if (threads_asked || threads <= usable) return;
  notes.push_back("the profile used " + std::to_string(threads) + " threads; here " +
                  std::to_string(usable) + " run at once, and that many are used");
  request["threads"] = usable;
}

void note_doubts(const Profile& profile, std::vector<std::string>& notes) {
  const Status& status = profile.status;
  if (status.state == RunState::kAborted) {
    notes.push_back("the profile is of a run that was aborted");
  }
  if (status.mistrusted) {
    notes.push_back("the profile is mistrusted: the machine was not fit to measure on");
  }
  const Finding bf16 = judge_narrow(profile.peaks, "bf16");
  if (!bf16.how.empty()) notes.push_back(bf16.what + ": " + bf16.how);
}

void note_slowdown(double slowdown, std::vector<std::string>& notes) {
  constexpr double kNoticed = 1.25;
  if (slowdown > kNoticed) {
    notes.push_back(fmt::format(
        "the same primitives take {:.2f} times as long now as when the profile was taken: is "
        "something else running here (harness doctor)?",
        slowdown));
  } else if (slowdown > 0 && slowdown < 1 / kNoticed) {
    notes.push_back(fmt::format(
        "the same primitives took {:.2f} times as long when the profile was taken as now",
        1 / slowdown));
  }
}

StepModel model_of(const Profile& profile, const WorkloadContext& context,
                   std::vector<std::string>& notes) {
  if (profile.tables.primitives.empty()) {
    throw Error("profile", "holds no primitive: nothing can be replayed");
  }
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
