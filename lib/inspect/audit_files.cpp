// The part of an audit that reads single files: of node stores, and of the global store.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "format/hdf5/hdf5_check.hpp"
#include "format/hdf5/hdf5_file.hpp"
#include "format/hdf5/node_file_check.hpp"
#include "format/manifest.hpp"
#include "inspect/audit.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// A file that is not good may have been retired while it was read: then its manifest is gone, or names it no more.
bool is_still_named(const JobStores& stores, StoreId holder, const Identity& snapshot, const NamedFile& file) {
  const DirName dir = names::snapshot(snapshot.version, snapshot.run);
  const auto manifest = read_node_manifest(stores.at(holder), dir, stores.sealer_at(holder));
  if (!manifest) return manifest.error().code != Code::not_found;
  return std::ranges::any_of(stores.levels.files(*manifest), [&](const NamedFile& now) {
    return now.name == file.name && now.bytes() == file.bytes() && now.digest() == file.digest();
  });
}

Status verify_file(const AuditStep& step, StoreId holder, const NamedFile& file) {
  const auto between = [&] { step.progress.piece(kMiB); };
  return step.stores.levels.at(file.level).verify(step.stores.at(holder), step.audit.view.identity, file, between);
}

Finding good_finding(const JobStores& stores, const Identity& snapshot, StoreId holder, const FileName& file) {
  return {Finding::State::good, snapshot, holder, file, {}, {}, 0, stores.path_of(holder, file), {}};
}

bool is_told(const SnapshotAudit& audit, StoreId holder, const FileName& file) {
  return std::ranges::any_of(audit.findings,
                             [&](const Finding& finding) { return finding.holder == holder && finding.file == file; });
}

void check_node_file(const AuditStep& step, StoreId holder, const NamedFile& file) {
  const Identity& snapshot = step.audit.view.identity;
  step.progress.begin(file.bytes());
  const Status status = verify_file(step, holder, file);
  step.progress.end();
  Finding finding = status ? good_finding(step.stores, snapshot, holder, file.name)
                           : describe_failure(step.stores, snapshot, holder, file.name, status.error());
  if (!status && !is_still_named(step.stores, holder, snapshot, file)) {
    finding.state = Finding::State::retired;
    finding.what = "retired while reading";
  }
  finding.level = file.level;
  finding.bytes = file.bytes();
  if (const ShardEntry* shard = file.shard()) finding.ranks = {shard->rank};
  step.audit.findings.push_back(std::move(finding));
}

// Whether the global store still has the snapshot; one that is retired goes in a single step.
bool is_still_global(const JobStores& stores, const GlobalManifest& manifest) {
  const DirName dir = names::snapshot(manifest.identity.version, manifest.identity.run);
  const auto now = read_global_manifest(*stores.global, dir, stores.sealer_at(StoreId::global()));
  return now ? *now == manifest : now.error().code != Code::not_found;
}

void add_global(const AuditStep& step, const GlobalManifest& manifest, const FileName& file, std::vector<Rank> ranks,
                std::uint64_t bytes, const Status& status) {
  const Identity& snapshot = manifest.identity;
  Finding finding = status ? good_finding(step.stores, snapshot, StoreId::global(), file)
                           : describe_failure(step.stores, snapshot, StoreId::global(), file, status.error());
  if (!status && !is_still_global(step.stores, manifest)) {
    finding.state = Finding::State::retired;
    finding.what = "retired while reading";
  }
  finding.level = *step.stores.levels.in_global_store().begin();
  finding.ranks = std::move(ranks);
  finding.bytes = bytes;
  step.audit.findings.push_back(std::move(finding));
}

bool is_good(const SnapshotAudit& audit, StoreId holder, const FileName& file) {
  return std::ranges::any_of(audit.findings, [&](const Finding& finding) {
    return finding.holder == holder && finding.file == file && finding.state == Finding::State::good;
  });
}

// What the owners' manifests say of their shards, where a shard bears it out.
std::map<Rank, ShardEntry> proven_entries(const AuditStep& step) {
  std::map<Rank, ShardEntry> proven;
  for (const StoreId holder : step.survey.node_stores()) {
    const NodeManifest* manifest = find_manifest(step.survey, holder, step.audit.view.identity);
    if (manifest == nullptr) continue;
    for (const NamedFile& file : step.stores.levels.files(*manifest)) {
      if (file.level == step.stores.levels.of_own_shards() && is_good(step.audit, holder, file.name))
        proven[file.shard()->rank] = *file.shard();
    }
  }
  return proven;
}

// The first of `shards` that is not as its owner has it.
Status compare_entries(const std::map<Rank, ShardEntry>& proven, const std::vector<ShardEntry>& shards) {
  for (const ShardEntry& shard : shards) {
    const auto own = proven.find(shard.rank);
    if (own == proven.end() || own->second == shard) continue;
    return fail(Code::corrupt,
                fmt::format("says that rank {}'s shard has {} bytes and digest {}; it has {} and {}", shard.rank.value,
                            shard.bytes, shard.digest.hex(), own->second.bytes, own->second.digest.hex()));
  }
  return {};
}

