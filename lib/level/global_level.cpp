#include "level/global_level.hpp"

#include <algorithm>
#include <tuple>

#include "format/hdf5/hdf5_check.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/hdf5/node_file_check.hpp"
#include "format/json_file.hpp"
#include "level/exchange.hpp"
#include "level/global_snapshot.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// What the master and the manifest need to know of a node: its shards, their regions, its file.
struct NodeReport {
  WrittenFile file;
  std::vector<ShardEntry> shards;
  std::vector<ShardHeader> headers;
  std::vector<std::vector<PlacedRegion>> tables;
};

constexpr std::size_t kFileBytes = 3 * sizeof(std::uint64_t) + sizeof(Sha256::bytes);

void put(ByteWriter& out, const WrittenFile& file) {
  out.put(file.bytes);
  out.put(file.check.table);
  out.put(file.check.places);
  out.put(Bytes(file.check.digest.bytes));
}

WrittenFile get_file(ByteReader& in) {
  WrittenFile file;
  file.bytes = in.get<std::uint64_t>();
  file.check.table = in.get<std::uint64_t>();
  file.check.places = in.get<std::uint64_t>();
  std::ranges::copy(in.get_bytes(file.check.digest.bytes.size()), file.check.digest.bytes.begin());
  return file;
}

Buffer encode(const NodeReport& report) {
  ByteWriter out;
  put(out, report.file);
  out.put(static_cast<std::uint32_t>(report.shards.size()));
  out.put(encode_entries(report.shards));
  for (std::size_t i = 0; i < report.shards.size(); ++i) {
    const Buffer table = encode(report.tables[i]);
    out.put(report.headers[i].regions);
    out.put(report.headers[i].data_offset);
    out.put(report.headers[i].data_bytes);
    out.put(report.headers[i].table_crc);
    out.put(static_cast<std::uint64_t>(table.size()));
    out.put(Bytes(table));
  }
  return out.take();
}

Result<NodeReport> decode_report(Bytes bytes, NodeId node) {
  ByteReader in(bytes);
  NodeReport report;
  report.file = get_file(in);
  const auto count = in.get<std::uint32_t>();
  auto shards = decode_entries(in.get_bytes(count * kEntryBytes));
  if (!shards) return fail(shards.error());
  report.shards = std::move(*shards);
  for (std::size_t i = 0; i < report.shards.size(); ++i) {
    ShardHeader header;
    header.regions = in.get<std::uint32_t>();
    header.data_offset = in.get<std::uint64_t>();
    header.data_bytes = in.get<std::uint64_t>();
    header.table_crc = in.get<std::uint32_t>();
    header.table_bytes = in.get<std::uint64_t>();
    auto table = decode_region_table(in.get_bytes(header.table_bytes), header);
    if (!table || !in.good()) {
      return fail(Code::communication, "node " + std::to_string(node.value) + " sent a damaged list of regions");
    }
    report.headers.push_back(header);
    report.tables.push_back(std::move(table->regions));
  }
  return report;
}

DirName partial_dir(const Identity& snapshot) { return names::partial_snapshot(snapshot.version, snapshot.run); }

// Writes this node's file, and returns what head 0 must know about it.
Result<NodeReport> write_own_file(const NodeContext& node, const NodeManifest& manifest) {
  const std::vector<ShardEntry>& own = *manifest.find(node.layout.id())->own;
  NodeReport report{{}, own, {}, {}};
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
  GlobalManifest global{manifest.identity, manifest.safe_point, node.layout, {}, {}};
  global.layout.arrangement = 0;  // it numbers the places of node stores, which do not matter here
  global.shards.resize(node.layout.node_of_rank.size());
  std::vector<RankRegions> ranks(global.shards.size());
  for (std::uint32_t i = 0; i < reports.size(); ++i) {
    auto report = decode_report(reports[i], NodeId{i});
    if (!report) return fail(report.error());
    global.node_file_bytes.push_back(report->file.bytes);
    global.node_files.push_back(report->file.check);
    for (std::size_t r = 0; r < report->shards.size(); ++r) {
      const std::uint32_t rank = report->shards[r].rank.value;
      global.shards[rank] = report->shards[r];
      ranks[rank] = {Rank{rank}, NodeId{i}, {}};
      for (PlacedRegion& region : report->tables[r]) ranks[rank].regions.push_back(std::move(region.info));
    }
  }
  if (auto status = write_master_file(*node.global, partial, ranks); !status) return status;
  auto master = digest_file(*node.global, names::master_file(partial));
  if (!master) return fail(master.error());
  global.master = *master;
  const FileName name = names::manifest(partial);
  if (auto status = write_json_text(*node.global, name, to_json(global, node.sealer), kMostManifestBytes); !status)
    return status;
  if (auto status = check_not_taken_over(*node.global, node.incarnation, node.run); !status) return status;
  const DirName dir = node.dir(manifest.identity);
  // A good directory is never removed: it is kept, and the new one is dropped.
  if (is_whole(node, dir, global)) return node.global->remove_directory(partial);
  if (auto status = node.global->remove_directory(dir); !status) return status;
  return node.global->rename_directory(partial, dir);
}

