#include "engine/watch_keeper.hpp"

#include <utility>

#include "store/names.hpp"

namespace cairn {

WatchKeeper::WatchKeeper(std::shared_ptr<Store> store, Sealer sealer, Log log)
    : store_(std::move(store)), sealer_(std::move(sealer)), log_(std::move(log)) {}

void WatchKeeper::write(const WatchFile& watch, Time now) {
  next_ = now + kWriteEvery;
  const auto status = write_unsynced(*store_, names::watch(), bytes_of(to_json(watch, sealer_)));
  if (!status && !std::exchange(unwritable_, true))
    log_.warning("ckpt-tool health cannot show that this run is watched: {}", status.error().text());
}

void WatchKeeper::end() {
  if (!ended_) (void)store_->remove(names::watch());  // also that of a run before, which was killed
  ended_ = true;
}

}  // namespace cairn
