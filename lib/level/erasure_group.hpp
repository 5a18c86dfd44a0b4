// The group of a shard that is decoded: its code, and the tables of what its members hold. All heads learn the same
// tables from a member that has parity of the group, so all of them decode alike.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "level/level.hpp"
#include "topology/layout.hpp"

namespace cairn {

// How a delivery of this level is to be made.
[[nodiscard]] inline const DecodedShard& decode_of(const Delivery& delivery) {
  return std::get<DecodedShard>(delivery.source);
}

// Refers to the task.
struct GroupCode {
  const Layout& layout;
  const std::vector<NodeId>& members;
  ErasureShape shape;

  GroupCode(const RestoreTask& task, const DecodedShard& decode);
  [[nodiscard]] std::uint32_t group(const DecodedShard& decode) const;
};

// Chunk size and all members' shards.
struct GroupTables {
  std::uint64_t chunk_bytes = 0;
  std::vector<std::vector<ShardEntry>> members;
};
using GroupKey = std::pair<LayoutId, std::uint32_t>;
using Tables = std::map<GroupKey, GroupTables>;

// A parity input of a delivery: there is one in every decode, since the owner's own data is missing. A member that has
// parity of the group holds the tables of all its members.
struct ParitySource {
  Peer holder;
  std::uint32_t member = 0;  // by index in the group
};

// The node whose tables are used for all deliveries of a group: the parity source of the group's first delivery, which
// is the same on all heads.
[[nodiscard]] ParitySource tables_source(const RestoreTask& task, const Delivery& delivery);

// Every head learns the tables of every group that decodes, except tables that cannot be read. Collective.
[[nodiscard]] Result<Tables> share_tables(Comm& heads, const NodeContext& node, const RestoreTask& task);

}  // namespace cairn
