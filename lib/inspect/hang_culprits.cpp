#include "inspect/hang_culprits.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "inspect/hang_waits.hpp"
#include "inspect/hang_words.hpp"

namespace cairn {
namespace {

// More circles than these are no news.
constexpr std::size_t kMostCycles = 8;

bool is_halted(Doing doing) { return doing == Doing::stopped || doing == Doing::dead || doing == Doing::left; }

// The ranks of the job that wait, and those that do not, for one reason or another.
class Blame {
 public:
  Blame(const std::map<std::uint32_t, RankReading>& readings, HangReport& report)
      : readings_(readings), report_(report), count_(report.ranks.size()), free_(count_), halted_(count_) {
    CallsByRank calls(count_);
    for (std::uint32_t rank = 0; rank < count_; ++rank) halted_[rank] = is_halted(report.ranks[rank].doing);
    for (const auto& [rank, reading] : readings) calls[rank] = &reading.calls;
    waits_ = WaitFinder(calls, halted_).find();
    for (std::uint32_t rank = 0; rank < count_; ++rank) {
      const RankReport& one = report.ranks[rank];
      goes_on_ = goes_on_ || one.progressed;
      if (halted_[rank]) waits_.graph.waits[rank].clear();
      free_[rank] = !halted_[rank] && (one.progressed || waits_.graph.waits[rank].empty());
    }
    stuck_ = able(waits_.graph, free_, Never::stays, Blocks::certain);
    stuck_.flip();
    maybe_stuck_ = able(waits_.graph, free_, Never::stays, Blocks::all);
    maybe_stuck_.flip();
    put_needs();
  }

  Judged judge() {
    report_.needs = waits_.graph.needs;
    blame_mismatches();
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
    for (std::uint32_t rank = 0; rank < count_; ++rank) {
      const auto& threads = waits_.graph.waits[rank];
      RankReport& one = report_.ranks[rank];
      // One of its threads is enough, and any of what that one waits for may be.
      one.any = threads.size() > 1 || (!threads.empty() && threads.front().any);
      for (const Wait& wait : threads) one.needs.insert(one.needs.end(), wait.needs.begin(), wait.needs.end());
      one.gap = waits_.gaps[rank];
    }
  }

  // Ranks with a wait for one of `targets`, out of `within`; of which nothing is certain if all needs count, also those
  // that may be met already.
  Culprit culprit(const std::vector<std::uint32_t>& targets, const RankSet& within, Blocks blocks) const {
    Culprit found;
    found.certain = blocks == Blocks::certain;
    for (const std::uint32_t rank : targets) found.ranks.push_back(Rank{rank});
    const RankSet waiting = waiting_for(waits_.graph, targets, within, blocks);
    for (std::uint32_t rank = 0; rank < count_; ++rank) {
      if (!waiting[rank]) continue;
      found.waiting.push_back(Rank{rank});
      found.seconds = std::max(found.seconds, report_.ranks[rank].seconds);
    }
    return found;
  }

  void blame_mismatches() {
    for (const Mismatch& mismatch : waits_.mismatches) {
      Culprit found = culprit(mismatch.ranks, stuck_, Blocks::certain);
      std::erase_if(found.waiting, [&](Rank rank) { return std::ranges::count(mismatch.ranks, rank.value) > 0; });
      found.what = fmt::format("{} {}", rank_list_text(mismatch.ranks), waits_.graph.needs[mismatch.need].why);
      blamed_.insert(blamed_.end(), mismatch.ranks.begin(), mismatch.ranks.end());
      if (!found.waiting.empty()) judged_.culprits.push_back(std::move(found));
    }
  }

