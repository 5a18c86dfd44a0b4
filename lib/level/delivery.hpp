// How one rank's shard gets to the node that needs it: made by a plan, carried out by a level. Values.
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "base/ids.hpp"
#include "store/store.hpp"

namespace cairn {

// The shard itself, as it lies in the store of a head.
struct OwnShard {
  Peer holder;
};

// A copy of it in the store of a head, made under this layout, in which the rank's node is `owner`.
struct CopiedShard {
  Peer holder;
  LayoutId layout;
  NodeId owner;
};

// One input of a decode: a code row of a column, and where it is.
struct Piece {
  std::uint32_t row = 0;  // 0 … n−m−1: data, then parity
  Peer holder;
  bool copies = false;  // data row read from copies instead of the owner's shards
};

// Computed by the code of this layout, in which the rank's node is `owner`.
struct DecodedShard {
  LayoutId layout;
  NodeId owner;
  std::vector<std::vector<Piece>> chunks;  // the inputs for each chunk of the owner's volume
};

// A shard in a store that all nodes share, under the rank's number.
struct SharedShard {};

using Source = std::variant<OwnShard, CopiedShard, DecodedShard, SharedShard>;

struct Delivery {
  Rank rank;
  Peer to;             // head of the node where the rank is now
  LevelId level = {};  // the level whose files it comes from
  Source source = {};

  // The head whose store has the file; none: it comes from more than one, or from a store that all nodes share.
  [[nodiscard]] std::optional<Peer> holder() const;
  // That file.
  [[nodiscard]] std::optional<FileName> file(const DirName& dir) const;
  // Whether the shard is already where it is needed.
  [[nodiscard]] bool in_place() const;
};

}  // namespace cairn
