#include "recover/level_rounds.hpp"

#include <algorithm>
#include <map>

namespace cairn {
namespace {

// The snapshot with which a level is tried: its newest one.
std::optional<HoldingSummary> newest_at(const Levels& levels, LevelId level, const HoldingList& common,
                                        const Chain& chain, Incarnation not_before) {
  std::optional<HoldingSummary> newest;
  const auto consider = [&](const HoldingSummary& summary) {
    if (summary.snapshot.incarnation < not_before || !chain.branch.has(summary.snapshot)) return;
    if (!newest || newest->snapshot < summary.snapshot) newest = summary;
  };
  const SharedSnapshots shared = chain.shared(levels);
  if (const auto there = shared.find(level); there != shared.end()) {
    for (const Identity& snapshot : there->second) consider({snapshot, {}, {}});
  }
  for (const HoldingSummary& summary : common) {
    if (summary.levels.has(level)) consider(summary);
  }
  return newest;
}

// Whether this node has its part of a level, and its own shards: without them no level in node stores counts.
class PartCheck {
 public:
  PartCheck(const NodeContext& node, const StoreContents& mine) : node_(node), mine_(mine) {}

  [[nodiscard]] bool whole(const Identity& snapshot, LevelId level) {
    const LevelId own = node_.levels.of_own_shards();
    if (level == own) return own_whole(snapshot);
    if (node_.levels.at(level).in_node_stores() && !own_whole(snapshot)) return false;
    return looks_whole(snapshot, level);
  }

 private:
  [[nodiscard]] bool own_whole(const Identity& snapshot) {
    if (const auto known = own_.find(snapshot); known != own_.end()) return known->second;
    return own_[snapshot] = looks_whole(snapshot, node_.levels.of_own_shards());
  }

  [[nodiscard]] bool looks_whole(const Identity& snapshot, LevelId level) const {
    const auto manifest = std::ranges::find(mine_.manifests, snapshot, &NodeManifest::identity);
    return node_.levels.at(level).looks_whole(node_, snapshot,
                                              manifest == mine_.manifests.end() ? nullptr : &*manifest);
  }

  const NodeContext& node_;
  const StoreContents& mine_;
  std::map<Identity, bool> own_;  // checked once for all levels that need it
};

// The answers to two questions, one bit per head each.
struct Votes {
  std::vector<bool> whole;
  std::vector<bool> empty;
};

Result<Votes> vote(Comm& heads, bool whole, bool empty) {
  constexpr std::uint32_t kBits = 64;
  const std::uint32_t size = heads.size();
  std::vector<std::uint64_t> words((2 * size + kBits - 1) / kBits);
  const auto set = [&](std::uint32_t bit) { words[bit / kBits] |= std::uint64_t{1} << (bit % kBits); };
  const auto get = [&](std::uint32_t bit) { return (words[bit / kBits] >> (bit % kBits) & 1U) != 0; };
  if (whole) set(heads.rank().value);
  if (empty) set(size + heads.rank().value);
  if (auto status = heads.allreduce(words, Reduce::bit_or); !status) return fail(status.error());
  Votes votes;
  for (std::uint32_t head = 0; head < size; ++head) {
    votes.whole.push_back(get(head));
    votes.empty.push_back(get(size + head));
  }
  return votes;
}

// Whether a level can give back every shard although the stores in `empty` hold nothing. Judged by today's layout, the
// only one that all heads know.
bool gives_all(const NodeContext& node, const HoldingSummary& snapshot, LevelId level, const std::vector<bool>& empty) {
  return node.levels.at(level).survives(node.layout, empty, snapshot.turn);
}

}  // namespace

Result<std::optional<std::vector<bool>>> try_levels(Comm& heads, const NodeContext& node, const StoreContents& mine,
                                                    const HoldingList& common, const Chain& chain,
                                                    Incarnation not_before) {
  const std::optional<std::vector<bool>> none;
  const bool empty = mine.summaries().empty();
  const LayoutId today = node.layout.id();
  PartCheck check(node, mine);
  for (const LevelId level : node.levels.all()) {
    const bool shared = !node.levels.at(level).in_node_stores();
    const auto candidate = newest_at(node.levels, level, common, chain, not_before);
    if (!candidate) continue;
    if (!shared && candidate->layout != today) return none;
    const auto votes = vote(heads, check.whole(candidate->snapshot, level), empty);
    if (!votes) return fail(votes.error());
    for (std::uint32_t head = 0; head < heads.size(); ++head) {
      if (!votes->whole[head] && (shared || !votes->empty[head])) return none;
    }
    if (gives_all(node, *candidate, level, votes->empty)) return votes->empty;
  }
  return none;
}

}  // namespace cairn
