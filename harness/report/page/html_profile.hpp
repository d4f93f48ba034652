// The section of one profile, and its step as nested bars.
#pragma once

#include <cstddef>
#include <string>

#include "harness/profile/tables.hpp"
#include "harness/report/html_data.hpp"
#include "harness/report/report_data.hpp"

namespace harness {

PageSection profile_section(const ReportItem& item, const std::string& id);
/// A step of a profile as nested bars, in several orders.
PageIcicle profile_icicle(const ProfileTables& tables);
/// Colour of what belongs to a phase, in all pictures of profiles; muted for what belongs to none.
std::size_t phase_colour(const std::string& phase);

}  // namespace harness