  // Ranks that wait for nobody, by what they do: those that do the same are one culprit, which `culprit_of` makes.
  template <class CulpritOf>
  void blame(const std::vector<std::uint32_t>& ranks, CulpritOf culprit_of) {
    std::map<std::tuple<Doing, std::string, bool>, std::vector<std::uint32_t>> alike;
    for (const std::uint32_t rank : ranks) {
      if (std::ranges::find(blamed_, rank) != blamed_.end()) continue;
      if (awaited_.empty()) find_awaited();
      const RankReport& one = report_.ranks[rank];
      if (awaited_[rank]) alike[{one.doing, one.brief, one.gap.has_value()}].push_back(rank);
    }
    for (const auto& [doing, group] : alike) {
      Culprit found = culprit_of(group);
      if (found.waiting.empty()) continue;
      found.what = sentence(group) + why(group, found.certain);
      judged_.culprits.push_back(std::move(found));
    }
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

  std::string sentence(const std::vector<std::uint32_t>& group) const {
    const auto& first = report_.ranks[group.front()];
    const auto reading = readings_.find(group.front());
    double seconds = 0;
    for (const std::uint32_t rank : group) seconds = std::max(seconds, report_.ranks[rank].seconds);
    std::string text =
        blame_text(group, first, reading == readings_.end() ? ProcessFacts{} : reading->second.process, seconds);
    if (waits_.in_transfer[group.front()] && first.doing == Doing::in_call)
      text += ", and nobody that it waits for is missing";
    if (first.gap) text += ", and it is not known for what it waits";
    return text;
  }

  // The reason of the first wait for one of them; of all that wait for them it is most often the same. One that is
  // certain, if there is any.
  std::string why(const std::vector<std::uint32_t>& group, bool certain) const {
    std::string text = why_of(group, false);
    return text.empty() && !certain ? why_of(group, true) : text;
  }

  std::string why_of(const std::vector<std::uint32_t>& group, bool gap) const {
    for (const auto& threads : waits_.graph.waits) {
      for (const Wait& wait : threads) {
        for (const std::size_t index : wait.needs) {
          const Need& need = waits_.graph.needs[index];
          const bool only = !need.any && need.ranks.size() == group.size();
          if (only && need.gap.has_value() == gap && std::ranges::count(need.ranks, group.front()) > 0)
            return ", and " + need.why;
        }
      }
    }
    return "";
  }

  void blame_halted() {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < count_; ++rank)
      if (halted_[rank]) ranks.push_back(rank);
    blame(ranks, [&](const auto& group) {
      Culprit found = culprit(group, stuck_, Blocks::certain);
      return found.waiting.empty() ? culprit(group, maybe_stuck_, Blocks::all) : found;
    });
    const auto is_stopped = [](const RankReport& rank) { return rank.doing == Doing::stopped; };
    if (std::ranges::all_of(report_.ranks, is_stopped)) {
      constexpr double kForEver = 1e9;  // nothing says since when
      judged_.culprits.push_back({{}, "all ranks are stopped, by a signal or a debugger", {}, {}, kForEver, true});
    }
  }

  // Ranks that could not go on even if all those who can and all who halted did.
  void blame_cycles() {
    RankSet free = free_;
    for (std::uint32_t rank = 0; rank < count_; ++rank) free[rank] = free[rank] || halted_[rank];
    RankSet left = able(waits_.graph, free, Never::counts_as_met, Blocks::certain);
    left.flip();
    put_cycles(std::move(left), Blocks::certain);
  }

  // Ranks that wait for nobody who may go on, has halted, or is told of already: they may wait for each other, or have
  // what they wait for.
  void blame_unclear_cycles() {
    RankSet told(count_);
    for (std::uint32_t rank = 0; rank < count_; ++rank) told[rank] = free_[rank] || halted_[rank];
    for (const Culprit& culprit : judged_.culprits) {
      for (const Rank rank : culprit.ranks) told[rank.value] = true;
      for (const Rank rank : culprit.waiting) told[rank.value] = true;
    }
    std::vector<std::uint32_t> targets;
    for (std::uint32_t rank = 0; rank < count_; ++rank)
      if (told[rank]) targets.push_back(rank);
    const RankSet waiting = waiting_for(waits_.graph, targets, RankSet(count_, true), Blocks::all);
    RankSet left(count_);
    for (std::uint32_t rank = 0; rank < count_; ++rank) left[rank] = !told[rank] && !waiting[rank];
    put_cycles(std::move(left), Blocks::all);
  }

