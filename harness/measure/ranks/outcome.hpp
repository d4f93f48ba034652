// What came of all ranks becomes one result.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/measure/ranks/member.hpp"
#include "harness/measure/ranks/sites.hpp"
#include "harness/result/result.hpp"

namespace harness {

/// The result of the first rank that has one, with what all tell of themselves; aborted, with the
/// cause, where one was lost. `samples` is the file of the first rank. Throws Error, that of the
/// first rank which has one of its own, where none has a result.
Result merged_result(const std::vector<MemberEnd>& ends, const std::vector<RankSite>& sites,
                     const std::filesystem::path& samples);

}  // namespace harness
