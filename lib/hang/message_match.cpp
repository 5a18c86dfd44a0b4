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

}  // namespace

bool fits(const Call& receive, Rank receiver, const Call& send, Rank sender) {
  return receive.comm == send.comm && takes_peer(receive, sender) && takes_peer(send, receiver) &&
         (receive.tag == kAnyTag || receive.tag == send.tag);
}

bool is_answered(const RankCalls& calls, const Call& call, Rank of) {
  const bool receive = is_receive(call);
  return std::ranges::any_of(surely_under_way(calls, receive), [&](const Call* other) {
    return receive ? fits(call, of, *other, calls.rank) : fits(*other, calls.rank, call, of);
  });
}

OtherSide other_side(const RankCalls& calls, const Call& call, const RankCalls& of, bool moves) {
  const bool receive = is_receive(call);
  const auto takes_any = [&](const auto& received) {
    const MessageKind& kind = received.first;
    return kind.comm == call.comm && (kind.peer == kAnyPeer || kind.tag == kAnyTag);
  };
  if (call.kind == CallKind::probe || (receive && std::ranges::any_of(of.receives, takes_any))) return {};
  if (call.number == 0) return {false, uncounted(of, call.comm)};
  const auto comm = calls.comms.find(call.comm);
  if (comm == calls.comms.end()) return {false, uncounted(calls, call.comm)};
  const MessageKind kind{call.comm, static_cast<std::int32_t>(of.rank.value), call.tag};
  const auto& all = receive ? calls.sends : calls.receives;
  const auto found = all.find(kind);
  if (found == all.end() && comm->second.uncounted != 0) return {false, uncounted(calls, call.comm)};
  if (found == all.end()) return {};
  if (found->second == 0) return {false, gap_of(calls, Gap::Cause::pending_requests)};
  if (found->second < call.number || moves) return {found->second >= call.number};
  const auto open = std::ranges::count_if(under_way(calls, receive), [&](const Call* other) {
    return MessageKind{other->comm, other->peer, other->tag} == kind;
  });
  if (found->second < call.number + static_cast<std::uint64_t>(open)) return {};
  if (calls.requests_left_out > 0) return {false, gap_of(calls, Gap::Cause::pending_requests)};
  return {true};
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
