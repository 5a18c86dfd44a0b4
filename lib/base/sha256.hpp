// SHA-256 (FIPS 180-4) by OpenSSL. Local; a Sha256Stream belongs to one thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/error.hpp"

namespace cairn {

struct Sha256 {
  std::array<std::byte, 32> bytes{};
  friend bool operator==(const Sha256&, const Sha256&) = default;

  [[nodiscard]] std::string hex() const;
  static Result<Sha256> from_hex(std::string_view text);
};

class Sha256Stream {
 public:
  Sha256Stream();
  ~Sha256Stream();
  Sha256Stream(Sha256Stream&&) noexcept;
  Sha256Stream& operator=(Sha256Stream&&) noexcept;

  void update(Bytes bytes);
  // The digest of all bytes so far. Then the stream starts anew.
  [[nodiscard]] Sha256 finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

[[nodiscard]] Sha256 sha256(Bytes bytes);

// Before the first use of OpenSSL: its own handler of exit() would run before one that the application has registered
// earlier, which may finalize a session.
void start_openssl();

}  // namespace cairn
