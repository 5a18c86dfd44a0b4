#include "engine/promoter.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

// For the trace.
constexpr std::array<const char*, kMostLevels> kPromote = {"promote L1", "promote L2", "promote L3", "promote L4",
                                                           "promote L5", "promote L6", "promote L7"};

}  // namespace

void Promoter::add(Known& known) {
  known.in_flight = !known.due.empty();
  if (known.in_flight) queue_.push_back(known.manifest.identity);
}

Result<bool> Promoter::raise_next() {
  if (queue_.empty()) return false;
  change_layout_for(queue_.front().version);
  Known& known = catalog_.known.at(queue_.front());
  if (!known.due.empty()) {
    if (auto status = raise(known, *known.due.begin()); !status) return fail(status.error());
    return true;
  }
  queue_.pop_front();
  known.in_flight = false;
  catalog_.drop_old_layouts(known);
  catalog_.retire_damaged(known);
  retire_old();
  return true;
}

// Between promotions, which are the same on all heads: so the layout changes for the same promotion everywhere. Several
// votes may have been under way before the first of them changed it.
void Promoter::change_layout_for(Version version) {
  for (; !changes_.empty() && changes_.front().first <= version; changes_.pop_front()) {
    auto& [from, layout] = changes_.front();
    if (layout.equals_but_for_arrangement(head_.node.layout)) continue;
    head_.node.layout = std::move(layout);
    if (head_.node.leads())
      head_.node.log.info("from version {} on, copies and parity are kept elsewhere: sick nodes are avoided",
                          from.value);
  }
}

// Shards that were sealed under an earlier layout of this life are where they are under today's.
void Promoter::note_own_shards(NodeManifest& manifest) const {
  const Layout& layout = head_.node.layout;
  if (manifest.find(layout.id()) != nullptr) return;
  for (const Holding& holding : manifest.holdings) {
    if (!holding.own || holding.node != head_.node.me || holding.layout.node_of_rank != layout.node_of_rank) continue;
    Holding here{layout, head_.node.me, holding.own, {}, {}};
    manifest.holdings.insert(manifest.holdings.begin(), std::move(here));
    return;
  }
}

Status Promoter::raise(Known& known, LevelId level) {
  const NodeContext& node = head_.node;
  const Version version = known.manifest.identity.version;
  const auto span =
      node.trace.span(kPromote[static_cast<std::size_t>(level) - 1], version.value, node.own_bytes(known.manifest));
  const auto start = head_.clock();
  known.due.remove(level);
  const std::uint64_t turn = known.turn && strategy(level).traits().takes_turns ? *known.turn : turns_[level]++;
  NodeManifest before = known.manifest;
  const Status status = protect(known, level, turn);
  if (!status && status.error().code == Code::communication) return status;
  if (!status) {
    give_up(known, level, std::move(before), status.error());
    return {};
  }
  if (head_.node.leads()) {
    node.log.debug("{} is safe at L{}{}", node.name_of(known.manifest.identity), static_cast<int>(level),
                   known.rebuilt.has(level) ? " again" : "");
  }
  // Most of what is rebuilt may be there already, so that time does not predict the next promotion.
  const bool first_time = !known.rebuilt.has(level);
  head_.tell_all(Reached{version, level, first_time ? head_.clock() - start : std::chrono::microseconds{0}});
  head_.log_storage_recovery(level, version);
  retire_old();
  return {};
}

void Promoter::give_up(Known& known, LevelId level, NodeManifest before, const Error& error) {
  const Version version = known.manifest.identity.version;
  if (known.rebuilt.has(level)) {
    // What was there already, on other nodes or by an earlier layout, is all there is now.
    known.manifest = std::move(before);
    known.rebuild_failed = true;
  } else {
    (void)strategy(level).discard(head_.node, known.manifest, head_.node.layout.id());
    (void)catalog_.write(known.manifest);
  }
  const Error told = error.in(fmt::format("version {} did not reach L{}", version.value, static_cast<int>(level)));
  head_.log_storage_error(head_.node.leads(), level, told);
  LevelSet failed;
  failed.add(level);
  head_.tell_all(Failed{version, failed, told});
}

