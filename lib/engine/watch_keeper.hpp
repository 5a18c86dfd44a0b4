// Keeps watch.json of the global store while heads look after the run, for ckpt-tool health. Used by the first head.
// The file is not synced: after a power cut, nobody looks. Local. One thread.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "base/log.hpp"
#include "format/sealer.hpp"
#include "format/watch_file.hpp"
#include "store/store.hpp"

namespace cairn {

class WatchKeeper {
 public:
  using Time = std::chrono::microseconds;
  static constexpr std::chrono::seconds kWriteEvery{10};

  // `store`: the global one.
  WatchKeeper(std::shared_ptr<Store> store, Sealer sealer, Log log);

  [[nodiscard]] bool due(Time now) const { return !ended_ && (!next_ || now >= *next_); }
  // An error is logged once.
  void write(const WatchFile& watch, Time now);
  // The run ends: nobody looks any more.
  void end();

 private:
  std::shared_ptr<Store> store_;
  Sealer sealer_;
  Log log_;
  std::optional<Time> next_;  // none: nothing is written yet
  bool unwritable_ = false;   // said once
  bool ended_ = false;
};

}  // namespace cairn
