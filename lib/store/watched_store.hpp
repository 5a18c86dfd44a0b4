// A Store whose operations are counted, and those that failed with Code::io: an input or output error, or a store that
// became read-only; and those that found no room (Code::no_space). For a store whose health somebody watches. All else
// is the store's own.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

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
  [[nodiscard]] std::uint64_t operations() const { return operations_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t failed() const { return failed_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> operations_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<std::uint64_t> refused_{0};
};

[[nodiscard]] std::shared_ptr<Store> watch_store(std::shared_ptr<Store> store, std::shared_ptr<StoreCounts> counts);

}  // namespace cairn
