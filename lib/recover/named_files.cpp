#include "recover/named_files.hpp"

#include <map>
#include <string>
#include <utility>

#include "store/names.hpp"

namespace cairn {

std::vector<NamedFile> files_named(const NodeManifest& manifest) {
  const DirName dir = names::snapshot(manifest.identity.version, manifest.identity.run);
  std::map<std::string, NamedFile> files;
  const auto add = [&](NamedFile file) { files.emplace(file.name.path, std::move(file)); };
  for (const Holding& holding : manifest.holdings) {
    const LayoutId layout = holding.layout.id();
    if (holding.own) {
      for (const ShardEntry& shard : *holding.own) {
        add({names::shard(dir, shard.rank), LevelId::local, &holding, holding.node, shard, {}});
      }
    }
    if (holding.partner) {
      for (const HeldCopies& held : holding.partner->held) {
        for (const ShardEntry& shard : held.shards) {
          const FileName name = names::copy(dir, {held.owner, shard.rank, layout});
          add({name, LevelId::partner, &holding, held.owner, shard, {}});
        }
      }
    }
    if (holding.erasure) {
      for (const ParityEntry& parity : holding.erasure->parity) {
        const FileName name = names::parity(dir, {parity.column, parity.row, layout});
        add({name, LevelId::erasure, &holding, holding.node, {}, parity});
      }
    }
  }
  std::vector<NamedFile> all;
  for (auto& [name, file] : files) all.push_back(std::move(file));
  return all;
}

}  // namespace cairn
