#include "harness/result/digest.hpp"

#include <nlohmann/json.hpp>

#include "harness/base/hash.hpp"
#include "harness/result/canonical_json.hpp"

namespace harness {

std::string digest_of(const nlohmann::json& document) {
  return sha256_hex(canonical_json(document, "digest"));
}

}  // namespace harness
