// What the ranks of a node say about a snapshot: those that say something about it must say the same. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <set>

#include "base/error.hpp"
#include "engine/vote.hpp"
#include "format/notes.hpp"

namespace cairn {

class GivenNotes {
 public:
  // Returns how they differ from those of other ranks, if they do.
  [[nodiscard]] std::optional<Error> add(const SnapshotNotes& notes);
  // For the heads, which compare those of all nodes.
  void put_into(Vote& vote) const;
  // Of the node.
  [[nodiscard]] const SnapshotNotes& notes() const { return notes_; }

 private:
  SnapshotNotes notes_;
  std::set<std::uint64_t> labels_, attributes_;  // digests; 0: a rank has set none
};

}  // namespace cairn
