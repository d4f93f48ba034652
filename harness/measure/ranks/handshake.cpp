#include "harness/measure/ranks/handshake.hpp"

#include "harness/base/error.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/json_reader.hpp"
#include "harness/lockstep/protocol.hpp"

namespace harness {

std::string key_proof(const std::string& key, std::string_view end, const std::string& host_word,
                      const std::string& guest_word) {
  std::string text(end);
  text += ' ' + host_word + ' ' + guest_word;
  return hmac_sha256_hex(key, text);
}

nlohmann::json message_of(const std::string& line) {
  JsonLimits limits;
  limits.string_bytes = kMostLineBytes;
  try {
    nlohmann::json message = parse_json(line, "a message", limits);
    if (message.is_object()) return message;
  } catch (const Error&) {
    // Said below, as of what is JSON but no object.
  }
  throw ProtocolError("no message of a rank");
}

std::string bytes_of(std::string_view hex) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    throw ProtocolError("no hexadecimal digits");
  };
  if (hex.size() % 2 != 0) throw ProtocolError("half a byte");
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  }
  return bytes;
}

}  // namespace harness
