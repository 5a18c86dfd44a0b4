// A secret key, and the codes that only its holders can make: HMAC-SHA-256 (RFC 2104) by OpenSSL. Its bytes are wiped
// when it is destroyed, and nothing here reveals them: no message, no text, no encoding. Thread-safe. Local.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"

namespace cairn {

class SecretKey {
 public:
  // A shorter key can be guessed. A longer file is not a key, but some other file.
  static constexpr std::size_t kLeastBytes = 32;
  static constexpr std::size_t kMostBytes = 4096;

  // Takes the bytes, also if it refuses them. Code::config says what is wrong with them.
  static Result<SecretKey> from(Buffer bytes);
  SecretKey(SecretKey&&) noexcept = default;
  SecretKey& operator=(SecretKey&&) = delete;
  SecretKey(const SecretKey&) = delete;
  SecretKey& operator=(const SecretKey&) = delete;
  ~SecretKey();

  // The code of these bytes, one after the other.
  [[nodiscard]] Sha256 code_of(std::initializer_list<Bytes> message) const;

 private:
  explicit SecretKey(Buffer bytes) : bytes_(std::move(bytes)) {}
  Buffer bytes_;
};

// Takes the same time for any two codes: the time of a comparison must not show how much of a forged code is right.
[[nodiscard]] bool same_code(const Sha256& a, const Sha256& b);

}  // namespace cairn
