// SHA-256 and what goes with it, as lower-case hex.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace harness {

/// Incremental SHA-256.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;
  void update(const void* data, std::size_t size);
  /// 64 hex digits; the object is used up.
  std::string hex();
  /// The hash of what came so far; more may follow.
  std::string hex_so_far() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Bytes of any kind as lower-case hex, two digits each.
std::string hex_text(std::string_view bytes);
std::string sha256_hex(std::string_view content);
/// HMAC-SHA256 (RFC 2104): who knows `key` can make it, and check it.
std::string hmac_sha256_hex(std::string_view key, std::string_view content);
/// So many random bytes, as hex, that nobody can guess.
std::string random_hex(int bytes);
/// Streams the file; throws Error when it cannot be read or is no regular file.
std::string sha256_of_file(const std::filesystem::path& path);

}  // namespace harness
