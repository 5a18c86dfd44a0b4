#include "level/global_files.hpp"

#include <utility>

#include "format/hdf5/hdf5_file.hpp"
#include "format/json_file.hpp"
#include "store/names.hpp"

namespace cairn {

Result<GlobalManifest> write_master_and_manifest(Store& global, const DirName& dir, GlobalManifest draft,
                                                 std::vector<NodeReport> nodes, const Sealer& sealer) {
  GlobalManifest manifest = std::move(draft);
  manifest.layout.arrangement = 0;  // it numbers the places of node stores, which do not matter here
  manifest.layout.avoided.clear();  // nor does what they hold of each other
  manifest.shards.resize(manifest.layout.node_of_rank.size());
  std::vector<RankRegions> ranks(manifest.shards.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    manifest.node_file_bytes.push_back(nodes[i].file.bytes);
    manifest.node_files.push_back(nodes[i].file.check);
    manifest.notes.fill_from(nodes[i].notes);
    for (std::size_t r = 0; r < nodes[i].shards.size(); ++r) {
      const std::uint32_t rank = nodes[i].shards[r].rank.value;
      manifest.shards[rank] = nodes[i].shards[r];
      ranks[rank] = {Rank{rank}, NodeId{i}, {}};
      for (PlacedRegion& region : nodes[i].tables[r]) ranks[rank].regions.push_back(std::move(region.info));
    }
  }
  if (auto status = write_master_file(global, dir, ranks, manifest.notes); !status) return fail(status.error());
  auto master = digest_file(global, names::master_file(dir));
  if (!master) return fail(master.error());
  manifest.master = *master;
  const std::string text = to_json(manifest, sealer);
  if (auto status = write_json_text(global, names::manifest(dir), text, kMostManifestBytes); !status)
    return fail(status.error());
  return manifest;
}

}  // namespace cairn
