#include "level/local_level.hpp"

#include "level/file_transfer.hpp"
#include "store/names.hpp"

namespace cairn {

Result<ShardEntry> digest_own_shard(const NodeContext& node, const Identity& identity, Rank rank,
                                    const std::function<void()>& between) {
  auto span = node.trace.span("hash", identity.version.value);
  auto entry = digest_shard(*node.local, names::shard(node.dir(identity), rank), *node.workers, between);
  if (entry) span.set_bytes(entry->bytes);
  return entry;
}

Status LocalLevel::protect(Comm& heads, const NodeContext& node, NodeManifest& manifest, std::uint64_t /*turn*/) {
  auto mine = [&]() -> Status {
    std::vector<ShardEntry> own;
    for (const Rank rank : node.layout.ranks_on(node.me)) {
      auto entry = digest_own_shard(node, manifest.identity, rank, node.between);
      if (!entry) return fail(entry.error());
      own.push_back(*entry);
    }
    if (Holding* holding = manifest.find(node.layout.id())) {
      holding->own = std::move(own);
    } else {
      manifest.holdings.insert(manifest.holdings.begin(), Holding{node.layout, node.me, std::move(own), {}, {}});
    }
    return {};
  }();
  return agree(heads, mine, "node");
}

Result<RestoreOutcome> LocalLevel::restore(Comm& heads, const NodeContext& node, const RestoreTask& task) {
  const auto span = node.trace.span("bring from L1", task.snapshot.version.value);
  return transfer_files(heads, node, task);
}

Status LocalLevel::discard(const NodeContext& node, NodeManifest& manifest, LayoutId layout) {
  Holding* holding = manifest.find(layout);
  if (holding == nullptr || !holding->own) return {};
  for (const ShardEntry& shard : *holding->own) {
    const auto name = names::shard(node.dir(manifest.identity), shard.rank);
    if (auto status = node.local->retire(name, names::owner_rank(shard.rank)); !status) return status;
  }
  holding->own.reset();
  return {};
}

}  // namespace cairn
