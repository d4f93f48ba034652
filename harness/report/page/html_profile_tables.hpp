// A profile as tables.
#pragma once

#include <vector>

#include "harness/profile/tables.hpp"
#include "harness/report/html_data.hpp"

namespace harness {

/// The same as tables: parts, operators by name, primitives, the largest allocations; and, longer,
/// each operator and each primitive.
std::vector<PageTable> profile_tables(const ProfileTables& tables);
std::vector<PageTable> profile_rows(const ProfileTables& tables);

}  // namespace harness
