#include "hang/blame.hpp"

#include <algorithm>
#include <compare>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hang/waits.hpp"

namespace cairn::hang {
namespace {

// More circles than these are no news.
constexpr std::size_t kMostCycles = 8;

// What ranks have in common that are one culprit: what they do, and in which call.
struct Alike {
  bool head = false;
  Doing doing{};
  std::string call;  // that they are in, or test or probe with
  bool gap = false;
  friend auto operator<=>(const Alike&, const Alike&) = default;
};

Alike alike_of(const RankReport& rank) {
  Alike alike{.head = false, .doing = rank.doing, .call = {}, .gap = rank.gap.has_value()};
  if (rank.doing == Doing::in_call) alike.call = rank.longest()->call.name;
  if (rank.doing == Doing::polls) alike.call = rank.newest->name;
  return alike;
}

Cause cause_of(const HeadReport& head) {
  if (head.doing == Doing::dead) return Cause::dead;
  if (head.doing == Doing::stopped) return Cause::stopped;
  return head.doing == Doing::idles ? Cause::idles : Cause::computes;
}

Cause cause_of(const RankReport& rank) {
  switch (rank.doing) {
    case Doing::computes: return Cause::computes;
    case Doing::idles: return Cause::idles;
    case Doing::in_call: return rank.gap || !is_understood(rank.longest()->call) ? Cause::unrecorded : Cause::in_call;
    case Doing::polls: return Cause::polls;
    case Doing::stopped: return Cause::stopped;
    case Doing::dead: return Cause::dead;
    case Doing::left: return Cause::left;
    case Doing::unseen: break;
  }
  return Cause::unseen;
}

bool is_same_collective(const Call& one, const Call& other) {
  return one.kind == CallKind::collective && other.kind == CallKind::collective && one.comm == other.comm &&
         one.number == other.number;
}

bool is_halted(Doing doing) { return doing == Doing::stopped || doing == Doing::dead || doing == Doing::left; }

// The ranks of the job that wait, and those that do not, for one reason or another.
class Blame {
 public:
  Blame(const std::map<std::uint32_t, RankReading>& readings, HangReport& report)
      : report_(report),
        ranks_(static_cast<std::uint32_t>(report.ranks.size())),
        count_(ranks_ + report.heads.size()),
        free_(count_),
        halted_(count_),
        left_out_(count_),
        calls_(ranks_) {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) halted_[rank] = is_halted(report.ranks[rank].doing);
    for (std::uint32_t head = ranks_; head < count_; ++head) {
      halted_[head] = is_halted(report.heads[head - ranks_].doing);
      free_[head] = !halted_[head];
    }
    for (const auto& [rank, reading] : readings) calls_[rank] = &reading.calls;
    waits_ = WaitFinder(calls_, halted_).find();
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const RankReport& one = report.ranks[rank];
      goes_on_ = goes_on_ || one.progressed;
      if (halted_[rank]) waits_.graph.waits[rank].clear();
      free_[rank] = !halted_[rank] && (one.progressed || waits_.graph.waits[rank].empty());
    }
    stuck_ = able(waits_.graph, free_, Never::stays, Certainty::certain);
    stuck_.flip();
    maybe_stuck_ = able(waits_.graph, free_, Never::stays, Certainty::unknown);
    maybe_stuck_.flip();
    put_needs();
  }

  Judged judge() {
    report_.needs = waits_.graph.needs;
    blame_mismatches();
    blame_those_who_left_a_call_out();
    blame_halted();
    blame_cycles();
    blame_unclear_cycles();
    if (!goes_on_) blame_those_who_may_go_on();
    if (!goes_on_) blame_those_of_whom_too_little_is_known();
    note_the_rest();
    return std::move(judged_);
  }

