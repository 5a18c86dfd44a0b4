#include "level/global_level.hpp"

#include <algorithm>
#include <tuple>

#include "format/hdf5/hdf5_check.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/hdf5/node_file_check.hpp"
#include "format/json_file.hpp"
#include "level/global_files.hpp"
#include "level/global_messages.hpp"
#include "level/global_snapshot.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

DirName partial_dir(const Identity& snapshot) { return names::partial_snapshot(snapshot.version, snapshot.run); }

// Writes this node's file, and returns what head 0 must know about it.
Result<NodeReport> write_own_file(const NodeContext& node, const NodeManifest& manifest) {
  const std::vector<ShardEntry>& own = *manifest.find(node.layout.id())->own;
  NodeReport report{{}, own, {}, {}, manifest.notes};
  std::vector<FileName> shards;
  for (const VolumeFile& file : shard_files(node.dir(manifest.identity), own)) {
    auto shard = Shard::open(*node.local, file.name);
    if (!shard) return fail(shard.error());
    report.headers.push_back(shard->header());
    report.tables.push_back(shard->regions());
    shards.push_back(file.name);
  }
  const FileName name = names::node_file(partial_dir(manifest.identity), node.me);
  auto file = NodeFileWriter::begin(*node.global, name, *node.local, shards, node.sealer.has_key())
                  .and_then([&](NodeFileWriter writer) { return writer.finish(own, *node.workers, node.between); });
  if (!file) return fail(file.error());
  report.file = *file;
  return report;
}

// Whether a directory that a commit finds under its final name has all of the snapshot. Such a directory exists only
// after a commit whose vote was lost, or if it could not be used; that is rare, so it is read in full.
bool is_whole(const NodeContext& node, const DirName& dir, const GlobalManifest& wanted) {
  const auto there = read_global_manifest(*node.global, dir, node.sealer);
  if (!there || there->identity != wanted.identity || there->shards != wanted.shards) return false;
  if (!there->master || there->node_files.empty()) return false;
  if (!check_file(*node.global, names::master_file(dir), *there->master)) return false;
  for (std::uint32_t i = 0; i < there->layout.nodes; ++i) {
    const FileName file = names::node_file(dir, NodeId{i});
    if (!check_node_file(*node.global, file, there->node_file_bytes[i], there->node_files[i], node.between))
      return false;
  }
  return std::ranges::all_of(there->shards, [&](const ShardEntry& shard) {
    const FileName file = names::node_file(dir, there->layout.node_of_rank[shard.rank.value]);
    return verify_node_shard(*node.global, file, shard, node.between).has_value();
  });
}

// Head 0 writes master and manifest, and puts the directory in place.
Status commit(const NodeContext& node, const NodeManifest& manifest, const DirName& partial,
              const std::vector<Buffer>& reports) {
  std::vector<NodeReport> nodes;
  for (std::uint32_t i = 0; i < reports.size(); ++i) {
    auto report = decode_report(reports[i], NodeId{i});
    if (!report) return fail(report.error());
    nodes.push_back(std::move(*report));
  }
  const auto global =
      write_master_and_manifest(*node.global, partial, {manifest.identity, manifest.safe_point, node.layout, {}, {}},
                                std::move(nodes), node.sealer);
  if (!global) return fail(global.error());
  if (auto status = check_not_taken_over(*node.global, node.incarnation, node.run); !status) return status;
  const DirName dir = node.dir(manifest.identity);
  // A good directory is never removed: it is kept, and the new one is dropped.
  if (is_whole(node, dir, *global)) return node.global->remove_directory(partial);
  if (auto status = node.global->remove_directory(dir); !status) return status;
  return node.global->rename_directory(partial, dir);
}

// Every rank's shard, for the head of the node where the rank is today.
RestoreTask shards_of_all(const NodeContext& node, const Identity& snapshot) {
  RestoreTask task{snapshot, {}, {}, nullptr};
  for (std::uint32_t rank = 0; rank < node.layout.node_of_rank.size(); ++rank)
    task.deliveries.push_back({Rank{rank}, Peer{node.layout.node_of_rank[rank].value}, LevelId::global, SharedShard{}});
  return task;
}

// The manifest of a snapshot whose master file is as it was written.
Result<GlobalManifest> read_manifest_and_master(const NodeContext& node, const Identity& snapshot) {
  const DirName dir = node.dir(snapshot);
  auto manifest = read_global_manifest(*node.global, dir, node.sealer);
  if (!manifest) return manifest;
  if (manifest->identity != snapshot)
    return fail(Code::mismatch, dir.path + ": its manifest belongs to another snapshot");
  if (!manifest->master) return manifest;
  if (auto status = check_file(*node.global, names::master_file(dir), *manifest->master); !status)
    return fail(status.error());
  return manifest;
}

// Checks each node file once, before HDF5 opens it.
class NodeFileChecks {
 public:
  NodeFileChecks(const NodeContext& node, const DirName& dir) : node_(node), dir_(dir) {}

  Status check(const GlobalPart& part) {
    if (!part.has_check) return {};
    const auto known = checked_.find(part.node);
    if (known != checked_.end()) return known->second;
    const FileName file = names::node_file(dir_, part.node);
    const Status status = check_node_file(*node_.global, file, part.file.bytes, part.file.check, node_.between);
    return checked_.emplace(part.node, status).first->second;
  }

 private:
  const NodeContext& node_;
  const DirName& dir_;
  std::map<NodeId, Status> checked_;
};

}  // namespace

