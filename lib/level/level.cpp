#include "level/level.hpp"

#include <algorithm>

#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {

FileName home_of(const NodeContext& node, const Identity& snapshot, const Delivery& delivery, bool aside) {
  return names::shard(aside && !delivery.in_place() ? names::brought() : node.dir(snapshot), delivery.rank);
}

DirName NodeContext::dir(const Identity& identity) const { return names::snapshot(identity); }

std::uint64_t NodeContext::own_bytes(const NodeManifest& manifest) const {
  const Holding* holding = manifest.find(layout.id());
  return holding != nullptr && holding->own ? volume_bytes(*holding->own) : 0;
}

Status Level::verify(const Store& store, const Identity& /*snapshot*/, const NamedFile& file,
                     const std::function<void()>& between) const {
  return verify_shard(store, file.name, *file.shard(), between);
}

bool Level::begins_well(const Store& store, const Identity& snapshot, const NamedFile& file) const {
  const auto shard = ShardFile::open(store, file.name);
  return shard && shard->header().identity == snapshot && shard->header().rank == file.shard()->rank && shard->table();
}

bool Level::looks_whole(const NodeContext& node, const Identity& snapshot, const NodeManifest* manifest) const {
  if (manifest == nullptr || !in_node_stores()) return false;
  return std::ranges::all_of(manifest->holdings, [&](const Holding& holding) {
    return std::ranges::all_of(files(node.dir(snapshot), holding),
                               [&](const NamedFile& file) { return begins_well(*node.local, snapshot, file); });
  });
}

Status Level::confirm(Comm& heads, const NodeContext& node, const NodeManifest& manifest, Reads /*reads*/) const {
  Status mine;
  if (!looks_whole(node, manifest.identity, &manifest))
    mine = fail(Code::not_found, node.name_of(manifest.identity) + ": files are missing, or their headers are damaged");
  return agree(heads, mine, "node");
}

Result<std::shared_ptr<const SharedSnapshot>> Level::look_at(const Store& store, const DirName& dir,
                                                             const Sealer& /*sealer*/) const {
  return fail(Code::not_found, store.where() + " is not a store for " + dir.path + " at this level");
}

Result<std::vector<Strike>> Level::blame(Comm& /*heads*/, const NodeContext& node, const RestoreTask& task,
                                         const std::vector<std::size_t>& wrong, bool /*struck*/) const {
  const DirName dir = node.dir(task.snapshot);
  std::vector<Strike> strikes;
  for (const std::size_t i : wrong) {
    const Delivery& delivery = task.deliveries[i];
    if (const auto file = delivery.file(dir)) {
      strikes.push_back({StoreId::node(*delivery.holder()), file->path});
    } else if (const auto store = traits_.shared_store) {
      strikes.push_back({*store, names::shard(dir, delivery.rank).path});
    }
  }
  return strikes;
}

bool Level::stands_on(std::string_view name, const HoldingSummary& part, const Layout& layout) const {
  if (!in_node_stores()) return false;
  if (is_file(name, part.layout)) return true;
  const auto rank = names::parse_shard(name);
  return rank && rank->value < layout.node_of_rank.size() && layout.node_of_rank[rank->value] == part.node;
}

Status Level::discard(const NodeContext& node, NodeManifest& manifest, LayoutId layout) const {
  if (!in_node_stores()) return {};
  const DirName dir = node.dir(manifest.identity);
  auto entries = node.local->list(dir);
  if (!entries) return fail(entries.error());
  for (const Entry& entry : *entries) {
    if (!is_file(entry.name, layout)) continue;
    if (auto status = node.local->retire(FileName{dir.path + "/" + entry.name}, names::owner_head()); !status)
      return status;
  }
  if (Holding* holding = manifest.find(layout)) forget(*holding);
  return {};
}

std::vector<VolumeFile> shard_files(const DirName& dir, const std::vector<ShardEntry>& shards) {
  std::vector<VolumeFile> files;
  for (const ShardEntry& shard : shards) files.push_back({names::shard(dir, shard.rank), shard.bytes});
  return files;
}

Buffer encode_entries(const std::vector<ShardEntry>& shards) {
  ByteWriter out;
  for (const ShardEntry& shard : shards) {
    out.put(shard.rank.value);
    out.put(shard.bytes);
    out.put(Bytes(shard.digest.bytes));
  }
  return out.take();
}

Result<std::vector<ShardEntry>> decode_entries(Bytes bytes) {
  if (bytes.size() % kEntryBytes != 0) {
    return fail_internal(Code::communication,
                         "a message of shard entries has " + std::to_string(bytes.size()) + " bytes");
  }
  ByteReader in(bytes);
  std::vector<ShardEntry> shards;
  while (in.remaining() > 0) {
    ShardEntry shard;
    shard.rank = Rank{in.get<std::uint32_t>()};
    shard.bytes = in.get<std::uint64_t>();
    const Bytes digest = in.get_bytes(shard.digest.bytes.size());
    std::copy(digest.begin(), digest.end(), shard.digest.bytes.begin());
    shards.push_back(shard);
  }
  return shards;
}

}  // namespace cairn
