// The shards that the heads offer to one rank in a restore: its own, or, of a snapshot of another number of ranks,
// those of some old ranks, perhaps none. Their tables are read when regions are asked for: a rank that restores its own
// shard mostly needs none. Also opens those of other ranks of the node where they are wanted. Remembers which of them
// all cannot be read. Local.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "engine/messages.hpp"
#include "format/shard.hpp"
#include "reshape/share.hpp"
#include "store/store.hpp"

namespace cairn {

// Where a shard lies that was offered.
[[nodiscard]] FileName file_of(const Offer& offer, const OfferedShard& shard);
// It, if it is what was offered.
[[nodiscard]] Result<ShardFile> open_offered(const Store& store, const Offer& offer, const OfferedShard& shard);
// The same for the shard of this rank, which the heads have brought to its node's store.
[[nodiscard]] Result<ShardFile> open_own(const Store& store, const Offer& offer, Rank rank);
// Of what all ranks get together; nothing for a fresh start.
[[nodiscard]] std::optional<LevelId> highest_needed(const Offer& offer);

class OfferedShards {
 public:
  // Both must outlive it.
  OfferedShards(const Store& store, const Offer& offer);

  [[nodiscard]] const std::vector<ShardFile>& files() const { return files_; }
  // The same with their regions, as far as these can be read.
  [[nodiscard]] const std::vector<Shard>& shards();
  // A file whose table was read elsewhere, and cannot be.
  void note_damaged(Rank rank, const Error& error);
  // Their regions, for an exchange. Refers to this object, which notes what cannot be read.
  [[nodiscard]] std::vector<reshape::OldRank> old_ranks();
  // One of another rank of this node. Null: it is on another node, or cannot be opened. Refers to this object, too.
  [[nodiscard]] const reshape::OldRank* reach(Rank rank);
  // Reads all of this rank.
  void check_all();

  [[nodiscard]] bool is_damaged() const { return !damaged_.empty(); }
  // The answer to the offer, if some are damaged.
  [[nodiscard]] RestoreResult refused() const;

 private:
  struct Beside {
    Shard shard;
    reshape::OldRank old;
  };
  [[nodiscard]] reshape::OldRank old_rank(const Shard& shard);

  const Store& store_;
  const Offer& offer_;
  std::vector<ShardFile> files_;
  std::optional<std::vector<Shard>> shards_;  // none: no regions were asked for yet
  std::map<Rank, Beside> beside_;             // those that were reached
  std::map<Rank, Error> damaged_;
};

}  // namespace cairn
