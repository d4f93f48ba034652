#include "harness/base/hash.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <array>

#include "harness/base/error.hpp"
#include "harness/base/regular_file.hpp"

namespace harness {
namespace {

std::string hex_of(const unsigned char* bytes, std::size_t size) {
  return hex_text({reinterpret_cast<const char*>(bytes), size});
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  ~State() { EVP_MD_CTX_free(context); }

  std::string finish() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    EVP_DigestFinal_ex(context, digest.data(), &size);
    return hex_of(digest.data(), size);
  }
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  if (EVP_DigestInit_ex(state_->context, EVP_sha256(), nullptr) != 1) {
    throw Error("SHA-256", "the crypto library refuses it");
  }
}

Sha256::~Sha256() = default;

void Sha256::update(const void* data, std::size_t size) {
  EVP_DigestUpdate(state_->context, data, size);
}

std::string Sha256::hex() { return state_->finish(); }

std::string Sha256::hex_so_far() const {
  State copy;
  EVP_MD_CTX_copy_ex(copy.context, state_->context);
  return copy.finish();
}

std::string hex_text(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return text;
}

std::string sha256_hex(std::string_view content) {
  Sha256 hash;
  hash.update(content.data(), content.size());
  return hash.hex();
}

std::string hmac_sha256_hex(std::string_view key, std::string_view content) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(content.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, content.size(),
           digest.data(), &size) == nullptr) {
    throw Error("HMAC-SHA256", "the crypto library refuses it");
  }
  return hex_of(digest.data(), size);
}

std::string random_hex(int bytes) {
  std::string drawn(static_cast<std::size_t>(bytes), '\0');
  auto* data = reinterpret_cast<unsigned char*>(drawn.data());
  if (RAND_bytes(data, bytes) != 1) throw Error("random bytes", "the crypto library has none");
  return hex_of(data, drawn.size());
}

std::string sha256_of_file(const std::filesystem::path& path) {
  RegularFile file(path);
  Sha256 hash;
  // Not filled with zeros first: of a thousand small files that would take longer than the hashes.
  constexpr std::size_t kBuffer = std::size_t{1} << 20;
  const auto buffer = std::make_unique_for_overwrite<char[]>(kBuffer);
  while (const std::size_t n = file.read(buffer.get(), kBuffer)) hash.update(buffer.get(), n);
  return hash.hex();
}

}  // namespace harness
