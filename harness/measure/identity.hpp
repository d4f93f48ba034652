// Which measurement a result is of: of which series, when, by which program, under which rules.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/result/result_common.hpp"
#include "harness/workload/rules.hpp"

namespace harness {

/// Where one run stands in its series.
struct SeriesPosition {
  std::string series_id{};
  std::int64_t index = 1;
  std::int64_t count = 1;
};

/// A random (version 4) UUID.
std::string new_uuid();

/// A new identity that starts now.
Identity make_identity(const SeriesPosition& position,
                       const std::vector<std::string>& command_line);

RulesReference refer_to(const Rules& rules, const std::string& tier,
                        const std::vector<Departure>& departures);

}  // namespace harness
