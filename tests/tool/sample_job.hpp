// The stores of a small job on disk, as a run would have left them: 8 ranks on 4 simulated nodes, one copy, one group
// of four with two parity rows. Node n has ranks 2n and 2n + 1; its copies are on node n + 1.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "format/manifest.hpp"
#include "format/shard_header.hpp"
#include "support/temp_directory.hpp"
#include "topology/layout.hpp"

namespace cairn::test {

inline constexpr std::uint32_t kNodes = 4;
inline constexpr std::uint32_t kRanksPerNode = 2;
inline constexpr RunId kRun{0x0123456789abcdefULL};
inline const std::vector<LevelId> kEveryLevel{LevelId::local, LevelId::partner, LevelId::erasure, LevelId::global};
inline const std::vector<LevelId> kUpToErasure{LevelId::local, LevelId::partner, LevelId::erasure};

class SampleJob {
 public:
  // Below `parent`: /dev/shm is tmpfs, /tmp should be a disk.
  explicit SampleJob(const std::string& parent = "/tmp") : directory_(parent) {}

  // Sick nodes: snapshots that are added from now on keep nothing of other nodes there.
  void avoid(std::vector<NodeId> nodes) { avoided_ = std::move(nodes); }

  // What blocks of shards have that are written from now on.
  void write_with(BlockDigest digest) { digest_ = digest; }

  // What the program says about snapshots that are added from now on.
  void note(SnapshotNotes notes) { notes_ = std::move(notes); }

  // Takes a snapshot to all of `levels`, in their order, in the life 1, which has a record then.
  void add_snapshot(std::uint32_t version, const std::vector<LevelId>& levels, const std::string& job = "heat") const;
  // Version 40 at every level, 41 up to L3, and 42 at L1 only.
  void add_three_snapshots() const;
  void add_run(const RunRecord& record, const std::string& job = "heat") const;

  [[nodiscard]] std::string root() const { return directory_.path(); }
  [[nodiscard]] std::string local() const { return root() + "/local"; }
  [[nodiscard]] std::string global() const { return root() + "/global"; }
  [[nodiscard]] std::string record(Incarnation incarnation, RunId run = kRun) const;
  // The node's directory of a snapshot, and the global store's.
  [[nodiscard]] std::string node(std::uint32_t node, std::uint32_t version, const std::string& job = "heat") const;
  [[nodiscard]] std::string global_snapshot(std::uint32_t version) const;

  [[nodiscard]] std::string shard(std::uint32_t rank, std::uint32_t version) const;
  [[nodiscard]] std::string copy(std::uint32_t rank, std::uint32_t version) const;
  // Of the parity rows that a node holds.
  [[nodiscard]] std::string parity(std::uint32_t node, std::uint32_t row, std::uint32_t version) const;

  void lose_node(std::uint32_t node) const;

 private:
  TempDirectory directory_;
  std::vector<NodeId> avoided_;
  BlockDigest digest_ = BlockDigest::sha256;
  SnapshotNotes notes_;
};

[[nodiscard]] Layout sample_job_layout(const std::vector<NodeId>& avoided = {});
[[nodiscard]] Identity sample_job_identity(std::uint32_t version);

// Damage, on the real files.
void flip_byte(const std::string& file, std::uint64_t offset);
void flip_middle_byte(const std::string& file);
void cut(const std::string& file, std::uint64_t bytes);
// Replaces the first `from` in a text file; fails the test when there is none.
void replace_text(const std::string& file, const std::string& from, const std::string& to);
// The same in a JSON file, with the seal that belongs to it then; and any other change of a file's text.
void rewrite_json(const std::string& file, const std::string& from, const std::string& to);
void change_json(const std::string& file, const std::function<std::string(const std::string&)>& change);

}  // namespace cairn::test
