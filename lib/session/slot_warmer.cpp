#include "session/slot_warmer.hpp"

#include <system_error>
#include <utility>

#include "base/background.hpp"
#include "store/names.hpp"

namespace cairn {

SlotWarmer::SlotWarmer(std::shared_ptr<Store> store, Rank rank)
    : store_(std::move(store)), owner_(names::owner_rank(rank)) {}

void SlotWarmer::want(std::uint64_t bytes) {
  pause();
  bytes_ = bytes;
  ready_ = false;
}

void SlotWarmer::wrote(std::uint64_t bytes) {
  if (bytes != bytes_ && (bytes_ == 0 || bytes == last_shard_bytes_)) want(bytes);
  last_shard_bytes_ = bytes;
}

void SlotWarmer::run(std::uint32_t slots) {
  if (ready_ || thread_.joinable()) return;
  const auto warm_up = [this, slots](const std::stop_token& stop) {
    const Background background;
    // At least one slot each time, even if it has to pause at once.
    do {
      const auto ready = store_->warm_up(owner_, bytes_, slots);
      ready_ = !ready || *ready;
    } while (!ready_ && !stop.stop_requested());
  };
  try {
    thread_ = std::jthread(warm_up);
  } catch (const std::system_error&) {
    // The system gives no more threads: snapshots write to cold slots.
    return;
  }
}

void SlotWarmer::pause() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

}  // namespace cairn
