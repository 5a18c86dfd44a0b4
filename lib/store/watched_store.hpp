// A Store whose operations are counted, and those that failed with Code::io: an input or output error, or a store that
// became read-only; and those that found no room (Code::no_space). For a store whose health somebody watches. All else
// is the store's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "store/store.hpp"

namespace cairn {

// Thread-safe; only grows.
class StoreCounts {
 public:
  enum class Outcome : std::uint8_t { other, failed, refused };
  void count(Outcome outcome) {
    operations_.fetch_add(1, std::memory_order_relaxed);
    if (outcome == Outcome::failed) failed_.fetch_add(1, std::memory_order_relaxed);
    if (outcome == Outcome::refused) refused_.fetch_add(1, std::memory_order_relaxed);
  }
  // The text of one that failed or found no room.
  void note_error(const std::string& text) {
    const std::lock_guard guard(mutex_);
    last_error_ = text;
  }
  [[nodiscard]] std::string last_error() const {
    const std::lock_guard guard(mutex_);
    return last_error_;
  }
  // How many bytes were free when an operation found no room. Afterwards, what it had written so far is free again.
  void note_free(std::uint64_t bytes) { free_.store(static_cast<std::int64_t>(bytes), std::memory_order_relaxed); }
  [[nodiscard]] std::optional<std::uint64_t> free_when_refused() const {
    const std::int64_t free = free_.load(std::memory_order_relaxed);
    return free < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(free));
  }
  [[nodiscard]] std::uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t failed() const { return failed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> operations_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::int64_t> free_{-1};  // below 0: not known
  mutable std::mutex mutex_;
  std::string last_error_;
};

[[nodiscard]] std::shared_ptr<Store> watch_store(std::shared_ptr<Store> store, std::shared_ptr<StoreCounts> counts);

}  // namespace cairn