void mark_damaged(SnapshotAudit& audit, StoreId holder, const FileName& file, const std::string& what) {
  for (Finding& finding : audit.findings) {
    if (finding.holder != holder || finding.file != file || finding.state != Finding::State::good) continue;
    finding.state = Finding::State::damaged;
    finding.what = what;
  }
}

// Copies that are not of the owner's shard, and parity whose tables are not of the members', are of no use.
void check_holding(const AuditStep& step, StoreId holder, const NodeManifest& manifest, const Holding& holding,
                   const std::map<Rank, ShardEntry>& proven) {
  const DirName dir = names::snapshot(manifest.identity.version, manifest.identity.run);
  const LayoutId layout = holding.layout.id();
  if (holding.partner) {
    for (const HeldCopies& held : holding.partner->held) {
      for (const ShardEntry& shard : held.shards) {
        const Status agrees = compare_entries(proven, {shard});
        if (agrees) continue;
        mark_damaged(step.audit, holder, names::manifest(dir), agrees.error().message);
        mark_damaged(step.audit, holder, names::copy(dir, {held.owner, shard.rank, layout}),
                     "its manifest " + agrees.error().message);
      }
    }
  }
  if (!holding.erasure) return;
  for (const auto& member : holding.erasure->members) {
    const Status agrees = compare_entries(proven, member);
    if (agrees) continue;
    mark_damaged(step.audit, holder, names::manifest(dir), agrees.error().message);
    for (const ParityEntry& parity : holding.erasure->parity) {
      mark_damaged(step.audit, holder, names::parity(dir, {parity.column, parity.row, layout}),
                   "its manifest " + agrees.error().message);
    }
  }
}

}  // namespace

void AuditStep::node_files() const {
  for (const StoreId holder : survey.node_stores()) {
    const NodeManifest* manifest = find_manifest(survey, holder, audit.view.identity);
    if (manifest == nullptr) continue;
    audit.findings.push_back(
        good_finding(stores, manifest->identity, holder,
                     names::manifest(names::snapshot(manifest->identity.version, manifest->identity.run))));
    for (const NamedFile& file : stores.levels.files(*manifest)) {
      if (!is_told(audit, holder, file.name)) check_node_file(*this, holder, file);
    }
  }
}

void AuditStep::entries() const {
  const auto proven = proven_entries(*this);
  for (const StoreId holder : survey.node_stores()) {
    const NodeManifest* manifest = find_manifest(survey, holder, audit.view.identity);
    if (manifest == nullptr) continue;
    for (const Holding& holding : manifest->holdings) check_holding(*this, holder, *manifest, holding, proven);
  }
}

// HDF5 may abort on metadata that is not what it wrote.
void AuditStep::node_file(const GlobalManifest& manifest, NodeId node) const {
  const FileName file = names::node_file(names::snapshot(manifest.identity.version, manifest.identity.run), node);
  if (is_told(audit, StoreId::global(), file)) return;
  const std::vector<Rank> ranks = manifest.layout.ranks_on(node);
  if (!manifest.node_files.empty()) {
    const std::uint64_t bytes = manifest.node_file_bytes[node.value];
    const auto whole = check_node_file(*stores.global, file, bytes, manifest.node_files[node.value], {});
    if (!whole || ranks.empty()) {
      add_global(*this, manifest, file, ranks, bytes, whole);
      return;
    }
  }
  for (const Rank rank : ranks) {
    const ShardEntry& shard = manifest.shards[rank.value];
    progress.begin(shard.bytes);
    const Status status = verify_node_shard(*stores.global, file, shard, [&] { progress.piece(kMiB); });
    progress.end();
    add_global(*this, manifest, file, {rank}, shard.bytes, status);
  }
}

void AuditStep::global_files() const {
  const auto found = survey.global.find(audit.view.identity);
  if (found == survey.global.end()) return;
  const GlobalManifest& manifest = found->second;
  const DirName dir = names::snapshot(manifest.identity.version, manifest.identity.run);
  for (std::uint32_t node = 0; node < manifest.layout.nodes; ++node) node_file(manifest, NodeId{node});
  add_global(*this, manifest, names::manifest(dir), {}, 0, compare_entries(proven_entries(*this), manifest.shards));
  audit.findings.back().level.reset();
  const FileName master = names::master_file(dir);
  const auto whole = manifest.master ? check_file(*stores.global, master, *manifest.master) : Status{};
  const auto verified = whole.and_then(
      [&] { return verify_master_file(*stores.global, dir, manifest.identity, manifest.layout.node_of_rank); });
  add_global(*this, manifest, master, {}, 0, verified);
}

}  // namespace cairn
