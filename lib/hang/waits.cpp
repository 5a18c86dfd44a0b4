#include "hang/waits.hpp"

#include <algorithm>

namespace cairn::hang {
namespace {

// A root that is not known, as of MPI_ROOT between two groups, fits every other one.
bool differ(const Entered& one, const Entered& other) {
  return one.name != other.name || (one.root >= 0 && other.root >= 0 && one.root != other.root);
}

// As those who wait have entered a collective.
Call call_of(std::uint64_t comm, std::uint64_t number, const Entered& entered) {
  return {.name = entered.name, .kind = CallKind::collective, .comm = comm, .number = number, .peer = entered.root};
}

// Or has ended, and its process is still there.
bool is_ending(const RankCalls& calls) {
  return std::ranges::any_of(calls.lasting, is_finalize, &LastingCall::call) ||
         (calls.newest && is_finalize(*calls.newest));
}

bool is_in_cairn(const RankCalls& calls) { return std::ranges::any_of(calls.lasting, is_cairn, &LastingCall::call); }

}  // namespace

WaitFinder::WaitFinder(const CallsByRank& ranks, const RankSet& halted) : ranks_(ranks), halted_(halted) {
  for (std::uint32_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank] == nullptr) unseen_.push_back(rank);
    if (ranks[rank] == nullptr) continue;
    if (ranks[rank]->comms_left_out > 0) incomplete_.push_back(rank);
    for (const auto& [id, comm] : ranks[rank]->comms) members_[id].push_back(rank);
  }
  found_.graph.waits.resize(halted.size());
  found_.in_transfer.resize(halted.size());
  found_.gaps.resize(halted.size());
}

Waits WaitFinder::find() {
  for (const RankCalls* calls : ranks_)
    if (calls != nullptr) find_of(*calls);
  return std::move(found_);
}

void WaitFinder::find_of(const RankCalls& calls) {
  auto& waits = found_.graph.waits[calls.rank.value];
  bool transfer = false;
  const auto take = [&](Wait wait) {
    if (!wait.needs.empty()) waits.push_back(std::move(wait));
    // A thread that waits for nobody is enough for the rank to wait for nobody.
    else
      transfer = true;
  };
  std::optional<Gap> gap;
  for (const LastingCall& lasting : calls.lasting) {
    Wait wait = wait_of(calls, lasting);
    if (lasting.other_requests > 0 && (wait.any || wait.needs.empty())) {
      const bool full = calls.requests_left_out > 0;
      gap = gap_of(calls, full ? Gap::Cause::pending_requests : Gap::Cause::other_requests);
      wait = {};
    }
    if (lasting.call.kind == CallKind::opaque) gap = gap_of(calls, Gap::Cause::opaque_call);
    take(std::move(wait));
  }
  if (!calls.lasting.empty() && calls.calls_left_out > 0) gap = gap_of(calls, Gap::Cause::threads);
  if (calls.polls) {
    if (Wait wait = wait_of_poll(calls); !wait.needs.empty()) waits.push_back(std::move(wait));
  }
  found_.gaps[calls.rank.value] = gap;
  if (!transfer && !gap) return;
  waits.clear();
  if (gap) return;
  found_.in_transfer[calls.rank.value] = std::ranges::any_of(
      calls.lasting, [](const LastingCall& lasting) { return lasting.call.kind != CallKind::other; });
}

Wait WaitFinder::wait_of(const RankCalls& calls, const LastingCall& lasting) {
  Wait wait;
  wait.any = lasting.call.kind == CallKind::wait_any;
  add_needs(calls, lasting.call, wait);
  return with_requests(calls, lasting.requests, std::move(wait));
}

Wait WaitFinder::wait_of_poll(const RankCalls& calls) {
  Wait wait;
  wait.any = calls.newest->completes != Completes::all;
  return with_requests(calls, calls.polled, std::move(wait));
}

Wait WaitFinder::with_requests(const RankCalls& calls, const std::vector<Call>& requests, Wait wait) {
  for (const Call& request : requests) {
    const std::size_t before = wait.needs.size();
    add_needs(calls, request, wait);
    if (wait.any && wait.needs.size() == before) return {};  // this one continues, and one is enough
  }
  return wait;
}

