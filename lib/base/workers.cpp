#include "base/workers.hpp"

#include <sched.h>

#include <algorithm>
#include <system_error>

namespace cairn {

std::uint32_t usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  // Fails on machines with more processors than the set has bits.
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return static_cast<std::uint32_t>(std::max(CPU_COUNT(&set), 1));
  return std::max(std::thread::hardware_concurrency(), 1U);
}

Workers::Workers(std::uint32_t helpers) {
  try {
    for (std::uint32_t i = 0; i < helpers; ++i) helpers_.emplace_back([this] { help(); });
  } catch (const std::system_error&) {
    // The system gives no more threads: the caller does more itself.
    return;
  }
}

Workers::~Workers() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  work_came_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Workers::for_each(std::size_t count, const std::function<void(std::size_t)>& work,
                       const std::function<void()>& meanwhile) {
  Call call{work, count};
  std::unique_lock lock(mutex_);
  calls_.push_back(&call);
  if (count > 1) work_came_.notify_all();
  while (call.done < count) {
    const std::size_t before = call.done;
    if (call.next < count) {
      run_piece(lock, call);
    } else {
      piece_done_.wait(lock, [&] { return call.done > before; });
    }
    if (!meanwhile || call.done == count) continue;
    lock.unlock();
    meanwhile();
    lock.lock();
  }
  calls_.pop_back();
}

void Workers::help() {
  std::unique_lock lock(mutex_);
  while (true) {
    Call* call = nullptr;
    work_came_.wait(lock, [&] { return (call = newest_with_work()) != nullptr || ending_; });
    if (call == nullptr) return;
    run_piece(lock, *call);
    piece_done_.notify_one();
  }
}

Workers::Call* Workers::newest_with_work() {
  const auto found =
      std::find_if(calls_.rbegin(), calls_.rend(), [](const Call* call) { return call->next < call->count; });
  return found == calls_.rend() ? nullptr : *found;
}

// The Call outlives the piece: its owner returns only after it has counted all pieces as done, under the lock.
void Workers::run_piece(std::unique_lock<std::mutex>& lock, Call& call) {
  const std::size_t piece = call.next++;
  lock.unlock();
  call.work(piece);
  lock.lock();
  ++call.done;
}

}  // namespace cairn
