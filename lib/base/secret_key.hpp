// A secret key, and the codes that only its holders can make: HMAC-SHA-256 (RFC 2104) by OpenSSL. Its bytes are wiped
// when it goes, and nothing here says them: no message, no text, no encoding. Thread-safe. Local.
#pragma once

#include <cstddef>
#include <initializer_list>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/sha256.hpp"

namespace cairn {

class SecretKey {
 public:
  // Fewer bytes can be guessed; more are no key but some other file.
  static constexpr std::size_t kLeastBytes = 32;
  static constexpr std::size_t kMostBytes = 4096;

  // Takes the bytes, also those that are refused: Code::config says what is wrong with them.
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

// Takes as long for any two: how long a comparison takes must not say how much of a forged code is right.
[[nodiscard]] bool same_code(const Sha256& a, const Sha256& b);

}  // namespace cairn
