// What machine this is (constant during a run) and what state it is in (read before and after).
// Fields are listed in README.md. Whatever cannot be read is null, with the reason under `missing`
// by its dotted name. No user, host or path ends up in either.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/system/system_root.hpp"

namespace harness {

/// Hardware, kernel, limits and build. Tens of milliseconds.
nlohmann::json capture_system(const SystemRoot& root = SystemRoot());

/// SHA-256 over what makes two machines the same for comparisons: CPU model and ISA, cores,
/// threads, caches, memory in GiB. Unread fields count as such.
std::string system_fingerprint(const nlohmann::json& system);

}  // namespace harness