void WaitFinder::add_needs(const RankCalls& calls, const Call& call, Wait& to) {
  const bool receives = is_receive(call);
  if (receives && call.peer == kAnyPeer) {
    const auto answered = [&](const RankCalls* other) {
      return other != nullptr && other != &calls && is_answered_by(*other, call, calls.rank);
    };
    if (std::ranges::none_of(ranks_, answered)) to.needs.push_back(any_need(calls, call));
  } else if (receives || call.kind == CallKind::send) {
    if (call.peer < 0) return;
    if (auto need = message_need(calls, call)) to.needs.push_back(add(std::move(*need)));
  } else if (call.kind == CallKind::collective) {
    for (const std::size_t need : collective_needs({call.comm, call.number, {call.name, call.peer}}))
      to.needs.push_back(need);
  } else if (is_cairn(call)) {
    for (const std::size_t need : cairn_needs(call)) to.needs.push_back(need);
  } else if (is_finalize(call)) {
    if (!finalize_needs_) add_finalize_needs();
    to.needs.insert(to.needs.end(), finalize_needs_->begin(), finalize_needs_->end());
  }
}

// MPI ends for all ranks at once. One that has left is there, too: it has closed its session before.
void WaitFinder::add_finalize_needs() {
  const auto is_inside = [](const RankCalls&) { return true; };
  finalize_needs_ = needs_of_all({.name = "MPI_Finalize", .kind = CallKind::other}, is_ending, is_inside);
}

WaitFinder::Needs WaitFinder::needs_of_all(const Call& call, const Asked& has_begun, const Asked& is_inside) {
  Need missing{.ranks = {}, .reason = Reason::collective_not_begun, .call = call};
  Need halted{.ranks = {}, .reason = Reason::collective_halted, .call = call};
  Need unseen{.ranks = {}, .reason = Reason::collective_maybe_not_begun, .call = call};
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    const RankCalls* const calls = ranks_[rank];
    if (calls == nullptr) {
      if (!halted_[rank]) unseen.ranks.push_back(rank);
    } else if (!has_begun(*calls)) {
      missing.ranks.push_back(rank);
    } else if (halted_[rank] && is_inside(*calls)) {
      halted.ranks.push_back(rank);
    }
  }
  Needs needs;
  const bool known = !missing.ranks.empty() || !halted.ranks.empty();
  for (Need* const need : {&missing, &halted, &unseen})
    if (!need->ranks.empty() && (need != &unseen || !known)) needs.push_back(add(std::move(*need)));
  return needs;
}

// All ranks make the calls of Cairn in the same order. A call that waits ends when all ranks are in it and the heads
// have done their part.
const WaitFinder::Needs& WaitFinder::cairn_needs(const Call& call) {
  const auto [there, added] = cairn_needs_.try_emplace({call.cairn, call.number});
  if (!added) return there->second;
  Needs needs = needs_of_ranks(call);
  add_heads_of(call, needs);
  return cairn_needs_[{call.cairn, call.number}] = std::move(needs);
}

WaitFinder::Needs WaitFinder::needs_of_ranks(const Call& call) {
  Call shared = call;
  shared.began = 0;
  // A rank waits for its newest snapshot, which others have to take too.
  if (call.cairn == CairnCall::wait) shared.cairn = CairnCall::snapshot;
  shared.name = cairn_name(shared.cairn);
  const auto has_begun = [&](const RankCalls& calls) {
    return begun_for(calls.cairn_begun, call.cairn) >= call.number;
  };
  return needs_of_all(shared, has_begun, is_in_cairn);
}

void WaitFinder::add_heads_of(const Call& call, Needs& needs) {
  Call shared = call;
  shared.began = 0;
  Need halted{.ranks = {}, .reason = Reason::head_halted, .call = shared};
  Need works{.ranks = {}, .reason = Reason::head_works, .call = shared, .certainty = Certainty::likely};
  Need outside{.ranks = {}, .reason = Reason::head_outside, .call = shared, .certainty = Certainty::likely};
  for (auto head = static_cast<std::uint32_t>(ranks_.size()); head < halted_.size(); ++head)
    (halted_[head] ? halted : works).ranks.push_back(head);
  for (const RankCalls* const calls : ranks_) {
    if (calls == nullptr || calls->head_process != 0) continue;
    const bool acts = calls->head_rank == static_cast<std::int32_t>(calls->rank.value);
    if (acts && !is_in_cairn(*calls)) outside.ranks.push_back(calls->rank.value);
  }
  if (!halted.ranks.empty()) needs.push_back(add(std::move(halted)));
  if (!needs.empty()) return;
  for (Need* const need : {&outside, &works})
    if (!need->ranks.empty()) needs.push_back(add(std::move(*need)));
}

bool WaitFinder::is_answered_by(const RankCalls& other, const Call& call, Rank of) const {
  return !halted_[other.rank.value] && is_answered(other, call, of);
}

// A request may be complete though its rank is still in a call for another one. What has not ended continues while
// its rank is in some call.
OtherSide WaitFinder::other_side_at(const RankCalls& other, const Call& call, const RankCalls& of) const {
  if (is_answered_by(other, call, of.rank)) return {true};
  const bool moves = !halted_[other.rank.value] && !other.lasting.empty();
  return other_side(other, call, of, moves);
}

