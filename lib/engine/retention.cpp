#include "engine/retention.hpp"

#include <algorithm>
#include <functional>
#include <set>

namespace cairn {
namespace {

std::set<Identity> newest_at(const std::vector<KnownSnapshot>& known, LevelId level, std::uint32_t count) {
  std::set<Identity, std::greater<>> complete;
  for (const KnownSnapshot& snapshot : known) {
    if (snapshot.complete.has(level)) complete.insert(snapshot.identity);
  }
  std::set<Identity> kept;
  for (const Identity& identity : complete) {
    if (kept.size() == count) break;
    kept.insert(identity);
  }
  return kept;
}

}  // namespace

std::vector<Identity> retirable(const std::vector<KnownSnapshot>& known, const KeepCounts& keep) {
  std::set<Identity> kept;
  Identity newest{};
  for (const LevelId level : {LevelId::local, LevelId::partner, LevelId::erasure}) {
    kept.merge(newest_at(known, level, keep.at[static_cast<int>(level) - 1]));
  }
  for (const KnownSnapshot& snapshot : known) {
    if (!snapshot.complete.empty()) newest = std::max(newest, snapshot.identity);
  }
  std::vector<Identity> gone;
  for (const KnownSnapshot& snapshot : known) {
    if (snapshot.in_flight || kept.contains(snapshot.identity) || snapshot.identity >= newest) continue;
    gone.push_back(snapshot.identity);
  }
  return gone;
}

std::vector<Identity> retirable_globally(const std::vector<KnownSnapshot>& known, const KeepCounts& keep) {
  const auto kept = newest_at(known, LevelId::global, keep.at[3]);
  std::vector<Identity> gone;
  for (const KnownSnapshot& snapshot : known) {
    if (snapshot.complete.has(LevelId::global) && !kept.contains(snapshot.identity)) gone.push_back(snapshot.identity);
  }
  return gone;
}

std::uint32_t slots_needed(const KeepCounts& keep, LevelSet usable) {
  std::uint32_t slots = keep.at[0] + 2;
  if (usable.has(LevelId::partner)) slots += keep.at[1];
  if (usable.has(LevelId::erasure)) slots += keep.at[2];
  return slots;
}

}  // namespace cairn