// Makes the snapshot complete at a level, or finds out whether it is less than it was thought to be. Fails alike on all
// heads.
Status Promoter::protect(Known& known, LevelId level, std::uint64_t turn) {
  note_own_shards(known.manifest);
  Status status;
  const bool in_manifest = strategy(level).in_node_stores();
  if (!in_manifest) {
    // What the application's own file system refuses is an error of this promotion: nobody would look for it elsewhere.
    const Status mine = life_.renew_records().and_then([&] { return keep_pin(known); }).and_then([&] {
      return write_to_destinations(head_.node, known.manifest.identity, known.destinations);
    });
    status = agree(head_.heads, mine, "node");
  }
  if (status) status = strategy(level).protect(head_.heads, head_.node, known.manifest, turn);
  if (status && in_manifest) status = agree(head_.heads, catalog_.write(known.manifest), "node");
  if (status) {
    known.complete.add(level);
    known.struck.remove(level);
    known.today.add(level);
    if (!in_manifest) catalog_.chain.remember(head_.node.levels, level, known.manifest.identity);
    return {};
  }
  if (status.error().code == Code::communication) return status;
  const Status looked = look_for_damage(known, status.error());
  return looked ? status : looked;
}

// A pin is written before its snapshot. Does nothing but on head 0.
Status Promoter::keep_pin(const Known& known) const {
  const Identity& id = known.manifest.identity;
  if (!head_.node.leads() || !catalog_.chain.pins.contains(id)) return {};
  return pin(*head_.node.global, id, head_.node.sealer);
}

// Checks whether damaged shards caused the error. If so, nothing that was made from them counts from now on. Fails only
// when a peer is lost.
Status Promoter::look_for_damage(Known& known, const Error& error) {
  std::uint64_t bad = 0;
  const Holding* holding = known.manifest.find(head_.node.layout.id());
  if (is_of_source(error.code) && holding != nullptr && holding->own)
    bad = catalog_.find_damaged(known.manifest.identity, *holding->own).size();
  if (auto status = head_.heads.allreduce({&bad, 1}, Reduce::sum); !status) return fail(status.error());
  if (bad > 0) known.strike(head_.node.levels.in_node_stores());
  return {};
}

// Whether a snapshot that was raised to a level is still there: files of the global store may have been removed since.
// Fails only when a peer is lost.
Result<bool> Promoter::is_still_at(LevelId level, Known& known, Level::Reads reads) {
  if (!known.complete.has(level)) return false;
  const Status confirmed = strategy(level).confirm(head_.heads, head_.node, known.manifest, reads);
  if (confirmed) return true;
  if (confirmed.error().code == Code::communication) return fail(confirmed.error());
  known.complete.remove(level);
  if (head_.node.leads()) {
    head_.node.log.warning("the last version, {}, is no longer complete at L{} and is written there again: {}",
                           known.manifest.identity.version.value, static_cast<int>(level), confirmed.error().text());
  }
  return false;
}

// Snapshots of an earlier chain are not the job's state, whatever is still known of them.
Status Promoter::raise_state(Level::Reads reads) {
  const LevelId level = head_.node.levels.of_last_state();
  if (!head_.usable.has(level) || !catalog_.state) return {};
  const auto found = catalog_.known.find(*catalog_.state);
  if (found == catalog_.known.end()) return {};
  Known& known = found->second;
  if (known.complete.empty() && known.struck.empty()) return {};
  const auto there = is_still_at(level, known, reads);
  if (!there) return fail(there.error());
  if (*there) return {};
  const Version version = known.manifest.identity.version;
  if (auto status = protect(known, level, 0); !status)
    return fail(status.error().in(
        fmt::format("the last version, {}, did not reach L{}", version.value, static_cast<int>(level))));
  head_.tell_all(Reached{version, level});
  retire_old();
  return {};
}

void Promoter::retire_old() { report_free_slots(catalog_.retire_old()); }

void Promoter::free_slots() { report_free_slots(catalog_.take_free_slots()); }

void Promoter::report_free_slots(const std::vector<Version>& versions) {
  for (const Version version : versions) head_.tell_all(Retired{version});
}

}  // namespace cairn
