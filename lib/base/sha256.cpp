#include "base/sha256.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <charconv>
#include <new>

#include <fmt/format.h>

namespace cairn {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

// OpenSSL's digest of memory can fail for one reason only: no memory for its context.
void must(int answer) {
  if (answer != 1) throw std::bad_alloc();
}

}  // namespace

void start_openssl() {
  static const int started = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  must(started);
}

struct Sha256Stream::State {
  std::unique_ptr<EVP_MD_CTX, FreeContext> context{EVP_MD_CTX_new()};

  State() {
    start_openssl();
    start();
  }
  void start() { must(context ? EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr) : 0); }
};

std::string Sha256::hex() const {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::byte byte : bytes) {
    const auto value = std::to_integer<unsigned>(byte);
    text += kDigits[value >> 4U];
    text += kDigits[value & 0xfU];
  }
  return text;
}

Result<Sha256> Sha256::from_hex(std::string_view text) {
  Sha256 digest;
  const bool lower_hex = text.find_first_not_of(kDigits) == std::string_view::npos;
  if (text.size() != 2 * digest.bytes.size() || !lower_hex) {
    return fail(Code::corrupt, fmt::format("'{}' is not a SHA-256, should be 64 hex digits", text.substr(0, 80)));
  }
  for (std::size_t i = 0; i < digest.bytes.size(); ++i) {
    unsigned value = 0;
    std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, value, 16);
    digest.bytes[i] = static_cast<std::byte>(value);
  }
  return digest;
}

Sha256Stream::Sha256Stream() : state_(std::make_unique<State>()) {}
Sha256Stream::~Sha256Stream() = default;
Sha256Stream::Sha256Stream(Sha256Stream&&) noexcept = default;
Sha256Stream& Sha256Stream::operator=(Sha256Stream&&) noexcept = default;

void Sha256Stream::update(Bytes bytes) { must(EVP_DigestUpdate(state_->context.get(), bytes.data(), bytes.size())); }

Sha256 Sha256Stream::finish() {
  Sha256 digest;
  must(EVP_DigestFinal_ex(state_->context.get(), reinterpret_cast<unsigned char*>(digest.bytes.data()), nullptr));
  state_->start();
  return digest;
}

Sha256 sha256(Bytes bytes) {
  start_openssl();
  Sha256 digest;
  must(EVP_Digest(bytes.data(), bytes.size(), reinterpret_cast<unsigned char*>(digest.bytes.data()), nullptr,
                  EVP_sha256(), nullptr));
  return digest;
}

}  // namespace cairn
