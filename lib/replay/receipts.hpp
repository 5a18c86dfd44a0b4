// Which messages a rank has received since the oldest snapshot that may still be restored, and what they held. A later
// short message may be complete before an earlier long one, so these are sets, and no counts.
//
// Not thread-safe. Local.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "replay/lanes.hpp"
#include "replay/number.hpp"

namespace cairn::replay {

// Messages of one lane, by place.
class Received {
 public:
  void add(std::uint64_t place, const Content& content) {
    if (place >= entries_.size()) entries_.resize(place + 1);
    if (!entries_[place].is_there) ++count_;
    entries_[place] = {content, true};
  }
  [[nodiscard]] bool contains(std::uint64_t place) const { return place < entries_.size() && entries_[place].is_there; }
  // Requires: contains(place).
  Content take(std::uint64_t place) {
    --count_;
    entries_[place].is_there = false;
    return entries_[place].content;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // Memory for entries. Room for further ones is not counted.
  [[nodiscard]] std::uint64_t bytes() const { return entries_.size() * sizeof(Entry); }
  // `visit(place, content)`, in the order of places.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::uint64_t place = 0; place < entries_.size(); ++place)
      if (entries_[place].is_there) visit(place, entries_[place].content);
  }

 private:
  struct Entry {
    Content content;
    bool is_there = false;
  };
  std::vector<Entry> entries_;
  std::uint64_t count_ = 0;
};

class Receipts {
 public:
  void add(const Number& number, const Content& content) {
    Received& lane = lanes_.at(number.lane);
    bytes_ -= bytes_of(lane);
    lane.add(number.place, content);
    bytes_ += bytes_of(lane);
  }
  // Snapshots before this call are not restored any more.
  void cut(std::uint64_t epoch) {
    lanes_.cut(epoch, [&](const Received& lane) { bytes_ -= bytes_of(lane); });
  }
  // What they take of the memory for messages.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  // Those from which something has come since this snapshot() call.
  [[nodiscard]] std::set<std::uint32_t> peers(std::uint64_t epoch) const { return lanes_.peers(epoch); }
  // From this peer, since this snapshot() call.
  [[nodiscard]] std::map<Lane, Received> from(std::uint32_t peer, std::uint64_t epoch) const {
    std::map<Lane, Received> found;
    lanes_.for_each(epoch, [&](const Lane& lane, const Received& received) {
      if (lane.peer == peer) found.emplace(lane, received);
    });
    return found;
  }

 private:
  // The first message of a lane makes a node of a map, with four words for the tree, and the allocator's 16 bytes.
  static constexpr std::uint64_t kLaneBytes = sizeof(Lane) + sizeof(Received) + 48;
  [[nodiscard]] static std::uint64_t bytes_of(const Received& lane) {
    return lane.bytes() == 0 ? 0 : lane.bytes() + kLaneBytes;
  }

  Lanes<Received> lanes_;
  std::uint64_t bytes_ = 0;
};

}  // namespace cairn::replay