// Reports travel to head 0 one node at a time, so that their sizes need not be known.
Result<std::vector<Buffer>> gather_reports(Comm& heads, const NodeReport& mine) {
  constexpr Tag kSize{1};
  constexpr Tag kReport{2};
  const Buffer report = encode(mine);
  std::vector<Buffer> reports;
  if (heads.rank().value != 0) {
    const std::uint64_t size = report.size();
    if (auto status = heads.send(Peer{0}, kSize, std::as_bytes(std::span(&size, 1))); !status)
      return fail(status.error());
    if (auto status = heads.send(Peer{0}, kReport, report); !status) return fail(status.error());
    return reports;
  }
  reports.push_back(report);
  for (std::uint32_t i = 1; i < heads.size(); ++i) {
    std::uint64_t size = 0;
    if (auto status = heads.recv(Peer{i}, kSize, std::as_writable_bytes(std::span(&size, 1))); !status)
      return fail(status.error());
    reports.emplace_back(size);
    if (auto status = heads.recv(Peer{i}, kReport, reports.back()); !status) return fail(status.error());
  }
  return reports;
}

// Where a rank's shard is in the global store, its entry, and the check of its node file.
struct Part {
  NodeId node;
  ShardEntry shard;
  bool has_check = false;  // else an older Cairn wrote it, without a check
  WrittenFile file = {};
};
constexpr std::size_t kPartBytes = sizeof(std::uint32_t) + kEntryBytes + sizeof(bool) + kFileBytes;

Part part_of(const GlobalManifest& manifest, Rank rank) {
  Part part{manifest.layout.node_of_rank[rank.value], manifest.shards[rank.value]};
  part.file.bytes = manifest.node_file_bytes[part.node.value];
  part.has_check = !manifest.node_files.empty();
  if (part.has_check) part.file.check = manifest.node_files[part.node.value];
  return part;
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

std::vector<Rank> ranks_for(const RestoreTask& task, Peer head) {
  std::vector<Rank> ranks;
  for (const Delivery& delivery : task.deliveries) {
    if (delivery.to == head) ranks.push_back(delivery.rank);
  }
  return ranks;
}

// One part a rank; nothing: the manifest has none of them.
Buffer encode_parts(const std::optional<GlobalManifest>& manifest, const std::vector<Rank>& ranks) {
  ByteWriter out;
  out.put(manifest.has_value());
  for (const Rank rank : ranks) {
    const bool there = manifest && rank.value < manifest->shards.size();
    const Part part = there ? part_of(*manifest, rank) : Part{};
    out.put(part.node.value);
    out.put(encode_entries({part.shard}));
    out.put(part.has_check);
    put(out, part.file);
  }
  return out.take();
}

Result<std::vector<Part>> decode_parts(Bytes bytes) {
  ByteReader in(bytes);
  std::vector<Part> parts;
  if (!in.get<bool>()) return parts;
  while (in.good() && in.remaining() > 0) {
    Part part;
    part.node.value = in.get<std::uint32_t>();
    auto entries = decode_entries(in.get_bytes(kEntryBytes));
    if (!entries) return fail(entries.error());
    part.shard = entries->front();
    part.has_check = in.get<bool>();
    part.file = get_file(in);
    parts.push_back(part);
  }
  return parts;
}

// Head 0 reads the manifest, which may be large, and tells each head its part of it; empty: it cannot be used.
Result<std::vector<Part>> share_parts(Comm& heads, const RestoreTask& task,
                                      const std::function<std::optional<GlobalManifest>()>& read) {
  constexpr Tag kParts{3};
  const std::vector<Rank> mine = ranks_for(task, heads.rank());
  if (heads.rank().value != 0) {
    if (mine.empty()) return std::vector<Part>{};
    Buffer bytes(sizeof(bool) + mine.size() * kPartBytes);
    if (auto status = heads.recv(Peer{0}, kParts, bytes); !status) return fail(status.error());
    return decode_parts(bytes);
  }
  const std::optional<GlobalManifest> manifest = read();
  for (std::uint32_t head = 1; head < heads.size(); ++head) {
    const std::vector<Rank> ranks = ranks_for(task, Peer{head});
    if (ranks.empty()) continue;
    if (auto status = heads.send(Peer{head}, kParts, encode_parts(manifest, ranks)); !status)
      return fail(status.error());
  }
  return decode_parts(encode_parts(manifest, mine));
}

// Checks each node file once, before HDF5 opens it.
class NodeFileChecks {
 public:
  NodeFileChecks(const NodeContext& node, const DirName& dir) : node_(node), dir_(dir) {}

  Status check(const Part& part) {
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
                "run only one job of this name at a time, or give this one another [job] name");
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
    const Part& part = (*parts)[next++];
    const FileName file = names::node_file(dir, part.node);
    const FileName home = names::shard(dir, delivery.rank);
    ShardTarget target{*node.local, home};
    const auto status = checks.check(part).and_then(
        [&] { return restore_shard(*node.global, file, part.shard, target, node.between); });
    if (status) {
      outcome.arrived.push_back({part.shard, i, std::move(target.file), target.compared});
    } else if (!target.status) {
      return fail(status.error());
    } else {
      node.log.warning("rank {}: L4: {}", delivery.rank.value, status.error().text());
      outcome.strikes.push_back({StoreId::global(), home.path});
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
    const Part& part = (*parts)[i];
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
