// L4 on disk: HDF5 that h5dump, h5py and ParaView read. One file a node holds its ranks' regions, named and
// typed (/rank000007/plate), each rank's shard frame (header, tables, digests) beside them as an opaque dataset
// (/cairn/rank000007), so that the shard rebuilt from the file is byte-identical; where the frame has no SHA-256 of the
// blocks, they are beside it (/cairn/rank000007.sha256). A master links them: external
// links per rank and, under /arrays, virtual datasets that join regions of one name (format/joined_regions).
//
// HDF5 reads and writes through a Store (a virtual file driver of our own), so these files are written, fail and sync
// like every other file here. Local: no call communicates. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/checked_shard.hpp"
#include "format/manifest.hpp"
#include "format/region.hpp"
#include "format/shard.hpp"
#include "store/pending_file.hpp"
#include "store/store.hpp"

namespace cairn {

// A node file that is written.
struct WrittenFile {
  std::uint64_t bytes = 0;
  NodeFileCheck check;
};

// Writes a node file: regions, frames and, of shards that have none, the SHA-256 of their blocks, which are computed
// while the store receives the regions. Every block of the shards is checked as it is read. Dropped before finish(), it
// leaves nothing behind.
class NodeFileWriter {
 public:
  // For these shards of `local`. `global` must outlive it. `sha`: as CheckedShard::open().
  static Result<NodeFileWriter> begin(Store& global, const FileName& name, const Store& local,
                                      const std::vector<FileName>& shards, bool sha = false);
  // For these shards of one snapshot, wherever they are.
  static Result<NodeFileWriter> begin(Store& global, const FileName& name, std::vector<CheckedShard> shards);
  NodeFileWriter(NodeFileWriter&&) noexcept;
  NodeFileWriter& operator=(NodeFileWriter&&) noexcept;
  ~NodeFileWriter();

  // Writes the file, syncs it, and gives it its name; `workers` help, `between` is called every few MiB. Nothing may be
  // called after it. `expected`: the manifest's entries of the shards, in their order; empty: the digests are not
  // compared.
  [[nodiscard]] Result<WrittenFile> finish(std::span<const ShardEntry> expected, Workers& workers,
                                           const std::function<void()>& between);

 private:
  struct State;
  explicit NodeFileWriter(std::unique_ptr<State> state);
  [[nodiscard]] Result<bool> advance(std::uint64_t bytes);
  [[nodiscard]] Status write_regions(Workers& workers, const std::function<void()>& between);
  [[nodiscard]] Status write_frames(std::span<const ShardEntry> expected);
  [[nodiscard]] Status enter_shard();
  [[nodiscard]] Status enter_region();
  [[nodiscard]] Result<WrittenFile> close(const std::function<void()>& between);
  std::unique_ptr<State> state_;
};

// HDF5 opens the node files that the functions below read: where the manifest has a NodeFileCheck, check_node_file()
// comes first (format/hdf5/node_file_check).

// The target of a shard that is rebuilt: its store, its name, its file, and what failed there. Every other failure is
// the fault of the source.
struct ShardTarget {
  Store& local;
  const FileName& shard;
  Status status = {};
  PendingFile file = {};
  bool compared = false;  // the SHA-256 of every block too, or it has none: nothing is left to verify
};
// The inverse for one rank: rebuilds its shard, owned by that rank. What is written is compared with `expected` and
// with the CRC-32C of each block on the way. The caller gives the file its name.
[[nodiscard]] Status restore_shard(const Store& global, const FileName& node_file, const ShardEntry& expected,
                                   ShardTarget& target, const std::function<void()>& between);

struct RankRegions {
  Rank rank;
  NodeId node;
  std::vector<RegionInfo> regions;
};
// Writes the master file over node files in the same directory, synced. Attributes of `notes` are those of "/" and, of
// a region, of its dataset in /arrays; the label is the attribute "label" of "/".
[[nodiscard]] Status write_master_file(Store& global, const DirName& dir, const std::vector<RankRegions>& ranks,
                                       const SnapshotNotes& notes = {});

// Checks a rank's regions and frame in a node file against `expected` without writing a shard: each block's CRC-32C and
// SHA-256, and the digest.
[[nodiscard]] Status verify_node_shard(const Store& global, const FileName& node_file, const ShardEntry& expected,
                                       const std::function<void()>& between);

}  // namespace cairn
