// The part of an audit that reads single files: of node stores, and of stores of all nodes.
#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "format/manifest.hpp"
#include "inspect/audit.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// A file that is not good may have been retired while it was read: then its manifest is gone, or no longer names it.
bool is_still_named(const JobStores& stores, StoreId holder, const Identity& snapshot, const NamedFile& file) {
  const DirName dir = names::snapshot(snapshot);
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

// Whether a store of all nodes still has the snapshot. Retiring one there is a single step.
bool is_still_there(const JobStores& stores, LevelId level, const SharedSnapshot& snapshot) {
  const StoreId store = *stores.levels.at(level).traits().shared_store;
  const DirName dir = names::snapshot(snapshot.identity());
  const auto now = stores.levels.at(level).look_at(stores.at(store), dir, stores.sealer_at(store));
  return now ? (*now)->is_same(snapshot) : now.error().code != Code::not_found;
}

Finding shared_finding(const AuditStep& step, LevelId level, const SharedSnapshot& snapshot, const FileName& file,
                       const Status& status) {
  const StoreId store = *step.stores.levels.at(level).traits().shared_store;
  Finding finding = status ? good_finding(step.stores, snapshot.identity(), store, file)
                           : describe_failure(step.stores, snapshot.identity(), store, file, status.error());
  if (!status && !is_still_there(step.stores, level, snapshot)) {
    finding.state = Finding::State::retired;
    finding.what = "retired while reading";
  }
  return finding;
}

bool is_good(const SnapshotAudit& audit, StoreId holder, const FileName& file) {
  return std::ranges::any_of(audit.findings, [&](const Finding& finding) {
    return finding.holder == holder && finding.file == file && finding.state == Finding::State::good;
  });
}

// What the owners' manifests say of their shards, where the shard was found good.
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

// Fails with the first of `shards` that differs from its owner's entry.
Status compare_entries(const std::map<Rank, ShardEntry>& proven, const std::vector<ShardEntry>& shards) {
  for (const ShardEntry& shard : shards) {
    const auto own = proven.find(shard.rank);
    if (own == proven.end() || own->second == shard) continue;
    return fail(
        Code::corrupt,
        fmt::format("lists the shard of rank {} with {} bytes and digest {}; that shard has {} bytes and digest {}",
                    shard.rank.value, shard.bytes, shard.digest.hex(), own->second.bytes, own->second.digest.hex()));
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

// Copies that were not made from the owner's shard are useless, and so is parity whose tables differ from the members'.
void check_holding(const AuditStep& step, StoreId holder, const NodeManifest& manifest, const Holding& holding,
                   const std::map<Rank, ShardEntry>& proven) {
  const DirName dir = names::snapshot(manifest.identity);
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
        good_finding(stores, manifest->identity, holder, names::manifest(names::snapshot(manifest->identity))));
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

void AuditStep::shared_files() const {
  for (const auto& [level, snapshot] : survey.shared_of(audit.view.identity)) shared_files(level, *snapshot);
}

void AuditStep::shared_files(LevelId level, const SharedSnapshot& snapshot) const {
  const StoreId store = *stores.levels.at(level).traits().shared_store;
  const auto tell = [&, of = level](const FileName& file, const std::vector<Rank>& ranks, std::uint64_t bytes,
                                    const Status& status) {
    Finding finding = shared_finding(*this, of, snapshot, file, status);
    finding.level = of;
    finding.ranks = ranks;
    finding.bytes = bytes;
    audit.findings.push_back(std::move(finding));
  };
  snapshot.verify(stores.at(store), {.is_told = [&](const FileName& file) { return is_told(audit, store, file); },
                                     .begin = [&](std::uint64_t bytes) { progress.begin(bytes); },
                                     .between = [&] { progress.piece(kMiB); },
                                     .end = [&] { progress.end(); },
                                     .tell = tell});
  const FileName manifest = names::manifest(names::snapshot(snapshot.identity()));
  audit.findings.push_back(
      shared_finding(*this, level, snapshot, manifest, compare_entries(proven_entries(*this), snapshot.shards())));
}

}  // namespace cairn
