#include "recover/retention.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

namespace cairn {
namespace {

std::set<Identity> newest_at(const std::vector<KnownSnapshot>& known, LevelId level, std::uint32_t count) {
  const auto is_newer = [](const KnownSnapshot* one, const KnownSnapshot* other) {
    return one->identity > other->identity;
  };
  std::set<const KnownSnapshot*, decltype(is_newer)> there(is_newer);
  for (const KnownSnapshot& snapshot : known) {
    if (snapshot.complete.has(level) || snapshot.struck.has(level)) there.insert(&snapshot);
  }
  std::set<Identity> kept;
  std::uint32_t whole = 0;
  bool has_struck = false;
  for (const KnownSnapshot* snapshot : there) {
    if (whole == count) break;
    if (snapshot->abandoned) {
      if (whole == 0) kept.insert(snapshot->identity);
      continue;
    }
    const bool complete = snapshot->complete.has(level);
    if (complete || !has_struck) kept.insert(snapshot->identity);
    if (complete)
      ++whole;
    else
      has_struck = true;
  }
  return kept;
}

}  // namespace

std::vector<Identity> retirable(const std::vector<KnownSnapshot>& known, const KeepCounts& keep, LevelSet levels) {
  std::set<Identity> kept;
  Identity newest{};
  for (const LevelId level : levels) kept.merge(newest_at(known, level, keep.of(level)));
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

std::vector<Identity> retirable_at(LevelId level, const std::vector<KnownSnapshot>& known, const KeepCounts& keep) {
  std::vector<KnownSnapshot> others = known;
  std::erase_if(others, &KnownSnapshot::pinned);
  const auto kept = newest_at(others, level, keep.of(level));
  std::vector<Identity> gone;
  for (const KnownSnapshot& snapshot : others) {
    const bool there = snapshot.complete.has(level) || snapshot.struck.has(level);
    if (there && !kept.contains(snapshot.identity)) gone.push_back(snapshot.identity);
  }
  return gone;
}

std::uint32_t slots_needed(const KeepCounts& keep, LevelSet levels) {
  std::uint32_t slots = 2;
  for (const LevelId level : levels) slots += keep.of(level);
  return slots;
}

}  // namespace cairn
