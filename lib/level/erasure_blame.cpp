#include "level/erasure_blame.hpp"

#include <set>
#include <span>

#include "format/parity_file.hpp"
#include "level/erasure_group.hpp"
#include "store/names.hpp"

namespace cairn {

std::vector<Strike> bad_inputs(const NodeContext& node, const RestoreTask& task, const Delivery& delivery) {
  std::vector<Strike> strikes;
  const LayoutId layout = decode_of(delivery).layout;
  const Holding* holding = task.manifest != nullptr ? task.manifest->find(layout) : nullptr;
  if (holding == nullptr) return strikes;
  const DirName dir = node.dir(task.snapshot);
  const auto check_shards = [&](const std::vector<ShardEntry>& shards, auto name_of) {
    for (const ShardEntry& shard : shards) {
      const FileName name = name_of(shard);
      if (!verify_shard(*node.local, name, shard, *node.workers, node.between))
        strikes.push_back({StoreId::node(node.me.value), name.path});
    }
  };
  if (holding->own) check_shards(*holding->own, [&](const ShardEntry& shard) { return names::shard(dir, shard.rank); });
  if (holding->partner) {
    for (const HeldCopies& held : holding->partner->held) {
      check_shards(held.shards, [&](const ShardEntry& shard) {
        return names::copy(dir, {held.owner, shard.rank, layout});
      });
    }
  }
  if (holding->erasure) {
    for (const ParityEntry& parity : holding->erasure->parity) {
      const FileName name = names::parity(dir, {parity.column, parity.row, layout});
      const ParityHeader expected{task.snapshot, layout, parity.column, parity.row, holding->erasure->chunk_bytes};
      if (!verify_parity_file(*node.local, name, expected, parity, node.between))
        strikes.push_back({StoreId::node(node.me.value), name.path});
    }
  }
  return strikes;
}

std::vector<Strike> suspect_tables(const NodeContext& node, const RestoreTask& task, const Delivery& delivery) {
  const ParitySource source = tables_source(task, delivery);
  const DecodedShard& decode = decode_of(delivery);
  const ErasureShape shape = GroupCode(task, decode).shape;
  std::vector<Strike> strikes;
  if (!shape.holds_parity(source.member)) return strikes;
  for (std::uint32_t row = 0; row < shape.m; ++row) {
    const std::uint32_t column = shape.column_of_parity(source.member, row);
    strikes.push_back(
        {StoreId::node(source.holder), names::parity(node.dir(task.snapshot), {column, row, decode.layout}).path});
  }
  return strikes;
}

Result<std::vector<Strike>> examine_decodes(Comm& heads, const NodeContext& node, const RestoreTask& task,
                                            const std::vector<std::size_t>& wrong, bool struck) {
  ByteWriter out;
  for (const std::size_t i : wrong) out.put(static_cast<std::uint32_t>(i));
  auto gathered = heads.allgather(out.bytes());
  if (!gathered) return fail(gathered.error());
  std::vector<Strike> strikes;
  std::set<std::uint32_t> all;
  for (const Buffer& bytes : *gathered) {
    ByteReader in(bytes);
    while (in.remaining() >= sizeof(std::uint32_t)) all.insert(in.get<std::uint32_t>());
  }
  for (const std::uint32_t i : all) {
    std::vector<Strike> mine;
    if (i < task.deliveries.size()) mine = bad_inputs(node, task, task.deliveries[i]);
    std::uint64_t found = mine.size() + (struck ? 1 : 0);
    if (auto status = heads.allreduce(std::span(&found, 1), Reduce::sum); !status) return fail(status.error());
    strikes.insert(strikes.end(), mine.begin(), mine.end());
    if (found > 0) continue;
    const auto tables = suspect_tables(node, task, task.deliveries[i]);
    strikes.insert(strikes.end(), tables.begin(), tables.end());
  }
  return strikes;
}

}  // namespace cairn