std::optional<Need> WaitFinder::message_need(const RankCalls& calls, const Call& call) const {
  const auto peer = static_cast<std::uint32_t>(call.peer);
  const RankCalls* other = ranks_[peer];
  const bool sends = call.kind == CallKind::send;
  Need need{.ranks = {peer}, .reason = {}, .call = call};
  if (other == nullptr) {
    need.reason = sends ? Reason::receive_expected : Reason::message_expected;
    return need;
  }
  const OtherSide side = other_side_at(*other, call, calls);
  if (side.over) return {};
  if (side.gap) {
    need.reason = sends ? Reason::receive_maybe_not_posted : Reason::message_maybe_not_sent;
    need.certainty = Certainty::unknown;
    need.gap = side.gap;
    return need;
  }
  Why why = sends ? why_not_received(*other, call, calls.rank) : why_not_sent(*other, call, calls);
  need.reason = why.reason;
  need.theirs = std::move(why.theirs);
  return need;
}

// Whether a receive from any source that may be complete is not: fewer messages were sent than such receives begun.
bool WaitFinder::is_short_of_messages(const RankCalls& calls, const Call& call) const {
  const auto me = static_cast<std::int32_t>(calls.rank.value);
  std::uint64_t sent = 0;
  for (const RankCalls* const other : ranks_) {
    if (other == nullptr || other->comms_left_out > 0) return false;
    const auto comm = other->comms.find(call.comm);
    if (comm == other->comms.end()) continue;
    if (comm->second.uncounted != 0) return false;
    for (const auto& [kind, count] : other->sends) {
      if (kind.comm != call.comm || kind.peer != me || (call.tag != kAnyTag && kind.tag != call.tag)) continue;
      if (count == 0) return false;
      sent += count;
    }
  }
  return sent < call.number;
}

std::size_t WaitFinder::any_need(const RankCalls& calls, const Call& call) {
  const std::uint64_t comm = call.comm;
  std::optional<Gap> gap;
  if (!is_under_way_for_sure(calls, call) && !is_short_of_messages(calls, call))
    gap = gap_of(calls, Gap::Cause::wildcards);
  if (const auto known = any_needs_.find({comm, gap}); known != any_needs_.end()) return known->second;
  Need need{.ranks = {},
            .reason = Reason::message_from_any,
            .call = {.name = {}, .kind = CallKind::receive, .comm = comm, .peer = kAnyPeer},
            .any = true,
            .certainty = gap ? Certainty::unknown : Certainty::certain,
            .gap = gap};
  const auto members = members_.find(comm);
  const RankCalls* one = members == members_.end() ? nullptr : ranks_[members->second.front()];
  if (one == nullptr) {
    for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) need.ranks.push_back(rank);
  } else {
    need.ranks = members->second;
    if (one->comms.at(comm).size > need.ranks.size()) {
      const auto others = possible_members(comm);
      need.ranks.insert(need.ranks.end(), others.begin(), others.end());
      need.ranks.insert(need.ranks.end(), unseen_.begin(), unseen_.end());
    }
  }
  return any_needs_[{comm, gap}] = add(std::move(need));
}

const WaitFinder::Needs& WaitFinder::collective_needs(const Side& side) {
  if (const auto known = collective_needs_.find(side); known != collective_needs_.end()) return known->second;
  Needs needs;
  add_missing(side, needs);
  add_halted(side, needs);
  if (needs.empty()) add_unknown(side, needs);
  if (needs.empty()) add_not_progressed(side, needs);
  add_mismatches(side, needs);
  return collective_needs_[side] = std::move(needs);
}

void WaitFinder::add_missing(const Side& side, Needs& needs) {
  Need need{.ranks = {}, .reason = Reason::collective_not_begun, .call = call_of(side.comm, side.number, side.entered)};
  for (const std::uint32_t rank : members_[side.comm])
    if (ranks_[rank]->comms.at(side.comm).collectives < side.number) need.ranks.push_back(rank);
  if (need.ranks.empty()) return;
  needs.push_back(add(std::move(need)));
}

bool WaitFinder::is_in(const RankCalls& calls, const Side& side) {
  const auto is_it = [&](const Call& call) {
    return call.kind == CallKind::collective && call.comm == side.comm && call.number == side.number;
  };
  return std::ranges::any_of(calls.lasting, is_it, &LastingCall::call) || std::ranges::any_of(calls.pending, is_it);
}

