// Helper threads of one owner, for work that falls into independent pieces: digests, encoding. Work must not throw
// and must not touch the pool; errors are for the owner to collect, piece by piece.
//
// for_each() is called by the owning thread only. Threads sleep while there is nothing to do.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace cairn {

// Processors that this process may run on, at least 1.
[[nodiscard]] std::uint32_t usable_processors();

class Workers {
 public:
  // With no helpers, work runs in the caller. There may be fewer than asked for, if the system gives no more threads.
  explicit Workers(std::uint32_t helpers);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  [[nodiscard]] std::uint32_t helpers() const { return static_cast<std::uint32_t>(helpers_.size()); }

  // Runs work(i) once for each i in [0, count), on the helpers and on the caller, in any order; returns when all are
  // done, with their effects visible. `meanwhile` runs on the caller between pieces, and may call for_each() itself:
  // helpers turn to the newer call first.
  void for_each(std::size_t count, const std::function<void(std::size_t)>& work,
                const std::function<void()>& meanwhile = {});

 private:
  // A call of for_each() under way.
  struct Call {
    const std::function<void(std::size_t)>& work;
    std::size_t count;
    std::size_t next = 0;  // first piece that nobody has taken
    std::size_t done = 0;
  };

  void help();
  [[nodiscard]] Call* newest_with_work();
  static void run_piece(std::unique_lock<std::mutex>& lock, Call& call);

  std::mutex mutex_;
  std::condition_variable work_came_;   // helpers wait for it
  std::condition_variable piece_done_;  // the owner waits for it
  std::vector<Call*> calls_;            // each inside `meanwhile` of the one before
  bool ending_ = false;
  std::vector<std::thread> helpers_;
};

}  // namespace cairn