Status check_not_taken_over(const Store& global, Incarnation incarnation, RunId run) {
  auto entries = global.list(DirName{});
  if (!entries) return fail(entries.error());
  for (const Entry& entry : *entries) {
    const auto record = names::parse_run_record(entry.name);
    if (!record || std::tie(record->incarnation, record->run) <= std::tie(incarnation, run)) continue;
    return fail(Code::taken_over, "another run took over: " + global.where() + " has " + entry.name,
                "end one of the two runs; if they are different jobs, give each a [job] name of its own");
  }
  return {};
}

Status GlobalLevel::protect(Comm& heads, const NodeContext& node, NodeManifest& manifest, std::uint64_t /*turn*/) {
  const auto span = node.trace.span("flush", manifest.identity.version.value, node.own_bytes(manifest));
  const DirName partial = partial_dir(manifest.identity);
  auto mine = write_own_file(node, manifest);
  Status status = agree(heads, mine ? Status{} : fail(mine.error()), "node");
  if (status) {
    auto reports = gather_reports(heads, *mine);
    Status committed = reports ? Status{} : fail(reports.error());
    if (committed && heads.rank().value == 0) committed = commit(node, manifest, partial, *reports);
    status = agree(heads, committed, "node");
  }
  // Space is given back at once: a full file system must not stay full.
  if (!status && heads.rank().value == 0) (void)node.global->remove_directory(partial);
  return status;
}

Result<RestoreOutcome> GlobalLevel::restore(Comm& heads, const NodeContext& node, const RestoreTask& task) {
  const auto span = node.trace.span("bring from L4", task.snapshot.version.value);
  RestoreOutcome outcome;
  const DirName dir = node.dir(task.snapshot);
  const auto parts = share_parts(heads, task, [&]() -> std::optional<GlobalManifest> {
    auto manifest = read_global_manifest(*node.global, dir, node.sealer);
    if (manifest) return std::move(*manifest);
    outcome.strikes.push_back({StoreId::global(), names::manifest(dir).path});
    return std::nullopt;
  });
  if (!parts) return fail(parts.error());
  NodeFileChecks checks(node, dir);
  std::size_t next = 0;
  for (std::size_t i = 0; i < task.deliveries.size(); ++i) {
    const Delivery& delivery = task.deliveries[i];
    if (delivery.to.value != node.me.value || next == parts->size()) continue;
    const GlobalPart& part = (*parts)[next++];
    const FileName file = names::node_file(dir, part.node);
    const FileName home = task.home(node, delivery);
    ShardTarget target{*node.local, home};
    const auto status = checks.check(part).and_then(
        [&] { return restore_shard(*node.global, file, part.shard, target, node.between); });
    if (status) {
      outcome.arrived.push_back({part.shard, i, std::move(target.file), target.compared});
    } else if (!target.status) {
      return fail(status.error());
    } else {
      node.log.warning("rank {}: L4: {}", delivery.rank.value, status.error().text());
      outcome.strikes.push_back({StoreId::global(), names::shard(dir, delivery.rank).path});
    }
  }
  return outcome;
}

Status GlobalLevel::confirm(Comm& heads, const NodeContext& node, const NodeManifest& manifest, Reads reads) const {
  const auto span = node.trace.span("confirm L4", manifest.identity.version.value);
  const DirName dir = node.dir(manifest.identity);
  Status mine;
  const auto parts = share_parts(heads, shards_of_all(node, manifest.identity), [&]() -> std::optional<GlobalManifest> {
    auto there = read_manifest_and_master(node, manifest.identity);
    if (there) return std::move(*there);
    mine = fail(there.error());
    return std::nullopt;
  });
  if (!parts) mine = fail(parts.error());
  NodeFileChecks checks(node, dir);
  for (std::size_t i = 0; mine && i < parts->size(); ++i) {
    const GlobalPart& part = (*parts)[i];
    mine = checks.check(part);
    // What an older Cairn wrote can only be checked by reading all of it.
    if (mine && (reads == Reads::everything || !part.has_check))
      mine = verify_node_shard(*node.global, names::node_file(dir, part.node), part.shard, node.between);
  }
  return agree(heads, mine, "node");
}

Result<std::shared_ptr<const SharedSnapshot>> GlobalLevel::look_at(const Store& store, const DirName& dir,
                                                                   const Sealer& sealer) const {
  auto manifest = read_global_manifest(store, dir, sealer);
  if (!manifest) return fail(manifest.error());
  return std::make_shared<const GlobalSnapshot>(std::move(*manifest));
}

std::unique_ptr<SourceFinder> GlobalLevel::sources(const KnownParts& known) const {
  return find_in_shared_store(known, StoreId::global());
}

std::string GlobalLevel::describe(const Delivery& /*delivery*/) const { return "global store"; }

bool GlobalLevel::is_carried_by(const Layout& /*layout*/) const { return true; }

bool GlobalLevel::survives(const Layout& /*layout*/, const std::vector<bool>& /*gone*/, std::uint64_t /*turn*/) const {
  return true;
}

std::uint64_t GlobalLevel::extra_bytes(std::uint64_t /*own_bytes*/, const Layout& /*layout*/, NodeId /*me*/) const {
  return 0;
}

bool GlobalLevel::looks_whole(const NodeContext& node, const Identity& snapshot,
                              const NodeManifest* /*manifest*/) const {
  return begins_as_hdf5(*node.global, names::node_file(node.dir(snapshot), node.me));
}

}  // namespace cairn
