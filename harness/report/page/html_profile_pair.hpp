// Two profiles of a workload on the page.
#pragma once

#include <string>

#include "harness/report/html_data.hpp"
#include "harness/report/page/html_groups.hpp"
#include "harness/report/report_data.hpp"
#include "harness/result/profile.hpp"

namespace harness {

/// One of the profiles that are compared, and what it is called.
struct ProfileSide {
  const ReportItem* item = nullptr;
  std::string id{};  ///< of its section; empty without one
  std::string name{};
  SetUp set_up{};

  const Profile& profile() const { return as<Profile>(*item); }
  const ProfileTables& tables() const { return profile().tables; }
};

/// What changes from `first` to `other`: by part, by operator, by module and by primitive. `id`
/// is the section's.
PageSection profile_pair_section(const ProfileSide& first, const ProfileSide& other,
                                 const std::string& id);

}  // namespace harness
