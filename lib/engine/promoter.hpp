// The promoter raises snapshots to higher levels, and rebuilds what a restore has found lost: one level of one snapshot
// at a time, cheapest level first, snapshots in order, so that every head does the same.
//
// One thread. Collective among heads, who all have the same queue.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "engine/head.hpp"
#include "engine/life.hpp"
#include "recover/catalog.hpp"

namespace cairn {

class Promoter {
 public:
  Promoter(Head& head, Catalog& catalog, Life& life) : head_(head), catalog_(catalog), life_(life) {}

  // The number of the next placement: snapshots of earlier lives have used up those below.
  void begin_placements_at(std::uint64_t turn) {
    for (const LevelId level : head_.node.levels.that_take_turns()) turns_[level] = turn;
  }

  // This version and later ones are promoted under another layout.
  void change_layout_from(Version version, Layout layout) { changes_.emplace_back(version, std::move(layout)); }
  // Queues what is due of a snapshot, if anything is.
  void add(Known& known);
  // Raises the first snapshot in the queue to one more level; false: the queue is empty. Fails only when a peer is
  // lost; the ranks are told of any other error.
  [[nodiscard]] Result<bool> raise_next();
  // Raises the job's state to the level of the last one, where the chain ends or is left. If it has been there before,
  // confirms that it still is, and raises it again where it is not.
  [[nodiscard]] Status raise_state(Level::Reads reads);
  // Retires what need not be kept any more, and tells the ranks whose slots that frees. Local.
  void retire_old();
  // Tells the ranks of slots that are free since something was lost or struck. Local.
  void free_slots();

  [[nodiscard]] bool idle() const { return queue_.empty(); }
  [[nodiscard]] const Identity& current() const { return queue_.front(); }

 private:
  void change_layout_for(Version version);
  void note_own_shards(NodeManifest& manifest) const;
  [[nodiscard]] Status raise(Known& known, LevelId level);
  [[nodiscard]] Status protect(Known& known, LevelId level, std::uint64_t turn);
  [[nodiscard]] Result<bool> is_still_at(LevelId level, Known& known, Level::Reads reads);
  void give_up(Known& known, LevelId level, NodeManifest before, const Error& error);
  void report_free_slots(const std::vector<Version>& versions);
  [[nodiscard]] Level& strategy(LevelId level) const { return head_.node.levels.at(level); }
  [[nodiscard]] Status keep_pin(const Known& known) const;
  [[nodiscard]] Status look_for_damage(Known& known, const Error& error);

  Head& head_;
  Catalog& catalog_;
  Life& life_;
  std::deque<Identity> queue_;
  std::deque<std::pair<Version, Layout>> changes_;  // of the layout, that are still to come
  std::map<LevelId, std::uint64_t> turns_;          // promotions so far
};

}  // namespace cairn
