#include "level/local_level.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "level/file_transfer.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

class OwnShardFinder final : public SourceFinder {
 public:
  explicit OwnShardFinder(const KnownParts& known) : known_(known) {}

  std::optional<Found> find(Rank rank, Peer to) override {
    std::optional<Found> best;
    for (const KnownParts::Parts& parts : known_.parts()) {
      const auto& node_of_rank = parts.index->layout().node_of_rank;
      if (rank.value >= node_of_rank.size()) continue;
      for (const Peer holder : parts.own.of(node_of_rank[rank.value])) {
        if (!known_.has_shard(StoreId::node(holder), rank)) continue;
        keep_cheaper(best, {holder == to ? kInPlace : kElsewhere, holder, OwnShard{holder}});
      }
    }
    return best;
  }

 private:
  static constexpr int kInPlace = 0;    // before a copy in place, which is 1
  static constexpr int kElsewhere = 2;  // before a copy elsewhere
  const KnownParts& known_;
};

}  // namespace

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

bool LocalLevel::is_carried_by(const Layout& /*layout*/) const { return true; }

bool LocalLevel::survives(const Layout& /*layout*/, const std::vector<bool>& gone, std::uint64_t /*turn*/) const {
  return std::ranges::find(gone, true) == gone.end();
}

std::uint64_t LocalLevel::extra_bytes(std::uint64_t /*own_bytes*/, const Layout& /*layout*/, NodeId /*me*/) const {
  return 0;
}

std::unique_ptr<SourceFinder> LocalLevel::sources(const KnownParts& known) const {
  return std::make_unique<OwnShardFinder>(known);
}

std::string LocalLevel::describe(const Delivery& delivery) const {
  return delivery.in_place() ? "own node's store" : fmt::format("moved from node {}", delivery.holder()->value);
}

void LocalLevel::note(KnownParts::Parts& parts, LevelId self, const HoldingSummary& part, Peer holder) const {
  parts.own.add(self, part.node, holder);
}

bool LocalLevel::is_in(const Holding& holding) const { return holding.own.has_value(); }
void LocalLevel::forget(Holding& holding) const { holding.own.reset(); }

std::vector<NamedFile> LocalLevel::files(const DirName& dir, const Holding& holding) const {
  std::vector<NamedFile> files;
  if (!holding.own) return files;
  for (const ShardEntry& shard : *holding.own)
    files.push_back({names::shard(dir, shard.rank), &holding, holding.node, shard});
  return files;
}

Result<RestoreOutcome> LocalLevel::restore(Comm& heads, const NodeContext& node, const RestoreTask& task) {
  const auto span = node.trace.span("bring from L1", task.snapshot.version.value);
  return transfer_files(heads, node, task);
}

}  // namespace cairn
