// The digest of a result file. It detects damage (a bad disk, a slip of an editor), not forgery:
// whoever changes a file on purpose can compute it again.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace harness {

/// SHA-256 (64 lower-case hex digits) of the canonical form (RFC 8785) of `document` without its
/// top-level member "digest". Throws std::invalid_argument like canonical_json().
std::string digest_of(const nlohmann::json& document);

}  // namespace harness
