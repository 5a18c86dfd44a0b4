#include "recover/retention.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace cairn {
namespace {

std::set<Identity> newest_at(const std::vector<KnownSnapshot>& known, LevelId level, std::uint32_t count) {
  std::set<std::pair<Identity, bool>, std::greater<>> there;  // whether it is complete there
  for (const KnownSnapshot& snapshot : known) {
    if (snapshot.complete.has(level) || snapshot.struck.has(level))
      there.emplace(snapshot.identity, snapshot.complete.has(level));
  }
  std::set<Identity> kept;
  std::uint32_t whole = 0;
  bool has_struck = false;
  for (const auto& [identity, complete] : there) {
    if (whole == count) break;
    if (complete || !has_struck) kept.insert(identity);
    if (complete)
      ++whole;
    else
      has_struck = true;
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
    const bool there = snapshot.complete.has(LevelId::global) || snapshot.struck.has(LevelId::global);
    if (there && !kept.contains(snapshot.identity)) gone.push_back(snapshot.identity);
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
