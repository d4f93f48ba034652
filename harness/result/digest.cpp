#include "harness/result/digest.hpp"

#include "harness/base/hash.hpp"
#include "harness/result/canonical_json.hpp"

namespace harness {

std::string digest_of(const nlohmann::json& document) {
  if (!document.is_object() || !document.contains("digest")) {
    return sha256_hex(canonical_json(document));
  }
  nlohmann::json bare = document;
  bare.erase("digest");
  return sha256_hex(canonical_json(bare));
}

}  // namespace harness