// Members that have begun it, and do not come out of it.
void WaitFinder::add_halted(const Side& side, Needs& needs) {
  Need need{.ranks = {}, .reason = Reason::collective_halted, .call = call_of(side.comm, side.number, side.entered)};
  for (const std::uint32_t rank : members_[side.comm]) {
    if (!halted_[rank]) continue;
    if (is_in(*ranks_[rank], side)) need.ranks.push_back(rank);
  }
  if (need.ranks.empty()) return;
  needs.push_back(add(std::move(need)));
}

// Ranks whose file had no place for some communicators, of which this one may be one.
std::vector<std::uint32_t> WaitFinder::possible_members(std::uint64_t comm) const {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t rank : incomplete_)
    if (!ranks_[rank]->comms.contains(comm)) found.push_back(rank);
  return found;
}

// Members that have no file, or whose file does not have the communicator. Only when no other one is missing: it is not
// known whether they have begun it.
void WaitFinder::add_unknown(const Side& side, Needs& needs) {
  auto others = possible_members(side.comm);
  const auto& members = members_[side.comm];
  if (members.empty() && others.empty()) return;
  std::optional<Gap> gap;
  if (!others.empty()) gap = gap_of(*ranks_[others.front()], Gap::Cause::communicators);
  const std::size_t in_it = std::erase_if(others, [&](std::uint32_t rank) { return is_in(*ranks_[rank], side); });
  const bool known = !members.empty() && others.empty();
  Need need{.ranks = others,
            .reason = Reason::collective_maybe_not_begun,
            .call = call_of(side.comm, side.number, side.entered)};
  if (!known && gap) {
    need.certainty = Certainty::unknown;
    need.gap = gap;
  }
  need.ranks.insert(need.ranks.end(), unseen_.begin(), unseen_.end());
  if (need.ranks.empty()) return;
  if (!members.empty()) {
    const std::uint32_t size = ranks_[members.front()]->comms.at(side.comm).size;
    if (size <= members.size() + in_it) return;
    need.any = size - members.size() - in_it < need.ranks.size();
  }
  needs.push_back(add(std::move(need)));
}

// Members that have begun it with a request, and are outside MPI: their MPI library may need a call to continue it.
// Some have a thread that does, and their part may be complete.
void WaitFinder::add_not_progressed(const Side& side, Needs& needs) {
  Need need{.ranks = {},
            .reason = Reason::collective_not_progressed,
            .call = call_of(side.comm, side.number, side.entered),
            .certainty = Certainty::likely};
  for (const std::uint32_t rank : members_[side.comm]) {
    const RankCalls& calls = *ranks_[rank];
    if (calls.lasting.empty() && !calls.polls && is_in(calls, side)) need.ranks.push_back(rank);
  }
  if (!need.ranks.empty()) needs.push_back(add(std::move(need)));
}

std::map<Entered, std::vector<std::uint32_t>> WaitFinder::sides_of(const Side& side) const {
  std::map<Entered, std::vector<std::uint32_t>> sides;
  const auto members = members_.find(side.comm);
  if (members == members_.end()) return sides;
  for (const std::uint32_t rank : members->second) {
    const auto entered = ranks_[rank]->collectives.find({side.comm, side.number});
    if (entered != ranks_[rank]->collectives.end()) sides[entered->second].push_back(rank);
  }
  return sides;
}

// Those who entered as most did, or with the lowest rank when it is a draw, will not be met by the others.
void WaitFinder::add_mismatches(const Side& side, Needs& needs) {
  const auto sides = sides_of(side);
  if (sides.size() < 2) return;
  const auto most = std::ranges::max_element(sides, [](const auto& a, const auto& b) {
    if (a.second.size() != b.second.size()) return a.second.size() < b.second.size();
    return a.second.front() > b.second.front();
  });
  if (differ(side.entered, most->first)) {
    // So that it is told even if those who entered as most did have left it.
    if (!collective_needs_.contains({side.comm, side.number, most->first}))
      (void)collective_needs({side.comm, side.number, most->first});
    return;
  }
  for (const auto& [entered, ranks] : sides) {
    if (!differ(entered, most->first)) continue;
    const std::size_t need = add({.ranks = ranks,
                                  .reason = Reason::collective_mismatch,
                                  .call = call_of(side.comm, side.number, most->first),
                                  .theirs = call_of(side.comm, side.number, entered),
                                  .agreeing = most->second.size()});
    needs.push_back(need);
    if (told_.insert({side.comm, side.number, entered}).second) found_.mismatches.push_back(need);
  }
}

std::size_t WaitFinder::add(Need need) {
  found_.graph.needs.push_back(std::move(need));
  return found_.graph.needs.size() - 1;
}

}  // namespace cairn::hang
