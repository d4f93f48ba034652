// Text that the summaries of all kinds of results have in common.
#pragma once

#include <string>

#include "harness/result/result_common.hpp"

namespace harness {

/// The effective setting `key`, safe to print; "-" where there is none.
std::string setting_text(const Settings& settings, const char* key);

/// Departures from the rules, status with its reasons, and the notice that every report ends with.
std::string verdict_text(const ResultCommon& result);

}  // namespace harness
