#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/engine.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

constexpr std::array<const char*, kLevels> kPromote = {"promote L1", "promote L2", "promote L3", "promote L4"};

}  // namespace

// One level of one snapshot at a time, cheapest level first, snapshots in order: every head does the same.
Result<bool> Engine::promote_next() {
  if (promotions_.empty()) return false;
  const Identity id = promotions_.front();
  for (const LevelId level : kAllLevels) {
    if (!known_.at(id).due.has(level)) continue;
    if (auto status = promote(known_.at(id), level); !status) return fail(status.error());
    if (broken_) return fail(*broken_);
    return true;
  }
  promotions_.pop_front();
  drop_old_layouts(known_.at(id));
  retire_damaged(known_.at(id));
  retire_old();
  return true;
}

// Fails only when a peer is lost; what goes wrong with the snapshot is told to the ranks.
Status Engine::promote(Known& known, LevelId level) {
  const auto span = node_.trace.span(kPromote[static_cast<std::size_t>(level) - 1],
                                     known.manifest.identity.version.value, node_.own_bytes(known.manifest));
  const auto start = setup_.clock();
  known.due.remove(level);
  const Version version = known.manifest.identity.version;
  const std::uint64_t turn = known.turn && level == LevelId::partner ? *known.turn : turns_[level]++;
  NodeManifest before = known.manifest;
  const Status status = protect(known, level, turn);
  if (!status && status.error().code == Code::communication) return status;
  if (status) {
    if (leads()) {
      node_.log.debug("{} is safe at L{}{}", node_.name_of(known.manifest.identity), static_cast<int>(level),
                      known.rebuilt.has(level) ? " again" : "");
    }
    // What is rebuilt may be there already but for a part: how long that takes says nothing of the next time.
    tell_all(Reached{version, level, known.rebuilt.has(level) ? std::chrono::microseconds{0} : setup_.clock() - start});
    retire_old();
    return {};
  }
  LevelSet failed;
  failed.add(level);
  if (known.rebuilt.has(level)) {
    // Part of it is there already, on other nodes or by an earlier layout: that is all there is now.
    known.manifest = std::move(before);
    known.rebuild_failed = true;
  } else {
    (void)levels_.at(level)->discard(node_, known.manifest, node_.layout.id());
    (void)keep(known.manifest);
  }
  const Error error =
      status.error().in(fmt::format("version {} did not reach L{}", version.value, static_cast<int>(level)));
  log_storage_error(leads(), error);
  tell_all(Failed{version, failed, error});
  return {};
}

// Makes the snapshot complete at a level, or finds out whether it is less than it was thought to be. Fails alike on all
// heads.
Status Engine::protect(Known& known, LevelId level, std::uint64_t turn) {
  Status status;
  if (level == LevelId::global) status = agree(setup_.heads, renew_records(), "node");
  if (status) status = levels_.at(level)->protect(setup_.heads, node_, known.manifest, turn);
  if (status && level != LevelId::global) status = agree(setup_.heads, keep(known.manifest), "node");
  if (status) {
    known.complete.add(level);
    known.struck.remove(level);
    known.today.add(level);
    return {};
  }
  if (status.error().code == Code::communication) return status;
  const Status looked = look_for_damage(known, status.error());
  return looked ? status : looked;
}

// Ranks whose shards in this node's store are not what they should be, each of which is logged.
std::vector<Rank> Engine::find_damaged(const Identity& snapshot, const std::vector<ShardEntry>& shards) const {
  std::vector<Rank> damaged;
  for (const ShardEntry& shard : shards) {
    const FileName name = names::shard(node_.dir(snapshot), shard.rank);
    const auto whole = verify_shard(*node_.local, name, shard, *node_.workers, node_.between);
    if (whole) continue;
    damaged.push_back(shard.rank);
    node_.log.warning("node {}: {}: {}", node_.me.value, node_.local->where(), whole.error().text());
  }
  return damaged;
}

