// Whether anybody needs to know of the messages of this process, their requests and its collectives: a session that is
// open and intercepts, or what guards or carries them. Where nobody does, the tap passes such a call on at once.
//
// Thread-safe. Local.
#pragma once

#include <atomic>
#include <cstdint>

namespace cairn::tap {

// While this object lives, somebody does.
class Interest {
 public:
  Interest();
  ~Interest();
  Interest(const Interest&) = delete;
  Interest& operator=(const Interest&) = delete;
};

// How many there are.
[[nodiscard]] const std::atomic<std::int32_t>& interests();
[[nodiscard]] inline bool is_anybody_interested() {
  static const std::atomic<std::int32_t>& all = interests();
  return all.load(std::memory_order_relaxed) != 0;
}

}  // namespace cairn::tap
