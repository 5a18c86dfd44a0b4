// A manifest says what one store holds of one snapshot: identity, files with sizes and digests, and the layouts by
// which they were placed. It is JSON, written new, synced and renamed into place after the files it names; a file that
// no manifest names does not count. FORMAT.md lists the keys. Local: no call communicates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/sha256.hpp"
#include "format/notes.hpp"
#include "format/sealer.hpp"
#include "format/shard.hpp"
#include "store/store.hpp"
#include "topology/layout.hpp"

namespace cairn {

// L2: shards of another node kept here.
struct HeldCopies {
  NodeId owner;
  std::vector<ShardEntry> shards;
  friend bool operator==(const HeldCopies&, const HeldCopies&) = default;
};

struct PartnerHolding {
  std::uint64_t turn = 0;  // number of this promotion to L2, which chooses the placement
  std::vector<HeldCopies> held;
  friend bool operator==(const PartnerHolding&, const PartnerHolding&) = default;
};

// L3: parity kept here, and the entries of every group member's shards, because a lost node's manifest is lost too.
struct ParityEntry {
  std::uint32_t column = 0;
  std::uint32_t row = 0;
  std::uint64_t bytes = 0;  // of the file
  Sha256 digest;            // of header and CRCs; of the whole file, if it has no CRCs
  friend bool operator==(const ParityEntry&, const ParityEntry&) = default;
};

struct ErasureHolding {
  std::uint64_t chunk_bytes = 0;
  std::vector<std::vector<ShardEntry>> members;  // by index in the group: that node's shards, in volume order
  std::vector<ParityEntry> parity;
  friend bool operator==(const ErasureHolding&, const ErasureHolding&) = default;
};

// What is here under one layout, in which this store is node `node`.
struct Holding {
  Layout layout;
  NodeId node;
  std::optional<std::vector<ShardEntry>> own;  // L1: shards of this node's own ranks, by rank
  std::optional<PartnerHolding> partner;
  std::optional<ErasureHolding> erasure;
  friend bool operator==(const Holding&, const Holding&) = default;
};

struct NodeManifest {
  Identity identity;
  std::uint64_t safe_point = 0;
  std::vector<Holding> holdings;  // by layout; the first is the newest
  SnapshotNotes notes = {};       // as the ranks of a node have set them
  friend bool operator==(const NodeManifest&, const NodeManifest&) = default;

  [[nodiscard]] Holding* find(LayoutId layout);
  [[nodiscard]] const Holding* find(LayoutId layout) const;
};

// A whole file, known by its length and the SHA-256 of its bytes.
struct FileDigest {
  std::uint64_t bytes = 0;
  Sha256 digest;
  friend bool operator==(const FileDigest&, const FileDigest&) = default;
};

// What the manifest says about a node file in addition to its length: the digest of its bytes outside the data, and the
// place of the table that says where the data lies.
struct NodeFileCheck {
  std::uint64_t table = 0;   // offset
  std::uint64_t places = 0;  // the number of places in the table
  Sha256 digest;
  friend bool operator==(const NodeFileCheck&, const NodeFileCheck&) = default;
};

// L4: the whole snapshot on the global store.
struct GlobalManifest {
  Identity identity;
  std::uint64_t safe_point = 0;
  Layout layout;
  std::vector<ShardEntry> shards;              // by rank
  std::vector<std::uint64_t> node_file_bytes;  // by node
  std::optional<FileDigest> master = {};       // of checkpoint.h5; none: an older Cairn wrote no such digest
  std::vector<NodeFileCheck> node_files = {};  // by node; empty: an older Cairn wrote no such checks
  SnapshotNotes notes = {};
  friend bool operator==(const GlobalManifest&, const GlobalManifest&) = default;
};

// One life of the job, on the global store.
// A snapshot that somebody has chosen instead of the newest. Newer ones are abandoned, up to the version `after`.
struct Choice {
  Identity snapshot;
  Version after;           // the highest that any store had when it was chosen
  bool at_start = false;   // by the user, or by the first call of the program
  std::string label = {};  // by which it was chosen; empty: by its version
  friend bool operator==(const Choice&, const Choice&) = default;
};
// Of a record: what the oldest abandoned, or rejected, was retired long ago.
inline constexpr std::size_t kMostChoices = 64;
inline constexpr std::size_t kMostRejected = 64;

struct RunRecord {
  Incarnation incarnation;
  RunId run;
  enum class Parent { undecided, fresh, snapshot } parent = Parent::undecided;
  Identity parent_snapshot;             // when Parent::snapshot
  bool snapshots = false;               // a snapshot of this life was sealed: the chain is not empty
  bool finished = false;                // the chain ended here; the next start is fresh
  std::vector<Choice> choices = {};     // of this life, oldest first
  std::vector<Identity> rejected = {};  // by the program in this life, oldest first: later ones restore them if chosen
  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

// Which chain of snapshots a store belongs to. The mark is made in a global store, and kept there and in every node
// store that has snapshots of the chain.
struct ChainMark {
  RunId id;
  std::string global;  // where that global store was, for messages
  friend bool operator==(const ChainMark&, const ChainMark&) = default;
};

// Inverse pairs. Changed bytes, a missing key and a value out of range are Code::corrupt, and the message names them. A
// newer format is Code::newer_format; a file with another seal than the job's is Code::untrusted. If the job may have a
// key, the caller must pass the job's sealer.
[[nodiscard]] std::string to_json(const NodeManifest& manifest, const Sealer& sealer = {});
[[nodiscard]] Result<NodeManifest> parse_node_manifest(const std::string& text, const Sealer& sealer = {});
[[nodiscard]] std::string to_json(const GlobalManifest& manifest, const Sealer& sealer = {});
[[nodiscard]] Result<GlobalManifest> parse_global_manifest(const std::string& text, const Sealer& sealer = {});
[[nodiscard]] std::string to_json(const RunRecord& record, const Sealer& sealer = {});
[[nodiscard]] Result<RunRecord> parse_run_record(const std::string& text, const Sealer& sealer = {});
[[nodiscard]] std::string to_json(const ChainMark& mark, const Sealer& sealer = {});
[[nodiscard]] Result<ChainMark> parse_chain_mark(const std::string& text, const Sealer& sealer = {});

// The digest of a file; and whether a file still has that digest: Code::corrupt says what differs.
[[nodiscard]] Result<FileDigest> digest_file(const Store& store, const FileName& name);
[[nodiscard]] Status check_file(const Store& store, const FileName& name, const FileDigest& expected);

// Returns the file's size. A manifest is refused in the directory of another snapshot.
[[nodiscard]] Result<std::uint64_t> write_manifest(Store& store, const NodeManifest& manifest, const Sealer& sealer);
[[nodiscard]] Result<NodeManifest> read_node_manifest(const Store& store, const DirName& dir, const Sealer& sealer);
[[nodiscard]] Result<GlobalManifest> read_global_manifest(const Store& global, const DirName& dir,
                                                          const Sealer& sealer);

}  // namespace cairn