 private:
  void put_needs() {
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      const auto& threads = waits_.graph.waits[rank];
      RankReport& one = report_.ranks[rank];
      // One of its threads is enough, and any of what that one waits for may be.
      one.any = threads.size() > 1 || (!threads.empty() && threads.front().any);
      for (const Wait& wait : threads) one.needs.insert(one.needs.end(), wait.needs.begin(), wait.needs.end());
      one.gap = waits_.gaps[rank];
    }
  }

  // A rank, or the head of a node.
  void put_target(std::uint32_t target, Finding& found) const {
    if (target >= ranks_) {
      found.heads.push_back(report_.heads[target - ranks_].node);
      return;
    }
    found.ranks.push_back(Rank{target});
    found.since_seconds = std::max(found.since_seconds, report_.ranks[target].seconds);
  }

  // Ranks with a wait for one of `targets`, out of `within`, by needs that are at least as certain.
  Finding finding(const std::vector<std::uint32_t>& targets, const RankSet& within, Certainty least) const {
    Finding found{.certainty = least, .ranks = {}, .need = {}};
    for (const std::uint32_t target : targets) put_target(target, found);
    const RankSet waiting = waiting_for(waits_.graph, targets, within, least);
    for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
      if (!waiting[rank]) continue;
      found.waiting.push_back(Rank{rank});
      found.waited_seconds = std::max(found.waited_seconds, report_.ranks[rank].seconds);
    }
    return found;
  }

  // Ranks that make other calls than most, and may wait themselves: those of a need.
  Finding finding_of_deviants(std::size_t index) const {
    const std::vector<std::uint32_t>& ranks = waits_.graph.needs[index].ranks;
    Finding found = finding(ranks, stuck_, Certainty::certain);
    std::erase_if(found.waiting, [&](Rank rank) { return std::ranges::count(ranks, rank.value) > 0; });
    found.need = index;
    return found;
  }

  void blame_mismatches() {
    for (const std::size_t index : waits_.mismatches) {
      const Need& need = waits_.graph.needs[index];
      Finding found = finding_of_deviants(index);
      found.cause = Cause::collective_mismatch;
      found.call = need.theirs;
      blamed_.insert(blamed_.end(), need.ranks.begin(), need.ranks.end());
      if (!found.waiting.empty()) judged_.findings.push_back(std::move(found));
    }
  }

  // Ranks that wait for them wait in a call of Cairn that all ranks make in the same order.
  void blame_those_who_left_a_call_out() {
    for (std::size_t index = 0; index < waits_.graph.needs.size(); ++index) {
      const Need& need = waits_.graph.needs[index];
      if (need.reason != Reason::collective_not_begun || !is_cairn(need.call)) continue;
      if (!std::ranges::all_of(need.ranks, [&](std::uint32_t rank) { return has_left_out(rank, need.call); })) continue;
      Finding found = finding_of_deviants(index);
      if (found.waiting.empty()) continue;
      found.cause = Cause::left_out;
      found.call = need.call;
      for (const std::uint32_t rank : need.ranks) left_out_[rank] = true;
      judged_.findings.push_back(std::move(found));
    }
  }

  // Not told already; and others are in the collective that it is in, and have begun this call.
  bool has_left_out(std::uint32_t rank, const Call& call) const {
    if (halted_[rank] || left_out_[rank] || !stuck_[rank]) return false;
    return std::ranges::any_of(calls_[rank]->lasting, [&](const LastingCall& lasting) {
      const auto has_begun_both = [&](const RankCalls* other) {
        return other != nullptr && begun_for(other->cairn_begun, call.cairn) >= call.number &&
               std::ranges::any_of(other->lasting,
                                   [&](const LastingCall& its) { return is_same_collective(lasting.call, its.call); });
      };
      return std::ranges::any_of(calls_, has_begun_both);
    });
  }

  // Ranks that wait for nobody: those that do the same are one culprit, of which `find` makes a finding.
  template <class Find>
  void blame(const std::vector<std::uint32_t>& ranks, Find find) {
    std::map<Alike, std::vector<std::uint32_t>> groups;
    for (const std::uint32_t rank : ranks) {
      if (std::ranges::find(blamed_, rank) != blamed_.end()) continue;
      if (awaited_.empty()) find_awaited();
      if (awaited_[rank]) groups[alike(rank)].push_back(rank);
    }
    for (const auto& [what, group] : groups) {
      Finding found = find(group);
      if (found.waiting.empty()) continue;
      describe(found, group);
      judged_.findings.push_back(std::move(found));
    }
  }

  Alike alike(std::uint32_t target) const {
    if (target < ranks_) return alike_of(report_.ranks[target]);
    return {.head = true, .doing = report_.heads[target - ranks_].doing, .call = {}};
  }

  void find_awaited() {
    awaited_.resize(count_);
    RankSet asked(waits_.graph.needs.size());
    for (const auto& threads : waits_.graph.waits)
      for (const Wait& wait : threads)
        for (const std::size_t need : wait.needs) asked[need] = true;
    for (std::size_t need = 0; need < asked.size(); ++need)
      if (asked[need])
        for (const std::uint32_t rank : waits_.graph.needs[need].ranks) awaited_[rank] = true;
  }

  void describe(Finding& found, const std::vector<std::uint32_t>& group) const {
    if (group.front() >= ranks_) {
      found.cause = cause_of(report_.heads[group.front() - ranks_]);
    } else {
      const RankReport& first = report_.ranks[group.front()];
      found.cause = cause_of(first);
      const LastingCall* const lasting = first.longest();
      found.call = lasting == nullptr ? first.newest : std::optional(lasting->call);
    }
    found.need = common_need(group, Certainty::certain);
    if (!found.need && found.certainty != Certainty::certain) found.need = common_need(group, Certainty::unknown);
  }

  // The first need, at least as certain, that is for all of them; most often all that wait for them have the same.
  std::optional<std::size_t> common_need(const std::vector<std::uint32_t>& group, Certainty least) const {
    for (const auto& threads : waits_.graph.waits) {
      for (const Wait& wait : threads) {
        for (const std::size_t index : wait.needs) {
          const Need& need = waits_.graph.needs[index];
          if (need.any || need.ranks.size() != group.size() || need.certainty > least) continue;
          if (std::ranges::count(need.ranks, group.front()) > 0) return index;
        }
      }
    }
    return {};
  }

  void blame_halted() {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < count_; ++rank)
      if (halted_[rank]) ranks.push_back(rank);
    blame(ranks, [&](const auto& group) {
      Finding found = finding(group, stuck_, Certainty::certain);
      return found.waiting.empty() ? finding(group, maybe_stuck_, Certainty::unknown) : found;
    });
    const auto is_stopped = [](const RankReport& rank) { return rank.doing == Doing::stopped; };
    if (std::ranges::all_of(report_.ranks, is_stopped))
      judged_.findings.push_back({.cause = Cause::all_stopped, .ranks = {}, .need = {}});
  }

  // Ranks that could not continue even if all free and all halted ranks did.
  void blame_cycles() {
    RankSet free = free_;
    for (std::uint32_t rank = 0; rank < count_; ++rank) free[rank] = free[rank] || halted_[rank] || left_out_[rank];
    RankSet left = able(waits_.graph, free, Never::counts_as_met, Certainty::certain);
    left.flip();
    put_cycles(std::move(left), Certainty::certain);
  }

  // Ranks that wait for none that is free, halted or reported already: they may wait for each other, or already have
  // what they wait for.
  void blame_unclear_cycles() {
    RankSet told(count_);
    for (std::uint32_t rank = 0; rank < count_; ++rank) told[rank] = free_[rank] || halted_[rank];
    for (const Finding& finding : judged_.findings) {
      for (const Rank rank : finding.ranks) told[rank.value] = true;
      for (const Rank rank : finding.waiting) told[rank.value] = true;
    }
    std::vector<std::uint32_t> targets;
    for (std::uint32_t rank = 0; rank < count_; ++rank)
      if (told[rank]) targets.push_back(rank);
    const RankSet waiting = waiting_for(waits_.graph, targets, RankSet(count_, true), Certainty::unknown);
    RankSet left(count_);
    for (std::uint32_t rank = 0; rank < count_; ++rank) left[rank] = !told[rank] && !waiting[rank];
    put_cycles(std::move(left), Certainty::unknown);
  }

  void put_cycles(RankSet left, Certainty least) {
    for (std::size_t found = 0;; ++found) {
      auto steps = shortest_cycle(waits_.graph, left, least);
      if (steps.empty()) return;
      if (found == kMostCycles) {
        judged_.notes.push_back({.cause = Note::Cause::more_circles});
        return;
      }
      std::vector<std::uint32_t> ranks;
      for (const Step& step : steps) ranks.push_back(step.rank);
      std::ranges::sort(ranks);
      Finding cycle = finding(ranks, left, least);
      cycle.cause = Cause::circle;
      cycle.circle = std::move(steps);
      for (const Rank rank : cycle.waiting) left[rank.value] = false;
      for (const std::uint32_t rank : ranks) left[rank] = false;
      judged_.findings.push_back(std::move(cycle));
    }
  }

  // Those who compute, are in a call that others do not take part in, or were not seen: they excuse who waits for them,
  // for a while.
  void blame_those_who_may_go_on() {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < count_; ++rank)
      if (free_[rank]) ranks.push_back(rank);
    const RankSet all(count_, true);
    blame(ranks, [&](const auto& group) {
      Finding found = finding(group, all, Certainty::unknown);
      if (!finding(group, all, Certainty::likely).waiting.empty()) found.certainty = Certainty::likely;
      return found;
    });
  }

  // They are in a call, others need not wait for them, and it is not known for whom they wait.
  void blame_those_of_whom_too_little_is_known() {
    RankSet told(count_);
    for (const Finding& finding : judged_.findings)
      for (const Rank rank : finding.ranks) told[rank.value] = true;
    std::map<Alike, std::vector<std::uint32_t>> alike;
    for (const RankReport& rank : report_.ranks)
      if (rank.gap && !rank.progressed && !told[rank.rank.value] && !halted_[rank.rank.value])
        alike[alike_of(rank)].push_back(rank.rank.value);
    for (const auto& [what, group] : alike) {
      Finding found{.certainty = Certainty::unknown, .ranks = {}, .need = {}};
      for (const std::uint32_t rank : group) {
        found.ranks.push_back(Rank{rank});
        found.since_seconds = std::max(found.since_seconds, report_.ranks[rank].seconds);
      }
      found.waited_seconds = found.since_seconds;
      describe(found, group);
      judged_.findings.push_back(std::move(found));
    }
  }

  void note_the_rest() {
    std::map<Note::Cause, std::vector<Rank>> ranks;
    for (const RankReport& rank : report_.ranks) {
      if (rank.doing == Doing::dead) ranks[Note::Cause::dead].push_back(rank.rank);
      if (rank.doing == Doing::stopped) ranks[Note::Cause::stopped].push_back(rank.rank);
      if (rank.doing == Doing::left) ranks[Note::Cause::left].push_back(rank.rank);
      if (rank.doing == Doing::unseen) ranks[Note::Cause::unseen].push_back(rank.rank);
    }
    for (const HeadReport& head : report_.heads) {
      if (head.doing == Doing::dead) judged_.notes.push_back({.cause = Note::Cause::head_dead, .heads = {head.node}});
      if (head.doing == Doing::stopped)
        judged_.notes.push_back({.cause = Note::Cause::head_stopped, .heads = {head.node}});
    }
    for (auto& [cause, all] : ranks) judged_.notes.push_back({.cause = cause, .ranks = std::move(all)});
  }

  HangReport& report_;
  std::uint32_t ranks_;
  std::size_t count_;    // and the heads that are processes of their own
  RankSet free_;         // wait for nobody, or have continued
  RankSet halted_;       // will not continue by themselves
  RankSet stuck_;        // wait for what will not come, unless a halted rank continues
  RankSet maybe_stuck_;  // the same if all needs that may be met already are not
  RankSet awaited_;
  RankSet left_out_;  // a call of Cairn, as it is told
  CallsByRank calls_;
  std::vector<std::uint32_t> blamed_;
  bool goes_on_ = false;
  Waits waits_;
  Judged judged_;
};

}  // namespace

Judged find_culprits(const std::map<std::uint32_t, RankReading>& readings, HangReport& report) {
  return Blame(readings, report).judge();
}

}  // namespace cairn::hang
