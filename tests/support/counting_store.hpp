// Any Store, with what is read of it counted: lists, opens, reads and their bytes. Readers show no mapping, so that
// nothing is read uncounted. Thread-safe if the hook is.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "support/hooked_store.hpp"

namespace cairn::test {

struct Readings {
  std::uint64_t lists = 0;
  std::uint64_t opens = 0;
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;
  friend bool operator==(const Readings&, const Readings&) = default;
};

class CountingStore final : public HookedStore {
 public:
  explicit CountingStore(
      std::shared_ptr<Store> store, Hook hook = [](const Operation&) { return Status{}; });

  [[nodiscard]] Readings readings() const;
  // Called with each file that is opened.
  std::function<void(const FileName&)> on_open = [](const FileName&) {};

  Result<std::unique_ptr<Reader>> open(const FileName& name) const override;
  Result<std::vector<Entry>> list(const DirName& directory) const override;

  struct Tally {
    std::atomic<std::uint64_t> lists{0};
    std::atomic<std::uint64_t> opens{0};
    std::atomic<std::uint64_t> reads{0};
    std::atomic<std::uint64_t> bytes{0};
  };

 private:
  std::shared_ptr<Tally> tally_ = std::make_shared<Tally>();  // shared with readers
};

}  // namespace cairn::test
