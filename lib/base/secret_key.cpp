#include "base/secret_key.hpp"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};

// As with a digest (see sha256.cpp), lack of memory is the only possible failure.
void must(bool done) {
  if (!done) throw std::bad_alloc();
}

}  // namespace

Result<SecretKey> SecretKey::from(Buffer bytes) {
  SecretKey key(std::move(bytes));
  const Buffer& is = key.bytes_;
  if (is.size() < kLeastBytes || is.size() > kMostBytes) {
    return fail(Code::config,
                fmt::format("the key is {} bytes long, should be {} to {}", is.size(), kLeastBytes, kMostBytes));
  }
  // A crash may leave a file of this length that was never written.
  if (std::ranges::all_of(is, [&](std::byte byte) { return byte == is.front(); })) {
    return fail(Code::config, "all bytes of the key are the same; a key must be random");
  }
  return key;
}

SecretKey::~SecretKey() { OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

Sha256 SecretKey::code_of(std::initializer_list<Bytes> message) const {
  start_openssl();
  const std::unique_ptr<EVP_MAC, FreeMac> hmac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  must(hmac != nullptr);
  const std::unique_ptr<EVP_MAC_CTX, FreeMac> context(EVP_MAC_CTX_new(hmac.get()));
  std::string digest = "SHA256";
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), 0),
                                   OSSL_PARAM_construct_end()};
  const auto* const key = reinterpret_cast<const unsigned char*>(bytes_.data());
  must(context && EVP_MAC_init(context.get(), key, bytes_.size(), parameters) == 1);
  for (const Bytes part : message) {
    must(EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(part.data()), part.size()) == 1);
  }
  Sha256 code;
  std::size_t length = 0;
  auto* const into = reinterpret_cast<unsigned char*>(code.bytes.data());
  must(EVP_MAC_final(context.get(), into, &length, code.bytes.size()) == 1);
  return code;
}

bool same_code(const Sha256& a, const Sha256& b) {
  return CRYPTO_memcmp(a.bytes.data(), b.bytes.data(), a.bytes.size()) == 0;
}

}  // namespace cairn
