// Settings that say what is measured: the rules, or a task, and the model in it.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "harness/result/result.hpp"
#include "harness/result/setting.hpp"

namespace harness {

std::vector<Setting> rules_settings();

/// What a result says was asked for as the setting `name`; null where it was not.
nlohmann::json as_asked(const Result& result, const char* name);

}  // namespace harness
