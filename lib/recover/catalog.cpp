#include "recover/catalog.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "level/volume.hpp"
#include "store/names.hpp"

namespace cairn {

void Known::strike(LevelSet levels) {
  const LevelSet now_struck = levels & complete;
  for (const LevelId level : now_struck) {
    complete.remove(level);
    struck.add(level);
  }
}

Catalog::Catalog(const NodeContext& node_context, std::shared_ptr<StoreMemory> store_memory, const KeepCounts& kept)
    : node(node_context),
      memory(store_memory ? std::move(store_memory) : std::make_shared<StoreMemory>()),
      keeps(kept) {}

Result<StoreContents> Catalog::look(const Sealer& sealer) const {
  return read_store(*node.local, node.me, node.log, *memory, sealer, node.levels);
}

Status Catalog::read(const Sealer& sealer) {
  auto found = look(sealer);
  if (!found) return fail(found.error());
  contents = std::move(*found);
  return {};
}

void Catalog::add_shared(Inventory& inventory) const {
  for (const auto& [id, one] : known) {
    for (const LevelId level : shared_levels_of(one)) inventory.shared[level].push_back(id);
  }
}

void Catalog::take(Inventory& inventory) {
  add_shared(inventory);
  const std::map<Identity, Known> before = std::exchange(known, {});
  for (const auto& [id, levels] : inventory.levels_reached()) {
    known[id].manifest.identity = id;
    known[id].complete = levels.complete;
    known[id].struck = levels.struck;
    if (const auto old = before.find(id); old != before.end()) known[id].strike(old->second.struck);
  }
  for (const NodeManifest& manifest : contents.manifests) known[manifest.identity].manifest = manifest;
  strike_abandoned();
}

void Catalog::strike_abandoned() {
  for (auto& [id, one] : known) {
    if (!chain.branch.has(id) || rejected.contains(id)) one.strike(LevelSet::all());
  }
}

void Catalog::reject(const Identity& snapshot) {
  rejected.insert(snapshot);
  strike_abandoned();
}

void Catalog::release(Rank rank, const Identity& snapshot) {
  if (const auto one = held_.find({snapshot, rank}); one != held_.end()) held_.erase(one);
}

void Catalog::release_all(Rank rank) {
  std::erase_if(held_, [&](const auto& one) { return one.second == rank; });
}

bool Catalog::is_held(const Identity& snapshot) const {
  const auto first = held_.lower_bound({snapshot, Rank{}});
  return first != held_.end() && first->first == snapshot;
}

Status Catalog::write(const NodeManifest& manifest) {
  const DirName dir = node.dir(manifest.identity);
  memory->forget(*node.local, dir);
  const auto bytes = write_manifest(*node.local, manifest, node.sealer);
  if (!bytes) return fail(bytes.error());
  memory->remember(*node.local, dir, manifest, *bytes);
  return {};
}

// What no manifest names does not count, so a crash in between loses nothing that counts.
Status Catalog::retire(const DirName& dir) {
  if (std::ranges::find(contents.unreadable, dir, &Unreadable::dir) != contents.unreadable.end()) return {};
  memory->forget(*node.local, dir);
  if (auto status = node.local->remove(names::manifest(dir)); !status) return status;
  auto entries = node.local->list(dir);
  if (!entries) return fail(entries.error());
  for (const Entry& entry : *entries) {
    const FileName name{dir.path + "/" + entry.name};
    Status status;
    if (const auto rank = names::parse_shard(entry.name)) {
      status = node.local->retire(name, names::owner_rank(*rank));
    } else if (names::parse_copy(entry.name) || names::parse_parity(entry.name)) {
      status = node.local->retire(name, names::owner_head());
    }
    if (!status) return status;
  }
  return node.local->remove_directory(dir);
}

std::vector<KnownSnapshot> Catalog::all_known() const {
  std::vector<KnownSnapshot> snapshots;
  for (const auto& [id, one] : known)
    snapshots.push_back({id, one.complete, one.struck, one.in_flight, !chain.branch.has(id), chain.pins.contains(id)});
  return snapshots;
}

std::vector<Version> Catalog::retire_old() {
  const std::vector<Identity> old = retirable(all_known(), keeps, node.levels.in_node_stores());
  // The slots are freed even if the removal below fails: the store may still have room, and the next snapshot must not
  // wait for these slots.
  std::vector<Version> free = take_free_slots(old);
  for (const Identity& id : old) {
    if (is_held(id)) continue;
    const auto span = node.trace.span("retire", id.version.value);
    const auto it = known.find(id);
    const Status retired = retire(node.dir(id));
    if (!retired) {
      warn(retired);
      continue;
    }
    // A snapshot that a shared store keeps stays known, but without its files in node stores.
    Known& one = it->second;
    if (!shared_levels_of(one).empty()) {
      one.complete.remove(node.levels.in_node_stores());
      one.struck.remove(node.levels.in_node_stores());
      one.manifest.holdings.clear();
    } else {
      known.erase(it);
    }
  }
  for (const LevelId level : node.levels.in_shared_stores()) {
    for (const Identity& id : retirable_at(level, all_known(), keeps)) retire_at(level, id);
  }
  trace_space();
  return free;
}

void Catalog::trace_space() const {
  if (!node.trace.is_on()) return;
  std::uint64_t shards = 0;
  std::uint64_t copies = 0;
  std::uint64_t parity = 0;
  for (const auto& [id, one] : known) {
    for (const Holding& holding : one.manifest.holdings) {
      if (holding.own) shards += volume_bytes(*holding.own);
      if (holding.partner)
        for (const HeldCopies& held : holding.partner->held) copies += volume_bytes(held.shards);
      if (holding.erasure)
        for (const ParityEntry& entry : holding.erasure->parity) parity += entry.bytes;
    }
  }
  node.trace.count("bytes of shards", static_cast<double>(shards));
  node.trace.count("bytes of copies", static_cast<double>(copies));
  node.trace.count("bytes of parity", static_cast<double>(parity));
}

// A struck snapshot holds no slot: it may stay for a long time in addition to those that are to be kept.
std::vector<Version> Catalog::take_free_slots(const std::vector<Identity>& retired) {
  std::vector<Version> free;
  std::erase_if(slots_, [&](Version version) {
    const Identity id{node.incarnation, version, node.run};
    const auto found = known.find(id);
    bool holds = found != known.end() && !found->second.manifest.holdings.empty();
    if (holds) {
      const LevelSet struck = found->second.struck & node.levels.in_node_stores();
      holds = struck.empty() && std::ranges::find(retired, id) == retired.end();
    }
    if (!holds) free.push_back(version);
    return !holds;
  });
  return free;
}

LevelSet Catalog::shared_levels_of(const Known& one) const {
  LevelSet levels = one.complete;
  levels.add(one.struck);
  return levels & node.levels.in_shared_stores();
}

void Catalog::retire_at(LevelId level, const Identity& id) {
  if (node.leads()) {
    const auto span = node.trace.span("retire from a shared store", id.version.value);
    warn(node.levels.at(level).store(node)->remove_directory_later(node.dir(id)));
  }
  Known& one = known.at(id);
  one.complete.remove(level);
  one.struck.remove(level);
  chain.forget(node.levels, level, id);
  if (one.manifest.holdings.empty() && shared_levels_of(one).empty()) known.erase(id);
}

void Catalog::retire_orphans() {
  for (const DirName& orphan : contents.orphans) warn(retire(orphan));
  contents.orphans.clear();
}

void Catalog::retire_damaged(const Known& newer) {
  LevelSet reached = newer.complete;
  reached.add(newer.asked);
  const Identity& id = newer.manifest.identity;
  if (id.incarnation != node.incarnation || newer.complete.empty() || reached != newer.complete) return;
  const auto take = [&](std::vector<Unreadable>& unreadable) {
    std::vector<DirName> dirs;
    std::erase_if(unreadable, [&](const Unreadable& what) {
      const bool goes = what.can_go_after(id.version);
      if (goes) dirs.push_back(what.dir);
      return goes;
    });
    return dirs;
  };
  for (const DirName& dir : take(contents.unreadable)) {
    // While the chain mark was lost, a sealed file looked damaged. Now the chain is known, so the file may turn out to
    // be whole, or not ours.
    const auto again = read_node_manifest(*node.local, dir, node.sealer);
    if (!again && again.error().code == Code::corrupt) warn(retire(dir));
  }
  if (!node.leads() || (newer.complete & node.levels.in_global_store()).empty()) return;
  for (const DirName& dir : take(chain.unreadable)) warn(node.global->remove_directory(dir));
}

void Catalog::drop_old_layouts(Known& snapshot) {
  if (snapshot.rebuilt.empty() || snapshot.rebuild_failed) return;
  const std::vector<Holding> holdings = snapshot.manifest.holdings;
  for (const Holding& holding : holdings) {
    const LayoutId layout = holding.layout.id();
    if (layout == node.layout.id()) continue;
    if (auto status = drop_old(snapshot, layout); !status) return warn(status);
  }
}

// If a level is off in today's layout, its old files stay, and so do the shards that it needs. The manifest changes
// first, see retire().
Status Catalog::drop_old(Known& snapshot, LayoutId layout) {
  NodeManifest& manifest = snapshot.manifest;
  const Holding old = *manifest.find(layout);
  Holding& left = *manifest.find(layout);
  const LevelSet redundancy = node.levels.of_redundancy();
  const LevelSet renewed = redundancy & snapshot.today;
  for (const LevelId level : renewed) node.levels.at(level).forget(left);
  const bool nothing_left = (node.levels.held(left) & redundancy).empty();
  if (left == old && !nothing_left) return {};
  if (nothing_left)
    std::erase_if(manifest.holdings, [&](const Holding& holding) { return holding.layout.id() == layout; });
  if (auto status = write(manifest); !status) return status;
  for (const LevelId level : renewed) {
    if (auto status = node.levels.at(level).discard(node, manifest, layout); !status) return status;
  }
  if (!nothing_left || !old.own) return {};
  for (const ShardEntry& shard : *old.own) {
    if (node.layout.node_of_rank[shard.rank.value] == node.me) continue;
    const FileName name = names::shard(node.dir(manifest.identity), shard.rank);
    if (auto status = node.local->retire(name, names::owner_rank(shard.rank)); !status) return status;
  }
  return {};
}

void Catalog::check_invariants() const {
  for (const auto& [id, one] : known) {
    check(one.manifest.identity == id);
    check((one.complete & one.struck).empty());
    check(one.due.empty() || one.in_flight);
    for (auto holding = one.manifest.holdings.begin(); holding != one.manifest.holdings.end(); ++holding)
      check(one.manifest.find(holding->layout.id()) == &*holding);  // no two of one layout
  }
}

std::vector<Rank> Catalog::find_damaged(const Identity& snapshot, const std::vector<ShardEntry>& shards) const {
  std::vector<Rank> damaged;
  for (const ShardEntry& shard : shards) {
    const FileName name = names::shard(node.dir(snapshot), shard.rank);
    const auto whole = verify_shard(*node.local, name, shard, *node.workers, node.between);
    if (whole) continue;
    damaged.push_back(shard.rank);
    node.log.warning("node {}: {}: {}", node.me.value, node.local->where(), whole.error().text());
  }
  return damaged;
}

Catalog::Losses Catalog::look_for_losses() const {
  // A store that cannot be listed does not count as a loss: the next write there will report the error.
  const auto is_there = [&](const DirName& dir, const FileName& file) {
    const auto entries = node.local->list(dir);
    return !entries || has_entry(*entries, file);
  };
  Losses losses;
  for (const auto& [id, one] : known) {
    const DirName dir = node.dir(id);
    // Looks for the manifest, not for the directory: a promotion under way makes the directory again for its files.
    if (one.manifest.holdings.empty() || one.lost || is_there(dir, names::manifest(dir))) continue;
    losses.versions.push_back(id.version);
    node.log.warning("node {}: {} has lost its files of version {}; that version is no longer complete", node.me.value,
                     node.local->where(), id.version.value);
  }
  losses.mark = !is_there(DirName{}, names::chain_mark());
  return losses;
}

void Catalog::warn(const Status& status) const {
  if (!status) node.log.warning("{}", status.error().text());
}

}  // namespace cairn
