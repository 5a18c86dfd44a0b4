#include "level/partner_level.hpp"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "level/checked_volume.hpp"
#include "level/exchange.hpp"
#include "level/file_transfer.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

Peer head_of(NodeId node) { return Peer{node.value}; }

std::vector<VolumeFile> copy_files(const DirName& dir, const HeldCopies& held, LayoutId layout) {
  std::vector<VolumeFile> files;
  for (const ShardEntry& shard : held.shards) {
    files.push_back({names::copy(dir, {held.owner, shard.rank, layout}), shard.bytes});
  }
  return files;
}

// What this node will hold: the owners' shard entries, received from their heads.
Result<std::vector<HeldCopies>> learn_entries(Comm& heads, const NodeContext& node, const std::vector<ShardEntry>& own,
                                              std::uint64_t turn) {
  std::vector<Peer> to;
  std::vector<Expected> from;
  for (const NodeId partner : partners_of(node.layout, node.me, turn)) to.push_back(head_of(partner));
  const auto owners = owners_held_by(node.layout, node.me, turn);
  for (const NodeId owner : owners) from.push_back({head_of(owner), node.layout.ranks_on(owner).size() * kEntryBytes});
  auto messages = exchange_messages(heads, kEntriesTag, encode_entries(own), to, from);
  if (!messages) return fail(messages.error());

  std::vector<HeldCopies> held;
  for (std::size_t i = 0; i < owners.size(); ++i) {
    auto shards = decode_entries((*messages)[i]);
    if (!shards) return fail(shards.error());
    held.push_back({owners[i], std::move(*shards)});
  }
  return held;
}

Status first_failure(const std::vector<Outgoing>& outgoing, const std::vector<Incoming>& incoming) {
  for (const Incoming& stream : incoming) {
    if (!stream.status) return stream.status;
  }
  for (const Outgoing& stream : outgoing) {
    if (!stream.status) return stream.status;
  }
  return {};
}

using CopyWriters = std::vector<std::shared_ptr<VolumeWriter>>;

// Afterwards `writers` has the files that arrived, which have no names yet.
Status copy_to_partners(Comm& heads, const NodeContext& node, NodeManifest& manifest, std::uint64_t turn,
                        CopyWriters& writers) {
  Holding& holding = *manifest.find(node.layout.id());
  const DirName dir = node.dir(manifest.identity);
  auto held = learn_entries(heads, node, *holding.own, turn);
  if (!held) return fail(held.error());

  std::vector<Outgoing> outgoing;
  const auto volume = std::make_shared<CheckedVolume>(*node.local, dir, *holding.own, node.sealer.has_key());
  for (const NodeId partner : partners_of(node.layout, node.me, turn)) {
    outgoing.push_back(
        {node.me.value, head_of(partner), stream_tag(0), volume_bytes(*holding.own), CheckedVolume::stream(volume, 0)});
  }
  std::vector<Incoming> incoming;
  for (const HeldCopies& copies : *held) {
    auto writer =
        std::make_shared<VolumeWriter>(*node.local, copy_files(dir, copies, node.layout.id()), names::owner_head());
    writers.push_back(writer);
    incoming.push_back(
        {copies.owner.value,
         {{head_of(copies.owner), stream_tag(0), {}}},
         volume_bytes(copies.shards),
         [writer](std::uint64_t, std::span<const Bytes> in) { return writer->write(in.front()); },
         [writer](std::uint64_t offset, std::uint64_t length) { return writer->place(offset, length); }});
  }
  if (auto status = exchange(heads, outgoing, incoming, node.between, node.symptoms); !status) return status;
  auto status = first_failure(outgoing, incoming);
  holding.partner = PartnerHolding{turn, std::move(*held)};
  return status;
}

class CopyFinder final : public SourceFinder {
 public:
  explicit CopyFinder(const KnownParts& known) : known_(known) {}

