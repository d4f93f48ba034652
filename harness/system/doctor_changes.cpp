#include "harness/system/doctor_changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/text.hpp"
#include "harness/system/doctor.hpp"
#include "harness/system/environment.hpp"
#include "harness/system/fact_reader.hpp"

namespace harness {
namespace {

/// CPU time is counted in ticks of 10 ms; below this a share of it says nothing.
constexpr double kLeastSeconds = 1.0;
/// Other processes' share of our CPUs. Above the first a difference of some percent between two
/// runs may be theirs; above the second most of it is.
constexpr double kOthersNoticed = 0.05;
constexpr double kOthersMistrusted = 0.25;
/// The share of CPU time that the hypervisor gave to other guests.
constexpr double kStealNoticed = 0.01;
constexpr double kStealMistrusted = 0.05;
/// Pages swapped in or out; fewer are some long idle process waking up.
constexpr double kSwappedPages = 256;

/// By how much a counter rose; empty when unknown or when it ran backwards.
std::optional<double> rise(const FactReader& before, const FactReader& after,
                           const std::string& field) {
  const auto first = before.number(field);
  const auto last = after.number(field);
  if (!first || !last || *last < *first) return std::nullopt;
  return *last - *first;
}

Finding during(const char* id, std::string what, std::string why, std::string how, bool mistrust,
               bool spares_ratios) {
  return {id,       Severity::kWarning, std::move(what), std::move(why), std::move(how),
          mistrust, spares_ratios};
}

void compare_cpu_time(const FactReader& before, const FactReader& after,
                      std::vector<Finding>& findings) {
  const auto seconds = rise(before, after, "monotonic_seconds");
  const auto cpus = before.number(kCpusCounted);
  if (!seconds || *seconds < kLeastSeconds || !cpus || *cpus < 1) return;
  // Counted over different CPUs, the times cannot be subtracted.
  if (after.number(kCpusCounted) != cpus) return;
  const double capacity = *seconds * *cpus;
  const auto busy = rise(before, after, "cpu_busy_seconds");
  const auto own = rise(before, after, kOwnCpuSeconds);
  if (busy && own) {
    const double share = std::max(0.0, *busy - *own) / capacity;
    if (share >= kOthersNoticed) {
      // What has ended cannot be stopped; one of the runnable tasks is this one.
      const bool over = after.number("runnable_tasks").value_or(2) <= 1;
      findings.push_back(during(
          kOtherProcesses,
          fmt::format("other processes took {:.0f} % of the CPU time during the run", 100 * share),
          "their share differs from run to run",
          over ? "none runs now: run again" : "stop them (top shows which) and run again",
          share >= kOthersMistrusted, true));
    }
  }
  if (const auto stolen = rise(before, after, "cpu_steal_seconds")) {
    const double share = *stolen / capacity;
    if (share >= kStealNoticed) {
      findings.push_back(
          during("steal",
                 fmt::format("the hypervisor withheld {:.1f} % of the CPU time during the run",
                             100 * share),
                 "other guests of the host got it; their share differs from run to run",
                 "use a machine with dedicated CPUs, or run again at a quieter time",
                 share >= kStealMistrusted, true));
    }
  }
}

}  // namespace

std::vector<Finding> compare_environments(const nlohmann::json& before,
                                          const nlohmann::json& after) {
  const FactReader first(before);
  const FactReader last(after);
  std::vector<Finding> findings;
  compare_cpu_time(first, last, findings);
  if (const auto count = rise(first, last, "cgroup_nr_throttled"); count && *count > 0) {
    const double seconds = rise(first, last, "cgroup_throttled_seconds").value_or(0);
    findings.push_back(
        during("throttling",
               fmt::format("the CPU quota ran out {} during the run ({:.2f} s in all)",
                           format_count(std::llround(*count), "time"), seconds),
               "while it is out, all threads are stopped", "use fewer threads or raise the quota",
               true, false));
  }
  if (const auto count = rise(first, last, "thermal_throttle_count"); count && *count > 0) {
    findings.push_back(during(
        "thermal", format_count(std::llround(*count), "thermal throttling") + " during the run",
        "a hot CPU lowers its clock", "look after cooling; leave pauses between runs", true,
        false));
  }
  if (const auto pages = rise(first, last, "swapped_pages"); pages && *pages >= kSwappedPages) {
    findings.push_back(during("swap",
                              fmt::format("{:.0f} pages were swapped during the run", *pages),
                              "a step that waits for the disk measures the disk",
                              "free some memory or use a smaller --batch-size", true, false));
  }
  return findings;
}

}  // namespace harness
