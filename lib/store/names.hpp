// The names of everything in a store, built and parsed here and nowhere else.
//
//   v00000042-<run id, 16 hex digits>/        one directory a snapshot
//     rank000007.shard                        a rank's shard (L1)
//     node0003.rank000010.<layout>.copy       a shard copied for node 3 (L2); layout: 8 hex digits
//     parity.c02.p1.<layout>                  parity of column 2, row 1 (L3)
//     node0000.h5, checkpoint.h5              global store only (L4)
//     manifest.json                           renamed into place last
//   v00000042-<run id>.partial/               global store only: being written
//   run-00000003-<run id>.json                global store only: one an incarnation
//   chain.json                              which global store these snapshots belong to
//   costs.json                              global store only: what the job has measured about itself
//   health.json                             global store only: what is sick
//   health-00000003.json                    global store only: the same, of one run that could not read health.json
//   watch.json                              global store only: that heads look after the run, and when they last did
//   suspicion-<16 hex digits>.json         global store only: what somebody reports, until a head takes it
//   brought/rank000007.shard                node stores only: a shard that is not restored as it is, during a restore
//   files.rank000007/                       node stores only: files that a rank writes for its next snapshot
//   symptoms.json                           node stores only: symptoms that wait for the next life
//   token                                   node stores only: while a session opens
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "store/store.hpp"

namespace cairn::names {

// Cairn never gives a version or incarnation above this, so a name with a higher one is not a file of Cairn, and the
// next number always fits its type.
inline constexpr std::uint32_t kLastNumber = 4'000'000'000;

struct SnapshotDir {
  Version version;
  RunId run;
  bool partial = false;
  friend auto operator<=>(const SnapshotDir&, const SnapshotDir&) = default;
};

[[nodiscard]] DirName snapshot(Version version, RunId run);
[[nodiscard]] inline DirName snapshot(const Identity& id) { return snapshot(id.version, id.run); }
[[nodiscard]] DirName partial_snapshot(Version version, RunId run);
[[nodiscard]] std::optional<SnapshotDir> parse_snapshot(std::string_view name);
[[nodiscard]] DirName directory_of(const SnapshotDir& dir);
// Those in a listing of a store's top level, in its order, what is being written included.
[[nodiscard]] std::vector<SnapshotDir> snapshots_in(const std::vector<Entry>& entries);

// Shards that a restore has brought here without making them a part of this store's snapshot: it is one of another
// number of ranks, or is only opened. They have no manifest, and count for nothing after it.
[[nodiscard]] DirName brought();

// Files that a rank of the application writes for its next snapshot, or has got from a restore.
[[nodiscard]] DirName files(Rank rank);
[[nodiscard]] std::optional<Rank> parse_files(std::string_view name);

[[nodiscard]] FileName shard(const DirName& dir, Rank rank);
[[nodiscard]] std::optional<Rank> parse_shard(std::string_view name);

struct Copy {
  NodeId owner;
  Rank rank;
  LayoutId layout;
  friend auto operator<=>(const Copy&, const Copy&) = default;
};
[[nodiscard]] FileName copy(const DirName& dir, const Copy& copy);
[[nodiscard]] std::optional<Copy> parse_copy(std::string_view name);

struct Parity {
  std::uint32_t column;
  std::uint32_t row;
  LayoutId layout;
  friend auto operator<=>(const Parity&, const Parity&) = default;
};
[[nodiscard]] FileName parity(const DirName& dir, const Parity& parity);
[[nodiscard]] std::optional<Parity> parse_parity(std::string_view name);

[[nodiscard]] FileName manifest(const DirName& dir);
[[nodiscard]] FileName node_file(const DirName& dir, NodeId node);
[[nodiscard]] FileName master_file(const DirName& dir);

[[nodiscard]] FileName run_record(Incarnation incarnation, RunId run);
struct RunRecordName {
  Incarnation incarnation;
  RunId run;
};
[[nodiscard]] std::optional<RunRecordName> parse_run_record(std::string_view name);

// What running ranks say to MPI.
[[nodiscard]] DirName calls();
[[nodiscard]] FileName calls(Rank rank);
[[nodiscard]] std::optional<Rank> parse_calls(std::string_view name);

// What a rank's calls have got that name no sender, or no tag.
[[nodiscard]] DirName choices();
[[nodiscard]] FileName choices(Rank rank);
// A rank's copies of messages for which its memory has no room.
[[nodiscard]] FileName spill(Rank rank);

[[nodiscard]] FileName costs();
// Which snapshots are pinned.
[[nodiscard]] FileName pins();
[[nodiscard]] FileName health();
// The verdicts of one run that could not read health.json.
[[nodiscard]] FileName health_of(Incarnation life);
[[nodiscard]] bool is_health_of_a_run(std::string_view name);
[[nodiscard]] FileName watch();
[[nodiscard]] FileName symptoms();
// `number`: by chance, so that those of several reporters differ.
[[nodiscard]] FileName suspicion(std::uint64_t number);
[[nodiscard]] bool is_suspicion(std::string_view name);
[[nodiscard]] FileName chain_mark();
// Shows which processes see this store.
[[nodiscard]] FileName token();

// The owner of a retired file: a rank gets its own warm files back.
[[nodiscard]] std::string owner_rank(Rank rank);
[[nodiscard]] std::string owner_head();

// "node0003": the directory of a simulated node's store.
[[nodiscard]] std::string node_directory(NodeId node);
// 16 hex digits.
[[nodiscard]] std::string hex(RunId run);
[[nodiscard]] std::optional<RunId> parse_run(std::string_view text);
[[nodiscard]] std::string hex(LayoutId layout);

}  // namespace cairn::names
