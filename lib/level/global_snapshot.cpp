#include "level/global_snapshot.hpp"

#include "format/hdf5/hdf5_check.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/hdf5/node_file_check.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

DirName dir_of(const GlobalManifest& manifest) { return names::snapshot(manifest.identity); }

}  // namespace

std::vector<SharedSnapshot::Part> GlobalSnapshot::parts() const {
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < manifest_.layout.nodes; ++i) {
    const NodeId node{i};
    parts.push_back(
        {names::node_file(dir_of(manifest_), node), manifest_.node_file_bytes[i], manifest_.layout.ranks_on(node)});
  }
  return parts;
}

bool GlobalSnapshot::is_same(const SharedSnapshot& other) const {
  const auto* same = dynamic_cast<const GlobalSnapshot*>(&other);
  return same != nullptr && same->manifest_ == manifest_;
}

// HDF5 may abort if metadata is damaged, so the file is checked first.
void GlobalSnapshot::verify_node_file(const Store& store, const Part& part, NodeId node, const Reading& reading) const {
  if (reading.is_told(part.file)) return;
  if (!manifest_.node_files.empty()) {
    const auto whole = check_node_file(store, part.file, part.bytes, manifest_.node_files[node.value], {});
    if (!whole || part.ranks.empty()) return reading.tell(part.file, part.ranks, part.bytes, whole);
  }
  for (const Rank rank : part.ranks) {
    const ShardEntry& shard = manifest_.shards[rank.value];
    reading.begin(shard.bytes);
    const Status status = verify_node_shard(store, part.file, shard, reading.between);
    reading.end();
    reading.tell(part.file, {rank}, shard.bytes, status);
  }
}

void GlobalSnapshot::verify(const Store& store, const Reading& reading) const {
  const std::vector<Part> all = parts();
  for (std::uint32_t node = 0; node < all.size(); ++node) verify_node_file(store, all[node], NodeId{node}, reading);
  const DirName dir = dir_of(manifest_);
  const FileName master = names::master_file(dir);
  const auto whole = manifest_.master ? check_file(store, master, *manifest_.master) : Status{};
  const auto verified =
      whole.and_then([&] { return verify_master_file(store, dir, manifest_.identity, manifest_.layout.node_of_rank); });
  reading.tell(master, {}, 0, verified);
}

}  // namespace cairn
