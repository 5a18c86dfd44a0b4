// What the tap does around calls that send, receive or probe for a message.
#pragma once

#include <mpi.h>

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "intercept/act.hpp"
#include "tap/heard.hpp"
#include "tap/world_guard.hpp"

namespace cairn::tap {

// The first arguments of such a call.
template <class Count, class... Rest>
OutgoingMessage outgoing(const void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         Rest... /*rest*/) {
  return {.buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm};
}
// The same for MPI_Bsend and MPI_Ssend, and what is named after them.
inline OutgoingMessage buffered(OutgoingMessage message) {
  message.buffered = true;
  return message;
}
inline OutgoingMessage synchronous(OutgoingMessage message) {
  message.synchronous = true;
  return message;
}
template <class Count, class... Rest>
IncomingMessage incoming(void* buffer, Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                         Rest... /*rest*/) {
  return {.buffer = buffer, .count = count, .type = type, .peer = peer, .tag = tag, .comm = comm};
}

// A call that is over when its message is; `carry` makes it with a carrier, or also with a guard.
template <class Carry, class... Arguments>
int meets(CallKind kind, Carry carry, int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  if (!is_anybody_interested()) return next(arguments...);
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  const Heard heard(call, kind, site);
  if (Carrier* const one = carrier_of(call, site)) return carry(*one);
  if constexpr (std::is_invocable_v<Carry, RepairGuard&>)
    if (const auto code = guarded(call, site, carry)) return *code;
  return make(call, next, site, arguments...);
}
template <class... Arguments>
int sends(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return meets(
      CallKind::send, [&](auto& one) { return one.send(outgoing(arguments...)); }, next, site, arguments...);
}
template <class... Arguments>
int sends_by_other_means(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return meets(
      CallKind::send, [&](Carrier& one) { return one.send(outgoing(arguments...)); }, next, site, arguments...);
}
template <class... Arguments>
int sends_buffered(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return meets(
      CallKind::send, [&](Carrier& one) { return one.send(buffered(outgoing(arguments...))); }, next, site,
      arguments...);
}
template <class... Arguments>
int sends_synchronously(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return meets(
      CallKind::send, [&](auto& one) { return one.send(synchronous(outgoing(arguments...))); }, next, site,
      arguments...);
}
template <class... Arguments>
int receives(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return meets(
      CallKind::receive, [&](Carrier& one) { return one.receive(incoming(arguments...), last<1>(arguments...)); }, next,
      site, arguments...);
}
inline int probes(int (*next)(int, int, MPI_Comm, MPI_Status*), const Site& site, int peer, int tag, MPI_Comm comm,
                  MPI_Status* status) {
  if (!is_anybody_interested()) return next(peer, tag, comm, status);
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  const Heard heard(call, CallKind::probe, site);
  if (Carrier* const one = carrier_of(call, site)) return one->probe(comm, peer, tag, nullptr, status);
  const auto ask = [=](int* flag) { return MPI_Iprobe(peer, tag, comm, flag, status); };
  if (const auto code = await(call, site, ask)) return *code;
  return make(call, next, site, peer, tag, comm, status);
}

// A call that leaves a request behind, which is its last argument.
template <class Carry, class... Arguments>
int posts(CallKind kind, Carry carry, int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  if (!is_anybody_interested()) return next(arguments...);
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  Heard heard(call, CallKind::other, site);
  Carrier* const one = carrier_of(call, site);
  const int code = one != nullptr ? carry(*one) : make(call, next, site, arguments...);
  if (code == MPI_SUCCESS) heard.posts(kind, *last<1>(arguments...), true);
  return code;
}
template <class... Arguments>
int begins_to_send(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return posts(
      CallKind::send, [&](Carrier& one) { return one.begin_send(outgoing(arguments...), last<1>(arguments...)); }, next,
      site, arguments...);
}
template <class... Arguments>
int begins_to_send_buffered(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return posts(
      CallKind::send,
      [&](Carrier& one) { return one.begin_send(buffered(outgoing(arguments...)), last<1>(arguments...)); }, next, site,
      arguments...);
}
template <class... Arguments>
int begins_to_send_synchronously(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return posts(
      CallKind::send,
      [&](Carrier& one) { return one.begin_send(synchronous(outgoing(arguments...)), last<1>(arguments...)); }, next,
      site, arguments...);
}
template <class... Arguments>
int begins_to_receive(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return posts(
      CallKind::receive, [&](Carrier& one) { return one.begin_receive(incoming(arguments...), last<1>(arguments...)); },
      next, site, arguments...);
}

// The same with a request that is to be started later, as often as one likes.
template <class Carry, class... Arguments>
int prepares(CallKind kind, Carry carry, int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  Heard heard(call, CallKind::other, site);
  Carrier* const one = carrier_of(call, site);
  const int code = one != nullptr ? carry(*one) : make(call, next, site, arguments...);
  if (code == MPI_SUCCESS) heard.posts(kind, *last<1>(arguments...), false);
  return code;
}
template <class... Arguments>
int prepares_to_send(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return prepares(
      CallKind::send, [&](Carrier& one) { return one.prepare_send(outgoing(arguments...), last<1>(arguments...)); },
      next, site, arguments...);
}
template <class... Arguments>
int prepares_to_send_buffered(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return prepares(
      CallKind::send,
      [&](Carrier& one) { return one.prepare_send(buffered(outgoing(arguments...)), last<1>(arguments...)); }, next,
      site, arguments...);
}
template <class... Arguments>
int prepares_to_send_synchronously(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return prepares(
      CallKind::send,
      [&](Carrier& one) { return one.prepare_send(synchronous(outgoing(arguments...)), last<1>(arguments...)); }, next,
      site, arguments...);
}
template <class... Arguments>
int prepares_to_receive(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  return prepares(
      CallKind::receive,
      [&](Carrier& one) { return one.prepare_receive(incoming(arguments...), last<1>(arguments...)); }, next, site,
      arguments...);
}

// The application gets its buffer back. A carrier has not used it, but the call waits for the carrier's messages, too.
template <class... Arguments>
int ends_buffer(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  const Heard heard(call, CallKind::opaque, site);
  if (Carrier* const one = carrier_of(call))
    if (const int code = one->finish_buffered(); code != MPI_SUCCESS) return code;
  return next(arguments...);
}

// Of a message that is sent or received in parts, nothing is recorded.
template <class... Arguments>
int prepares_parts(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  return make(call, next, site, arguments...);
}

// A call that sends one message and receives another. `carry` makes it with a carrier or a guard.
template <class Carry, class... Arguments>
int exchanges_messages(Carry carry, int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  if (!is_anybody_interested()) return next(arguments...);
  const Call call;
  if (call.is_outermost()) {
    check_message(site.name, site.comm, site.peer);
    check_message(site.name, site.comm, site.source);
  }
  const Exchange heard(call, site);
  if (Carrier* const one = carrier_of(call, site)) return carry(*one);
  if (const auto code = guarded(call, site, carry)) return *code;
  return make(call, next, site, arguments...);
}
template <class Count>
int exchanges(int (*next)(const void*, Count, MPI_Datatype, int, int, void*, Count, MPI_Datatype, int, int, MPI_Comm,
                          MPI_Status*),
              const Site& site, const void* from, Count count, MPI_Datatype type, int peer, int tag, void* to,
              Count to_count, MPI_Datatype to_type, int source, int source_tag, MPI_Comm comm, MPI_Status* status) {
  return exchanges_messages(
      [=](auto& one) {
        return one.exchange(outgoing(from, count, type, peer, tag, comm),
                            incoming(to, to_count, to_type, source, source_tag, comm), status);
      },
      next, site, from, count, type, peer, tag, to, to_count, to_type, source, source_tag, comm, status);
}
template <class Count>
int exchanges_in_place(int (*next)(void*, Count, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*),
                       const Site& site, void* buffer, Count count, MPI_Datatype type, int peer, int tag, int source,
                       int source_tag, MPI_Comm comm, MPI_Status* status) {
  return exchanges_messages(
      [=](auto& one) {
        return one.exchange(outgoing(buffer, count, type, peer, tag, comm),
                            incoming(buffer, count, type, source, source_tag, comm), status);
      },
      next, site, buffer, count, type, peer, tag, source, source_tag, comm, status);
}

// Its request stands for a send and a receive, of which neither is counted.
template <class... Arguments>
int exchanges_later(int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  if (call.is_outermost()) {
    check_message(site.name, site.comm, site.peer);
    check_message(site.name, site.comm, site.source);
  }
  const Heard heard(call, CallKind::other, site);
  heard.loses_count(CallKind::send, site.comm, site.peer, site.tag);
  heard.loses_count(CallKind::receive, site.comm, site.source, site.source_tag);
  return make(call, next, site, arguments...);
}

// It takes the message away from all receives, so it counts as one.
inline int matches(int (*next)(int, int, MPI_Comm, MPI_Message*, MPI_Status*), const Site& site, int peer, int tag,
                   MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  const Heard heard(call, CallKind::probe, site);
  Carrier* const one = carrier_of(call, site);
  std::optional<int> code;
  if (one != nullptr)
    code = one->match(comm, peer, tag, nullptr, message, status);
  else
    code = await(call, site, [=](int* flag) { return MPI_Improbe(peer, tag, comm, flag, message, status); });
  if (!code) code = make(call, next, site, peer, tag, comm, message, status);
  if (*code == MPI_SUCCESS) heard.takes_message();
  return *code;
}

// A call that receives a message that was taken away.
template <class Run, class... Arguments>
int takes_matched(Run run, MPI_Message message, int (*next)(Arguments...), const Site& site, Arguments... arguments) {
  const Call call;
  const Heard heard(call, CallKind::opaque, site);
  Carrier* const one = carrier_of(call);
  return one != nullptr && one->has_matched(message) ? run(*one) : make(call, next, site, arguments...);
}
template <class Count>
int receives_matched(int (*next)(void*, Count, MPI_Datatype, MPI_Message*, MPI_Status*), const Site& site, void* buffer,
                     Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  return takes_matched(
      [=](Carrier& one) {
        return one.receive_matched({.buffer = buffer, .count = count, .type = type}, message, status, nullptr);
      },
      *message, next, site, buffer, count, type, message, status);
}
template <class Count>
int begins_to_receive_matched(int (*next)(void*, Count, MPI_Datatype, MPI_Message*, MPI_Request*), const Site& site,
                              void* buffer, Count count, MPI_Datatype type, MPI_Message* message,
                              MPI_Request* request) {
  return takes_matched(
      [=](Carrier& one) {
        return one.receive_matched({.buffer = buffer, .count = count, .type = type}, message, MPI_STATUS_IGNORE,
                                   request);
      },
      *message, next, site, buffer, count, type, message, request);
}

inline int asks(int (*next)(int, int, MPI_Comm, int*, MPI_Status*), const Site& site, int peer, int tag, MPI_Comm comm,
                int* flag, MPI_Status* status) {
  if (!is_anybody_interested()) return next(peer, tag, comm, flag, status);
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  Heard heard(call, CallKind::test, site);  // it does not wait as a probe does
  int code = look_for_failures(call, flag);
  if (code == MPI_SUCCESS) {
    Carrier* const one = carrier_of(call, site);
    code = one != nullptr ? one->probe(comm, peer, tag, flag, status)
                          : make(call, next, site, peer, tag, comm, flag, status);
  }
  if (*flag == 0) heard.is_in_vain();
  return code;
}

inline int asks_to_match(int (*next)(int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*), const Site& site, int peer,
                         int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  if (!is_anybody_interested()) return next(peer, tag, comm, flag, message, status);
  const Call call;
  if (call.is_outermost()) check_message(site.name, site.comm, site.peer);
  Heard heard(call, CallKind::test, site);
  int code = look_for_failures(call, flag);
  if (code == MPI_SUCCESS) {
    Carrier* const one = carrier_of(call, site);
    code = one != nullptr ? one->match(comm, peer, tag, flag, message, status)
                          : make(call, next, site, peer, tag, comm, flag, message, status);
  }
  if (*flag == 0) heard.is_in_vain();
  if (code == MPI_SUCCESS && *flag != 0) heard.takes_message();
  return code;
}

}  // namespace cairn::tap