// Were shards that were to be read the reason? What stands on them does not count from now on. Fails only when a peer
// is lost.
Status Engine::look_for_damage(Known& known, const Error& error) {
  std::uint64_t bad = 0;
  const Holding* holding = known.manifest.find(node_.layout.id());
  if (is_of_source(error.code) && holding != nullptr && holding->own)
    bad = find_damaged(known.manifest.identity, *holding->own).size();
  if (auto status = setup_.heads.allreduce({&bad, 1}, Reduce::sum); !status) return fail(status.error());
  if (bad == 0) return {};
  LevelSet levels;
  for (const LevelId level : {LevelId::local, LevelId::partner, LevelId::erasure}) levels.add(level);
  strike(known, levels);
  return {};
}

// What is sound of it stays a source, but it is no longer complete at these levels.
void Engine::strike(Known& known, LevelSet levels) {
  for (const LevelId level : kAllLevels) {
    if (!levels.has(level) || !known.complete.has(level)) continue;
    known.complete.remove(level);
    known.struck.add(level);
  }
}

std::vector<KnownSnapshot> Engine::known_snapshots() const {
  std::vector<KnownSnapshot> snapshots;
  for (const auto& [id, known] : known_) {
    const bool sealing = id.incarnation == node_.incarnation && sealing_.contains(id.version);
    const bool queued = std::ranges::find(promotions_, id) != promotions_.end();
    snapshots.push_back({id, known.complete, known.struck, sealing || queued});
  }
  return snapshots;
}

// Redundancy of a restored snapshot by an earlier layout, where all nodes have it by today's.
void Engine::drop_old_layouts(Known& known) {
  if (known.rebuilt.empty() || known.rebuild_failed) return;
  const std::vector<Holding> holdings = known.manifest.holdings;
  for (const Holding& holding : holdings) {
    const LayoutId layout = holding.layout.id();
    if (layout == node_.layout.id()) continue;
    if (auto status = drop_old(known, layout); !status) {
      node_.log.warning("{}", status.error().text());
      return;
    }
  }
}

// A level that today's layout has not, since it is off now, stays, and with it the shards that it needs. The manifest
// goes first, see retire().
Status Engine::drop_old(Known& known, LayoutId layout) {
  const Holding old = *known.manifest.find(layout);
  Holding& left = *known.manifest.find(layout);
  if (known.today.has(LevelId::partner)) left.partner.reset();
  if (known.today.has(LevelId::erasure)) left.erasure.reset();
  const bool nothing_left = !left.partner && !left.erasure;
  if (left == old && !nothing_left) return {};
  if (nothing_left)
    std::erase_if(known.manifest.holdings, [&](const Holding& holding) { return holding.layout.id() == layout; });
  if (auto status = keep(known.manifest); !status) return status;
  for (const LevelId level : {LevelId::partner, LevelId::erasure}) {
    if (!known.today.has(level)) continue;
    if (auto status = levels_.at(level)->discard(node_, known.manifest, layout); !status) return status;
  }
  if (!nothing_left || !old.own) return {};
  for (const ShardEntry& shard : *old.own) {
    if (std::ranges::find(ranks_, shard.rank) != ranks_.end()) continue;
    const FileName name = names::shard(node_.dir(known.manifest.identity), shard.rank);
    if (auto status = node_.local->retire(name, names::owner_rank(shard.rank)); !status) return status;
  }
  return {};
}

// Directories that no manifest stands for: snapshots that an earlier life never completed.
void Engine::retire_orphans() {
  for (const DirName& orphan : contents_.orphans) {
    if (auto status = retire(orphan); !status) node_.log.warning("{}", status.error().text());
  }
  contents_.orphans.clear();
}

