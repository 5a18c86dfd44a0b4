// Notices that no rank of a node has made a collective Cairn call since the session was opened. Heads take no part in
// the application's communication: a program that waits for them, in a collective on MPI_COMM_WORLD, hangs without a
// message. One line of the log then says what to look for. Every collective Cairn call rings the head's bell. One
// thread, local.
#pragma once

#include <chrono>
#include <cstdint>

#include "store/store.hpp"

namespace cairn {

class Silence {
 public:
  static constexpr std::chrono::seconds kLimit{60};

  // Before the ranks learn that the session is open.
  void begin(const Bell& bell, std::chrono::microseconds now) {
    rings_ = bell.rings(Bell::Who::head);
    begin_ = now;
  }
  // True once, when it is time to speak.
  [[nodiscard]] bool breaks(const Bell& bell, std::chrono::microseconds now) {
    if (over_ || now - begin_ < kLimit) return false;
    over_ = true;
    return bell.rings(Bell::Who::head) == rings_;
  }

 private:
  std::uint32_t rings_ = 0;
  std::chrono::microseconds begin_{0};
  bool over_ = false;
};

}  // namespace cairn
