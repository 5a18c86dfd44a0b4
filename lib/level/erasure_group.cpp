#include "level/erasure_group.hpp"

namespace cairn {
namespace {

ParitySource parity_source(const Delivery& delivery, const GroupCode& code) {
  const DecodedShard& decode = decode_of(delivery);
  const std::uint32_t owner = code.layout.place_in_group(decode.owner).index;
  for (std::uint32_t t = 0; t < decode.chunks.size(); ++t) {
    for (const Piece& piece : decode.chunks[t]) {
      if (piece.row < code.shape.data()) continue;
      const std::uint32_t column = code.shape.column_of_chunk(owner, t);
      return {piece.holder, code.shape.parity_holder(column, piece.row - code.shape.data())};
    }
  }
  return {delivery.to, owner};
}

Buffer encode(const GroupTables& tables) {
  ByteWriter out;
  out.put(tables.chunk_bytes);
  for (const auto& member : tables.members) {
    out.put(static_cast<std::uint32_t>(member.size()));
    out.put(encode_entries(member));
  }
  return out.take();
}

Result<GroupTables> decode_tables(Bytes bytes) {
  ByteReader in(bytes);
  GroupTables tables;
  tables.chunk_bytes = in.get<std::uint64_t>();
  while (in.good() && in.remaining() > 0) {
    const auto count = in.get<std::uint32_t>();
    auto shards = decode_entries(in.get_bytes(count * kEntryBytes));
    if (!shards) return fail(shards.error());
    tables.members.push_back(std::move(*shards));
  }
  if (!in.good() || tables.chunk_bytes == 0) {
    return fail_internal(Code::corrupt, "the tables of an erasure group are damaged");
  }
  return tables;
}

}  // namespace

GroupCode::GroupCode(const RestoreTask& task, const DecodedShard& decode)
    : layout(task.layouts.at(decode.layout)),
      members(layout.groups[layout.place_in_group(decode.owner).group]),
      shape(layout.shape_of(layout.place_in_group(decode.owner).group)) {}

std::uint32_t GroupCode::group(const DecodedShard& decode) const { return layout.place_in_group(decode.owner).group; }

ParitySource tables_source(const RestoreTask& task, const Delivery& delivery) {
  const DecodedShard& decode = decode_of(delivery);
  const GroupCode code(task, decode);
  for (const Delivery& first : task.deliveries) {
    const DecodedShard& other = decode_of(first);
    if (other.layout == decode.layout && GroupCode(task, other).group(other) == code.group(decode))
      return parity_source(first, code);
  }
  return parity_source(delivery, code);
}

Result<Tables> share_tables(Comm& heads, const NodeContext& node, const RestoreTask& task) {
  std::map<GroupKey, Peer> wanted;
  for (const Delivery& delivery : task.deliveries) {
    const DecodedShard& decode = decode_of(delivery);
    const GroupCode code(task, decode);
    wanted.try_emplace({decode.layout, code.group(decode)}, parity_source(delivery, code).holder);
  }
  Tables tables;
  for (const auto& [key, holder] : wanted) {
    Buffer mine;
    const Holding* holding = task.manifest != nullptr ? task.manifest->find(key.first) : nullptr;
    if (holder.value == node.me.value && holding != nullptr && holding->erasure) {
      mine = encode({holding->erasure->chunk_bytes, holding->erasure->members});
    }
    auto bytes = heads.broadcast(mine, holder);
    if (!bytes) return fail(bytes.error());
    if (auto decoded = decode_tables(*bytes)) tables[key] = std::move(*decoded);
  }
  return tables;
}

}  // namespace cairn
