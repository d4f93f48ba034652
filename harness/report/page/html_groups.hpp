// Runs that belong together.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "harness/report/report_data.hpp"

namespace harness {

/// Places of runs in ReportData::runs.
using RunPlaces = std::vector<std::size_t>;
using SetUp = std::map<std::string, std::string>;

/// Whether a run is a measurement: its file sound, it neither dry nor stopped before its end.
bool is_measurement(const ReportItem& run);

/// Runs of one workload under one version and tier of the rules on one machine.
struct WorkGroup {
  std::string title{};  ///< workload, tier, machine
  std::vector<std::pair<SetUp, RunPlaces>> set_ups{};
};

/// The measurements by what can be compared at all, and within that by set-up: reference kernels
/// first, then by the start of each one's first run.
std::vector<WorkGroup> group_runs(const ReportData& data);

/// For each set-up what it does not share with all others: "custom, bf16"; never empty.
std::vector<std::string> set_up_names(const std::vector<SetUp>& set_ups);

}  // namespace harness
