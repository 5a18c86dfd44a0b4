#include "recover/level_rounds.hpp"

#include <algorithm>
#include <map>

#include "format/hdf5/hdf5_check.hpp"
#include "format/parity_file.hpp"
#include "recover/named_files.hpp"
#include "recover/plan.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

bool has(const HoldingSummary& summary, LevelId level) {
  return (level == LevelId::local && summary.own) || (level == LevelId::partner && summary.partner) ||
         (level == LevelId::erasure && summary.erasure);
}

// What a level is tried with: its newest snapshot.
std::optional<HoldingSummary> newest_at(LevelId level, const HoldingList& common, const Chain& chain,
                                        Incarnation not_before) {
  std::optional<HoldingSummary> newest;
  const auto consider = [&](const HoldingSummary& summary) {
    if (summary.snapshot.incarnation < not_before) return;
    if (!newest || newest->snapshot < summary.snapshot) newest = summary;
  };
  if (level == LevelId::global) {
    for (const Identity& snapshot : chain.global) consider({snapshot, {}, {}});
  }
  for (const HoldingSummary& summary : common) {
    if (has(summary, level)) consider(summary);
  }
  return newest;
}

bool is_shard_of(const Store& store, const FileName& name, const Identity& snapshot, Rank rank) {
  const auto shard = Shard::open(store, name);
  return shard && shard->header().identity == snapshot && shard->header().rank == rank;
}

bool is_parity_of(const Store& store, const NamedFile& file, const Identity& snapshot) {
  const auto reader = store.open(file.name);
  Buffer bytes(kParityHeaderBytes);
  if (!reader || !(*reader)->read(0, bytes)) return false;
  const auto header = decode_parity_header(bytes);
  return header && header->identity == snapshot && header->layout == file.holding->layout.id() &&
         header->column == file.parity.column && header->row == file.parity.row;
}

// Whether this node's part of a level is there, and its own shards, without which no level but L4 is of use.
class PartCheck {
 public:
  PartCheck(const NodeContext& node, const StoreContents& mine) : node_(node), mine_(mine) {}

  [[nodiscard]] bool whole(const Identity& snapshot, LevelId level) {
    if (level == LevelId::global) return begins_as_hdf5(*node_.global, names::node_file(node_.dir(snapshot), node_.me));
    if (level != LevelId::local && !own_whole(snapshot)) return false;
    return level == LevelId::local ? own_whole(snapshot) : files_whole(snapshot, level);
  }

 private:
  [[nodiscard]] bool own_whole(const Identity& snapshot) {
    if (const auto known = own_.find(snapshot); known != own_.end()) return known->second;
    return own_[snapshot] = files_whole(snapshot, LevelId::local);
  }

  [[nodiscard]] bool files_whole(const Identity& snapshot, LevelId level) const {
    const auto manifest = std::ranges::find(mine_.manifests, snapshot, &NodeManifest::identity);
    if (manifest == mine_.manifests.end()) return false;
    const auto files = files_named(*manifest);
    return std::ranges::all_of(files, [&](const NamedFile& file) {
      if (file.level != level) return true;
      return level == LevelId::erasure ? is_parity_of(*node_.local, file, snapshot)
                                       : is_shard_of(*node_.local, file.name, snapshot, file.shard.rank);
    });
  }

  const NodeContext& node_;
  const StoreContents& mine_;
  std::map<Identity, bool> own_;  // looked at once, whatever levels need it
};

// One bit a head, of each of two questions.
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

// Whether a level gives everything back when the stores that hold nothing are gone. By today's layout: another is not
// known to all heads.
bool gives_all(const Layout& today, const HoldingSummary& snapshot, LevelId level, const std::vector<bool>& empty) {
  std::vector<NodeId> lost;
  for (std::uint32_t node = 0; node < empty.size(); ++node) {
    if (empty[node]) lost.push_back(NodeId{node});
  }
  return levels_that_survive(today, lost, snapshot.turn).has(level);
}

}  // namespace

Result<std::optional<std::vector<bool>>> try_levels(Comm& heads, const NodeContext& node, const StoreContents& mine,
                                                    const HoldingList& common, const Chain& chain,
                                                    Incarnation not_before) {
  const std::optional<std::vector<bool>> none;
  const bool empty = mine.summaries().empty();
  const LayoutId today = node.layout.id();
  PartCheck check(node, mine);
  for (const LevelId level : kAllLevels) {
    const auto candidate = newest_at(level, common, chain, not_before);
    if (!candidate) continue;
    if (level != LevelId::global && candidate->layout != today) return none;
    const auto votes = vote(heads, check.whole(candidate->snapshot, level), empty);
    if (!votes) return fail(votes.error());
    for (std::uint32_t head = 0; head < heads.size(); ++head) {
      if (!votes->whole[head] && (level == LevelId::global || !votes->empty[head])) return none;
    }
    if (gives_all(node.layout, *candidate, level, votes->empty)) return votes->empty;
  }
  return none;
}

}  // namespace cairn
