// Prepares a rank's slots one after the other, in parallel with the application: the first write to fresh memory takes
// several times as long as later ones. It pauses while a snapshot is written: both would compete for memory. The
// snapshot gets the slot that was prepared last.
//
// Belongs to one thread; has its own thread while there is work.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "base/ids.hpp"
#include "store/store.hpp"

namespace cairn {

class SlotWarmer {
 public:
  SlotWarmer(std::shared_ptr<Store> store, Rank rank);

  // The size that slots are to have from now on.
  void want(std::uint64_t bytes);
  // A shard of this size has been written: slots of another size are worth making when it has come twice.
  void wrote(std::uint64_t bytes);
  // Continues until `slots` slots are ready that hold nothing.
  void run(std::uint32_t slots);
  // Returns when the slot under way is ready.
  void pause();

 private:
  std::shared_ptr<Store> store_;
  std::string owner_;
  std::uint64_t bytes_ = 0;
  std::uint64_t last_shard_bytes_ = 0;
  std::atomic<bool> ready_ = true;  // nothing is left to do, or nothing can be done
  std::jthread thread_;
};

}  // namespace cairn
