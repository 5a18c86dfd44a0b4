#include "level/level.hpp"

#include "level/erasure_level.hpp"
#include "level/global_level.hpp"
#include "level/local_level.hpp"
#include "level/partner_level.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {

DirName NodeContext::dir(const Identity& identity) const { return names::snapshot(identity.version, identity.run); }

std::uint64_t NodeContext::own_bytes(const NodeManifest& manifest) const {
  const Holding* holding = manifest.find(layout.id());
  return holding != nullptr && holding->own ? volume_bytes(*holding->own) : 0;
}

FileName Delivery::file(const DirName& dir) const {
  return level == LevelId::partner ? names::copy(dir, {owner, rank, layout}) : names::shard(dir, rank);
}

std::unique_ptr<Level> make_level(LevelId id) {
  switch (id) {
    case LevelId::local: return std::make_unique<LocalLevel>();
    case LevelId::partner: return std::make_unique<PartnerLevel>();
    case LevelId::erasure: return std::make_unique<ErasureLevel>();
    case LevelId::global: return std::make_unique<GlobalLevel>();
  }
  return nullptr;
}

Levels make_levels() {
  Levels levels;
  for (const LevelId level : kAllLevels) levels[level] = make_level(level);
  return levels;
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
    return fail(Code::communication, "a message of shard entries has " + std::to_string(bytes.size()) + " bytes");
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