  void put_cycles(RankSet left, Blocks blocks) {
    for (std::size_t found = 0;; ++found) {
      const auto steps = shortest_cycle(waits_.graph, left, blocks);
      if (steps.empty()) return;
      if (found == kMostCycles) {
        judged_.notes.emplace_back("there are more circles of ranks that wait for each other");
        return;
      }
      std::vector<std::uint32_t> ranks;
      for (const Step& step : steps) ranks.push_back(step.rank);
      std::ranges::sort(ranks);
      Culprit cycle = culprit(ranks, left, blocks);
      cycle.what = cycle_text(steps, cycle.certain);
      cycle.reasons = cycle_reasons(steps, report_);
      for (const Rank rank : cycle.waiting) left[rank.value] = false;
      for (const std::uint32_t rank : ranks) left[rank] = false;
      judged_.culprits.push_back(std::move(cycle));
    }
  }

  // Those who compute, are in a call that others do not take part in, or were not seen: they excuse who waits for them,
  // for a while.
  void blame_those_who_may_go_on() {
    std::vector<std::uint32_t> ranks;
    for (std::uint32_t rank = 0; rank < count_; ++rank)
      if (free_[rank]) ranks.push_back(rank);
    const RankSet all(count_, true);
    blame(ranks, [&](const auto& group) { return culprit(group, all, Blocks::all); });
  }

  // They are in a call, others need not wait for them, and it is not known for whom they wait.
  void blame_those_of_whom_too_little_is_known() {
    RankSet told(count_);
    for (const Culprit& culprit : judged_.culprits)
      for (const Rank rank : culprit.ranks) told[rank.value] = true;
    std::map<std::string, std::vector<std::uint32_t>> alike;
    for (const RankReport& rank : report_.ranks)
      if (rank.gap && !rank.progressed && !told[rank.rank.value] && !halted_[rank.rank.value])
        alike[rank.brief].push_back(rank.rank.value);
    for (const auto& [brief, group] : alike) {
      Culprit found;
      for (const std::uint32_t rank : group) {
        found.ranks.push_back(Rank{rank});
        found.seconds = std::max(found.seconds, report_.ranks[rank].seconds);
      }
      found.what = sentence(group);
      judged_.culprits.push_back(std::move(found));
    }
  }

  void note_the_rest() {
    std::vector<std::uint32_t> unseen;
    std::map<Doing, std::vector<std::uint32_t>> halted;
    for (const RankReport& rank : report_.ranks) {
      if (rank.doing == Doing::unseen) unseen.push_back(rank.rank.value);
      if (is_halted(rank.doing)) halted[rank.doing].push_back(rank.rank.value);
    }
    for (const auto& [doing, ranks] : halted)
      judged_.notes.push_back(fmt::format("{} {} {}", rank_list_text(ranks), ranks.size() == 1 ? "is" : "are",
                                          doing == Doing::dead      ? "dead"
                                          : doing == Doing::stopped ? "stopped"
                                                                    : "out of MPI"));
    if (unseen.empty()) return;
    judged_.notes.push_back(
        fmt::format("{} {} no file of calls in the stores that were read; --local DIR adds the store of another node",
                    rank_list_text(unseen), unseen.size() == 1 ? "has" : "have"));
  }

  const std::map<std::uint32_t, RankReading>& readings_;
  HangReport& report_;
  std::size_t count_;
  RankSet free_;         // wait for nobody, or have gone on
  RankSet halted_;       // will not go on by themselves
  RankSet stuck_;        // wait for what will not come, unless somebody who has halted goes on
  RankSet maybe_stuck_;  // the same if all needs that may be met already are not
  RankSet awaited_;
  std::vector<std::uint32_t> blamed_;
  bool goes_on_ = false;
  Waits waits_;
  Judged judged_;
};

}  // namespace

Judged find_culprits(const std::map<std::uint32_t, RankReading>& readings, HangReport& report) {
  return Blame(readings, report).judge();
}

}  // namespace cairn
