#include "hang/wait_graph.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <optional>

#include "base/grouped.hpp"

namespace cairn::hang {
namespace {

constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();

bool counts(const Need& need, Certainty least) { return need.certainty <= least; }

// A rank that waits for any message does not wait for its own, since it is in a call.
bool is_met(const Need& need, std::uint32_t of, const RankSet& able, Never never, Certainty least) {
  if (!counts(need, least)) return true;
  if (need.is_never_met()) return never == Never::counts_as_met;
  if (need.ranks.empty()) return true;
  if (need.any) return std::ranges::any_of(need.ranks, [&](auto rank) { return rank != of && able[rank]; });
  return std::ranges::all_of(need.ranks, [&](auto rank) { return able[rank]; });
}

bool can_go_on(const WaitGraph& graph, std::uint32_t rank, const RankSet& able, Never never, Certainty least) {
  return std::ranges::any_of(graph.waits[rank], [&](const Wait& wait) {
    const auto met = [&](std::size_t need) { return is_met(graph.needs[need], rank, able, never, least); };
    return wait.any ? std::ranges::any_of(wait.needs, met) : std::ranges::all_of(wait.needs, met);
  });
}

// The steps of a search by breadth from one rank, through needs to ranks. Its memory is used again by the next search.
class Search {
 public:
  Search(const WaitGraph& graph, const RankSet& within, Certainty least)
      : graph_(graph),
        within_(within),
        least_(least),
        ranks_(graph.waits.size()),
        needs_(graph.needs.size(), kNobody) {}

  // A shortest way from `start` back to it, shorter than `limit`; empty: none.
  std::vector<Step> cycle_from(std::uint32_t start, std::size_t limit) {
    start_ = start;
    std::deque<std::uint32_t> next{start};
    ranks_[start] = {start, kNobody, 0, 0};
    while (!next.empty()) {
      const std::uint32_t rank = next.front();
      next.pop_front();
      if (ranks_[rank].depth + 1 >= limit) break;
      if (const auto last = visit(rank, next)) return path_to(rank, *last);
    }
    return {};
  }

 private:
  struct Visit {
    std::uint32_t search = kNobody;  // the start of the search that came here last
    std::uint32_t from = kNobody;
    std::size_t need = 0;
    std::size_t depth = 0;
  };

  // The need that leads back to the start, if there is one.
  std::optional<std::size_t> visit(std::uint32_t rank, std::deque<std::uint32_t>& next) {
    for (const Wait& wait : graph_.waits[rank]) {
      for (const std::size_t index : wait.needs) {
        const Need& need = graph_.needs[index];
        if (need.is_never_met() || !counts(need, least_) || needs_[index] == start_) continue;
        // The start is not its own neighbour in a need that it shares with others.
        needs_[index] = rank == start_ ? needs_[index] : start_;
        for (const std::uint32_t other : need.ranks) {
          if (other == start_ && (rank != start_ || !need.any)) return index;
          if (!within_[other] || ranks_[other].search == start_) continue;
          ranks_[other] = {start_, rank, index, ranks_[rank].depth + 1};
          next.push_back(other);
        }
      }
    }
    return {};
  }

  std::vector<Step> path_to(std::uint32_t rank, std::size_t last) const {
    std::vector<Step> steps{{rank, last}};
    for (; rank != start_; rank = ranks_[rank].from) steps.push_back({ranks_[rank].from, ranks_[rank].need});
    std::ranges::reverse(steps);
    return steps;
  }

  const WaitGraph& graph_;
  const RankSet& within_;
  Certainty least_;
  std::uint32_t start_ = kNobody;
  std::vector<Visit> ranks_;
  std::vector<std::uint32_t> needs_;  // the start of the search that went through it last
};

}  // namespace

RankSet able(const WaitGraph& graph, RankSet free, Never never, Certainty least) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t rank = 0; rank < graph.waits.size(); ++rank) {
      if (free[rank] || !can_go_on(graph, rank, free, never, least)) continue;
      free[rank] = true;
      changed = true;
    }
  }
  return free;
}

RankSet waiting_for(const WaitGraph& graph, const std::vector<std::uint32_t>& targets, const RankSet& within,
                    Certainty least) {
  const auto ranks = static_cast<std::uint32_t>(graph.waits.size());
  Grouped<std::size_t> needs_with;    // by rank that is in them
  Grouped<std::uint32_t> ranks_with;  // by need that they have
  for (std::size_t need = 0; need < graph.needs.size(); ++need)
    for (const std::uint32_t rank : graph.needs[need].ranks) needs_with.add(rank, need);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    for (const Wait& wait : graph.waits[rank])
      for (const std::size_t need : wait.needs)
        if (counts(graph.needs[need], least)) ranks_with.add(static_cast<std::uint32_t>(need), rank);
  needs_with.close(ranks);
  ranks_with.close(static_cast<std::uint32_t>(graph.needs.size()));

  RankSet found(ranks);
  // By which rank the search came to a need first: that one does not wait for itself there, but may for another.
  std::vector<std::uint32_t> came_by(graph.needs.size(), kNobody);
  std::vector<std::uint32_t> next = targets;
  const auto take = [&](std::uint32_t waiter) {
    if (found[waiter] || !within[waiter]) return;
    found[waiter] = true;
    next.push_back(waiter);
  };
  while (!next.empty()) {
    const std::uint32_t rank = next.back();
    next.pop_back();
    for (const std::size_t need : needs_with.of(rank)) {
      const std::uint32_t first = came_by[need];
      if (first == kNobody) came_by[need] = rank;
      for (const std::uint32_t waiter : ranks_with.of(static_cast<std::uint32_t>(need))) {
        const bool itself = waiter == rank && graph.needs[need].any;
        if (!itself && (first == kNobody || waiter == first)) take(waiter);
        if (first != kNobody && waiter == first) break;
      }
    }
  }
  return found;
}

std::vector<Step> shortest_cycle(const WaitGraph& graph, const RankSet& within, Certainty least) {
  Search search(graph, within, least);
  std::vector<Step> best;
  for (std::uint32_t rank = 0; rank < graph.waits.size(); ++rank) {
    if (!within[rank] || best.size() == 1) continue;
    const std::size_t limit = best.empty() ? graph.waits.size() + 1 : best.size();
    auto found = search.cycle_from(rank, limit);
    if (!found.empty()) best = std::move(found);
  }
  return best;
}

}  // namespace cairn::hang
