// Removals that nobody waits for. What is removed has no name any more that anybody looks for.
#pragma once

#include <functional>
#include <mutex>
#include <thread>

#include "base/error.hpp"

namespace cairn::posix {

class Disposal {
 public:
  Disposal() = default;
  // Waits.
  ~Disposal() { wait(); }
  Disposal(const Disposal&) = delete;
  Disposal& operator=(const Disposal&) = delete;

  // Runs `remove` in a thread, after the one before it has ended; in the caller if the system gives no thread. Returns
  // how the one before has ended. Any thread may call it.
  [[nodiscard]] Status begin(std::function<Status()> remove);
  // Until none is under way.
  void wait();

 private:
  std::mutex mutex_;
  Status ended_;        // of the last one; read after thread_ was joined
  std::thread thread_;  // last: it uses the others
};

}  // namespace cairn::posix
