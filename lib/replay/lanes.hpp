// One value for each lane that a rank has used since the oldest snapshot that may still be restored. Most messages are
// of the present snapshot() call, whose lanes are found without a search.
//
// Not thread-safe. Local.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "replay/number.hpp"

namespace cairn::replay {

template <class Value>
class Lanes {
 public:
  // The value of this lane, made if it is not there.
  [[nodiscard]] Value& at(const Lane& lane) {
    if (lane.epoch != recent_epoch_) {
      recent_epoch_ = lane.epoch;
      recent_.clear();
    }
    Value*& found = recent_[stream_of(lane)];
    if (found == nullptr) found = &lanes_[lane];
    return *found;
  }
  // Null: it is not there.
  [[nodiscard]] const Value* find(const Lane& lane) const {
    const auto found = lanes_.find(lane);
    return found == lanes_.end() ? nullptr : &found->second;
  }
  // Removes what is from before this snapshot() call; `drop(value)` gets each value before that.
  template <class Drop>
  void cut(std::uint64_t epoch, Drop drop) {
    const auto end = lanes_.lower_bound(Lane{epoch, 0, INT32_MIN});
    for (auto lane = lanes_.begin(); lane != end; ++lane) drop(lane->second);
    lanes_.erase(lanes_.begin(), end);
    recent_.clear();
  }
  // `visit(lane, value)` of all since this snapshot() call, in order.
  template <class Visit>
  void for_each(std::uint64_t epoch, Visit visit) const {
    for (auto lane = lanes_.lower_bound(Lane{epoch, 0, INT32_MIN}); lane != lanes_.end(); ++lane)
      visit(lane->first, lane->second);
  }
  [[nodiscard]] std::set<std::uint32_t> peers(std::uint64_t epoch) const {
    std::set<std::uint32_t> peers;
    for_each(epoch, [&](const Lane& lane, const Value& /*value*/) { peers.insert(lane.peer); });
    return peers;
  }

 private:
  std::map<Lane, Value> lanes_;
  std::uint64_t recent_epoch_ = 0;
  std::unordered_map<Stream, Value*, Stream::Hash> recent_;  // of that call
};

}  // namespace cairn::replay
