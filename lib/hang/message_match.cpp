#include "hang/message_match.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

namespace cairn::hang {
namespace {

bool takes_peer(const Call& call, Rank peer) {
  return call.peer == kAnyPeer || call.peer == static_cast<std::int32_t>(peer.value);
}

// Sends, or receives, that are not complete as far as is known. A request may be complete before the application asks.
std::vector<const Call*> under_way(const RankCalls& calls, bool sends) {
  std::vector<const Call*> found;
  const auto take = [&](const Call& call) {
    if (sends ? call.kind == CallKind::send : is_receive(call)) found.push_back(&call);
  };
  for (const LastingCall& lasting : calls.lasting) take(lasting.call);
  for (const Call& request : calls.pending) take(request);
  return found;
}

// Those that are not complete for sure: their call lasts for nothing else.
std::vector<const Call*> surely_under_way(const RankCalls& calls, bool sends) {
  std::vector<const Call*> found;
  for (const LastingCall& lasting : calls.lasting) {
    if (lasting.requests.empty()) found.push_back(&lasting.call);
    if (lasting.requests.size() == 1 && lasting.call.kind != CallKind::send && !is_receive(lasting.call))
      found.push_back(&lasting.requests.front());
  }
  std::erase_if(found, [&](const Call* call) { return sends ? call->kind != CallKind::send : !is_receive(*call); });
  return found;
}

std::uint64_t count_of(const std::map<MessageKind, MessageCount>& in, const Call& call, std::int32_t peer) {
  std::uint64_t count = 0;
  for (const auto& [kind, messages] : in) {
    const bool tag = call.tag == kAnyTag || kind.tag == kAnyTag || kind.tag == call.tag;
    if (kind.comm == call.comm && kind.peer == peer && tag) count += messages.count;
  }
  return count;
}

// The last message that it sent to `peer` on `comm`.
std::optional<Call> last_sent(const RankCalls& sender, std::uint64_t comm, std::int32_t peer) {
  const MessageCount* last = nullptr;
  std::optional<Call> sent;
  for (const auto& [kind, messages] : sender.sent) {
    if (kind.comm != comm || kind.peer != peer || (last != nullptr && last->last >= messages.last)) continue;
    last = &messages;
    sent = Call{.name = {}, .kind = CallKind::send, .comm = comm, .peer = peer, .tag = kind.tag};
  }
  return sent;
}

// Why a rank has not counted a message on this communicator.
Gap uncounted(const RankCalls& calls, std::uint64_t comm) {
  if (calls.comms.contains(comm)) return gap_of(calls, Gap::Cause::message_counters);
  return gap_of(calls, calls.comms_left_out > 0 ? Gap::Cause::communicators : Gap::Cause::no_communicator);
}

bool takes(const Call& receive, Rank receiver, const Call& send, Rank sender) {
  return receive.comm == send.comm && takes_peer(receive, sender) && takes_peer(send, receiver) &&
         (receive.tag == kAnyTag || receive.tag == send.tag);
}

// How many messages were begun of the kinds that are among these.
struct Count {
  std::uint64_t messages = 0;
  bool known = true;  // false: at least so many
};
template <class IsAmong>
Count count_kinds(const RankCalls& calls, const std::map<MessageKind, std::uint64_t>& kinds, std::uint64_t comm,
                  IsAmong is_among) {
  const auto there = calls.comms.find(comm);
  Count sum{0, there != calls.comms.end() && there->second.uncounted == 0};
  for (const auto& [kind, count] : kinds) {
    if (kind.comm != comm || !is_among(kind)) continue;
    sum.messages += count;
    sum.known = sum.known && count > 0;
  }
  return sum;
}

bool tags_meet(std::int32_t one, std::int32_t other) { return one == kAnyTag || other == kAnyTag || one == other; }

// Receives that may take what this kind of receive is for: from any source, or with any tag, or, of one with any tag,
// all from its source.
Count rivals_of(const RankCalls& receiver, const MessageKind& kind) {
  return count_kinds(receiver, receiver.receives, kind.comm, [&](const MessageKind& other) {
    return other != kind && (other.peer == kind.peer || other.peer == kAnyPeer) && tags_meet(other.tag, kind.tag);
  });
}

// Of one kind. A counter that is there has counted from the first message on.
std::optional<Count> count_of_kind(const std::map<MessageKind, std::uint64_t>& kinds, const MessageKind& kind) {
  const auto found = kinds.find(kind);
  if (found == kinds.end()) return {};
  return Count{found->second, found->second > 0};
}

// Those of one rank, begun and not complete as far as is known, that are the other side of this receive or send.
std::size_t open_sides(const RankCalls& calls, const Call& call, Rank of) {
  const bool receive = is_receive(call);
  return static_cast<std::size_t>(std::ranges::count_if(under_way(calls, receive), [&](const Call* other) {
    return receive ? takes(call, of, *other, calls.rank) : takes(*other, calls.rank, call, of);
  }));
}

// Of a message that wildcards may hide: a call that is not complete for sure has not got it, unless it is under way.
OtherSide hidden(const RankCalls& calls, const Call& call, const RankCalls& of, const RankCalls& receiver, bool moves) {
  if (is_under_way_for_sure(of, call) && (!moves || open_sides(calls, call, of.rank) == 0)) return {};
  return {false, gap_of(receiver, Gap::Cause::wildcards)};
}

// `begun` of them at the other rank are enough. What was begun may not be over, unless that rank moves on in MPI.
OtherSide begun_side(const RankCalls& calls, const Call& call, const RankCalls& of, std::uint64_t begun, bool moves) {
  if (moves || begun >= call.number + open_sides(calls, call, of.rank)) {
    if (!moves && calls.requests_left_out > 0) return {false, gap_of(calls, Gap::Cause::pending_requests)};
    return {true};
  }
  return {};
}

OtherSide sent_side(const RankCalls& sender, const Call& receive, const RankCalls& receiver, bool moves) {
  const auto me = static_cast<std::int32_t>(receiver.rank.value);
  const MessageKind kind{receive.comm, static_cast<std::int32_t>(sender.rank.value), receive.tag};
  Count sent = count_kinds(sender, sender.sends, receive.comm, [&](const MessageKind& other) {
    return other.peer == me && tags_meet(other.tag, receive.tag);
  });
  if (const auto counted = count_of_kind(sender.sends, {receive.comm, me, receive.tag})) sent = *counted;
  if (sent.messages < receive.number) {
    if (sent.known) return {};
    const bool counted = sender.sends.contains({receive.comm, me, receive.tag});
    return {false, counted ? gap_of(sender, Gap::Cause::pending_requests) : uncounted(sender, receive.comm)};
  }
  const Count rivals = rivals_of(receiver, kind);
  const bool may_be_hidden = rivals.messages > 0 && (!rivals.known || sent.messages < receive.number + rivals.messages);
  if (may_be_hidden) return hidden(sender, receive, receiver, receiver, moves);
  return begun_side(sender, receive, receiver, sent.messages, moves);
}

OtherSide received_side(const RankCalls& receiver, const Call& send, const RankCalls& sender, bool moves) {
  const MessageKind kind{send.comm, static_cast<std::int32_t>(sender.rank.value), send.tag};
  const auto counted = count_of_kind(receiver.receives, kind);
  if (counted && !counted->known) return {false, gap_of(receiver, Gap::Cause::pending_requests)};
  const std::uint64_t posted = counted ? counted->messages : 0;
  if (posted >= send.number) return begun_side(receiver, send, sender, posted, moves);
  const Count rivals = rivals_of(receiver, kind);
  if (!rivals.known && !counted) return {false, uncounted(receiver, send.comm)};
  if (rivals.messages > 0 && (!rivals.known || posted + rivals.messages >= send.number))
    return hidden(receiver, send, sender, receiver, moves);
  return {};
}

}  // namespace

bool fits(const Call& receive, Rank receiver, const Call& send, Rank sender) {
  return takes(receive, receiver, send, sender);
}

bool is_under_way_for_sure(const RankCalls& of, const Call& call) {
  const auto is_it = [&](const Call& one) { return &one == &call; };
  for (const LastingCall& lasting : of.lasting) {
    if (is_it(lasting.call)) return lasting.requests.empty();
    if (std::ranges::none_of(lasting.requests, is_it)) continue;
    const bool only = lasting.requests.size() == 1 && lasting.other_requests == 0;
    return only || lasting.call.completes == Completes::any;
  }
  if (std::ranges::none_of(of.polled, is_it)) return false;
  return of.polled.size() == 1 || of.newest->completes != Completes::all;
}

bool is_answered(const RankCalls& calls, const Call& call, Rank of) {
  const bool receive = is_receive(call);
  return std::ranges::any_of(surely_under_way(calls, receive), [&](const Call* other) {
    return receive ? fits(call, of, *other, calls.rank) : fits(*other, calls.rank, call, of);
  });
}

OtherSide other_side(const RankCalls& calls, const Call& call, const RankCalls& of, bool moves) {
  if (call.kind == CallKind::probe) return {};
  if (call.number == 0) return {false, uncounted(of, call.comm)};
  if (!calls.comms.contains(call.comm)) return {false, uncounted(calls, call.comm)};
  return is_receive(call) ? sent_side(calls, call, of, moves) : received_side(calls, call, of, moves);
}

Why why_not_sent(const RankCalls& sender, const Call& receive, const RankCalls& receiver) {
  const auto me = static_cast<std::int32_t>(receiver.rank.value);
  const auto it = static_cast<std::int32_t>(sender.rank.value);
  for (const Call* send : under_way(sender, true)) {
    if (fits(receive, receiver.rank, *send, sender.rank)) return {Reason::message_not_progressed, *send};
    if (send->peer == me) return {Reason::message_sent_otherwise, *send};
  }
  const std::uint64_t sent = count_of(sender.sent, receive, me);
  const std::uint64_t received = count_of(receiver.received, receive, it);
  const bool forgot = sender.forgot || receiver.forgot;
  if (sent > 0 && count_of(receiver.received, receive, kAnyPeer) > 0 && (sent > received || forgot))
    return {Reason::message_taken_by_wildcard, {}};
  if (sent > 0) return {Reason::message_not_sent_again, {}};
  if (auto last = last_sent(sender, receive.comm, me)) return {Reason::message_sent_earlier_otherwise, std::move(last)};
  return {Reason::message_not_sent, {}};
}

Why why_not_received(const RankCalls& receiver, const Call& send, Rank sender) {
  for (const Call* receive : under_way(receiver, false)) {
    if (takes_peer(*receive, sender) && receive->peer != kAnyPeer && !fits(*receive, receiver.rank, send, sender))
      return {Reason::receive_posted_otherwise, *receive};
  }
  return {Reason::receive_not_posted, {}};
}

}  // namespace cairn::hang