// Snapshots that are there and are damaged, once one that is newer is complete at all its levels. What a newer Cairn
// wrote, or one with another key, is not ours to judge.
void Engine::retire_damaged(const Known& newer) {
  LevelSet reached = newer.complete;
  reached.add(newer.asked);
  const Identity& id = newer.manifest.identity;
  if (id.incarnation != node_.incarnation || newer.complete.empty() || reached != newer.complete) return;
  const auto take = [&](std::vector<Unreadable>& unreadable) {
    std::vector<DirName> dirs;
    std::erase_if(unreadable, [&](const Unreadable& what) {
      const bool goes = what.damaged() && !what.dir.path.empty() && what.version < id.version;
      if (goes) dirs.push_back(what.dir);
      return goes;
    });
    return dirs;
  };
  const auto note = [&](const Status& status) {
    if (!status) node_.log.warning("{}", status.error().text());
  };
  for (const DirName& dir : take(contents_.unreadable)) note(retire(dir));
  if (!leads() || !newer.complete.has(LevelId::global)) return;
  for (const DirName& dir : take(chain_.unreadable)) note(node_.global->remove_directory(dir));
}

bool Engine::is_unreadable(const DirName& dir) const {
  return std::ranges::find(contents_.unreadable, dir, &Unreadable::dir) != contents_.unreadable.end();
}

// Called after a successful vote, and by nothing else.
void Engine::retire_old() {
  for (const Identity& id : retirable(known_snapshots(), setup_.options.keep)) {
    const auto span = node_.trace.span("retire", id.version.value);
    const auto it = known_.find(id);
    const Status gone = retire(node_.dir(id));
    // A store that removes nothing may have room for the next snapshot, and that may not be kept waiting for this slot.
    if (id.incarnation == node_.incarnation) tell_all(Retired{id.version});
    if (!gone) {
      node_.log.warning("{}", gone.error().text());
      continue;
    }
    // What is kept in the global store is still known; its node files are not.
    Known& known = it->second;
    if (known.complete.has(LevelId::global) || known.struck.has(LevelId::global)) {
      for (const LevelId level : {LevelId::local, LevelId::partner, LevelId::erasure}) {
        known.complete.remove(level);
        known.struck.remove(level);
      }
      known.manifest.holdings.clear();
    } else {
      known_.erase(it);
    }
  }
  for (const Identity& id : retirable_globally(known_snapshots(), setup_.options.keep)) {
    if (leads()) {
      const auto span = node_.trace.span("retire from L4", id.version.value);
      if (auto status = node_.global->remove_directory(node_.dir(id)); !status)
        node_.log.warning("{}", status.error().text());
    }
    Known& known = known_.at(id);
    known.complete.remove(LevelId::global);
    known.struck.remove(LevelId::global);
    std::erase(chain_.global, id);
    if (known.manifest.holdings.empty()) known_.erase(id);
  }
}

// Writes a manifest of this node's store, and remembers it.
Status Engine::keep(const NodeManifest& manifest) {
  const DirName dir = node_.dir(manifest.identity);
  setup_.memory->forget(*node_.local, dir);
  const auto bytes = write_manifest(*node_.local, manifest, node_.sealer);
  if (!bytes) return fail(bytes.error());
  setup_.memory->remember(*node_.local, dir, manifest, *bytes);
  return {};
}

// The manifest goes first: what no manifest names does not count, so a crash in between loses nothing that counts.
Status Engine::retire(const DirName& dir) {
  if (is_unreadable(dir)) return {};
  setup_.memory->forget(*node_.local, dir);
  if (auto status = node_.local->remove(names::manifest(dir)); !status) return status;
  auto entries = node_.local->list(dir);
  if (!entries) return fail(entries.error());
  for (const Entry& entry : *entries) {
    const FileName name{dir.path + "/" + entry.name};
    Status status;
    if (const auto rank = names::parse_shard(entry.name)) {
      status = node_.local->retire(name, names::owner_rank(*rank));
    } else if (names::parse_copy(entry.name) || names::parse_parity(entry.name)) {
      status = node_.local->retire(name, names::owner_head());
    }
    if (!status) return status;
  }
  return node_.local->remove_directory(dir);
}

}  // namespace cairn