  std::optional<Found> find(Rank rank, Peer to) override {
    std::optional<Found> best;
    for (const KnownParts::Parts& parts : known_.parts()) {
      const auto& node_of_rank = parts.index->layout().node_of_rank;
      if (rank.value >= node_of_rank.size()) continue;
      const NodeId owner = node_of_rank[rank.value];
      for (const Peer holder : parts.copies.of(owner)) {
        if (!known_.has_copy(StoreId::node(holder), {owner, rank, parts.id})) continue;
        keep_cheaper(best, {holder == to ? kInPlace : kElsewhere, holder, CopiedShard{holder, parts.id, owner}});
      }
    }
    return best;
  }

 private:
  static constexpr int kInPlace = 1;    // before an own shard elsewhere, which is 2
  static constexpr int kElsewhere = 3;  // after it
  const KnownParts& known_;
};

}  // namespace

Status PartnerLevel::protect(Comm& heads, const NodeContext& node, NodeManifest& manifest, std::uint64_t turn) {
  const auto span = node.trace.span("send", manifest.identity.version.value, node.own_bytes(manifest));
  // If a snapshot is protected again, its old copies are replaced only when all new ones are known to be right.
  CopyWriters writers;
  const Status copied = agree(heads, copy_to_partners(heads, node, manifest, turn, writers), "node");
  if (!copied) return copied;
  Status committed;
  for (const auto& writer : writers) {
    for (const PendingFile& copy : writer->take()) {
      if (committed) committed = copy.commit();
    }
  }
  return agree(heads, committed, "node");
}

bool PartnerLevel::is_carried_by(const Layout& layout) const { return layout.copies > 0; }

bool PartnerLevel::survives(const Layout& layout, const std::vector<bool>& gone, std::uint64_t turn) const {
  if (!is_carried_by(layout)) return false;
  for (std::uint32_t node = 0; node < layout.nodes; ++node) {
    if (!gone[node]) continue;
    const auto partners = partners_of(layout, NodeId{node}, turn);
    if (std::ranges::all_of(partners, [&](NodeId partner) { return gone[partner.value]; })) return false;
  }
  return true;
}

// Where nodes are avoided, the others hold what these would.
std::uint64_t PartnerLevel::extra_bytes(std::uint64_t own_bytes, const Layout& layout, NodeId me) const {
  std::size_t owners = layout.copies;
  if (!layout.avoided.empty()) {
    owners = 0;
    for (std::uint32_t turn = 0; turn < layout.rotation; ++turn)
      owners = std::max(owners, owners_held_by(layout, me, turn).size());
  }
  return own_bytes * owners;
}

std::unique_ptr<SourceFinder> PartnerLevel::sources(const KnownParts& known) const {
  return std::make_unique<CopyFinder>(known);
}

std::string PartnerLevel::describe(const Delivery& delivery) const {
  return fmt::format("copy on node {}", delivery.holder()->value);
}

void PartnerLevel::note(KnownParts::Parts& parts, LevelId self, const HoldingSummary& part, Peer holder) const {
  for (const NodeId owner : parts.index->owners_held_by(part.node, part.turn)) parts.copies.add(self, owner, holder);
}

bool PartnerLevel::is_in(const Holding& holding) const { return holding.partner.has_value(); }
void PartnerLevel::forget(Holding& holding) const { holding.partner.reset(); }

std::optional<std::uint64_t> PartnerLevel::turn_of(const Holding& holding) const {
  if (!holding.partner) return {};
  return holding.partner->turn;
}

std::vector<NamedFile> PartnerLevel::files(const DirName& dir, const Holding& holding) const {
  std::vector<NamedFile> files;
  if (!holding.partner) return files;
  const LayoutId layout = holding.layout.id();
  for (const HeldCopies& held : holding.partner->held) {
    for (const ShardEntry& shard : held.shards)
      files.push_back({names::copy(dir, {held.owner, shard.rank, layout}), &holding, held.owner, shard});
  }
  return files;
}

bool PartnerLevel::is_file(std::string_view name, LayoutId layout) const {
  const auto copy = names::parse_copy(name);
  return copy && copy->layout == layout;
}

Result<RestoreOutcome> PartnerLevel::restore(Comm& heads, const NodeContext& node, const RestoreTask& task) {
  const auto span = node.trace.span("bring from L2", task.snapshot.version.value);
  return transfer_files(heads, node, task);
}

}  // namespace cairn
