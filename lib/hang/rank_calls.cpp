#include "hang/rank_calls.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

namespace cairn::hang {
namespace {

// A rank may be so many collectives ahead of another on one communicator, and a mismatch is still seen.
constexpr std::uint64_t kCollectivesKept = 64;

bool is_vain_test(const CallRecord& record) { return is_test(record.kind) && record.number > 0; }

Completes completes_of(CallKind kind) {
  if (kind == CallKind::wait_all || kind == CallKind::test_all) return Completes::all;
  return kind == CallKind::wait_any || kind == CallKind::test ? Completes::any : Completes::nothing;
}

Call call_of(const CallFile& file, const CallRecord& r) {
  return {.name = name_of(file, r),
          .kind = r.kind,
          .completes = completes_of(r.kind),
          .began = r.began,
          .ended = r.ended,
          .comm = r.comm,
          .number = r.number,
          .bytes = r.bytes,
          .request = r.request,
          .peer = r.peer,
          .tag = r.tag};
}

// How many of the newest `wanted` calls the file still has.
std::uint64_t kept(const CallFile& file, std::uint64_t wanted) {
  return std::min({wanted, file.calls, std::uint64_t{CallFile::kPast}});
}

// 0: the newest one. Below kept().
const CallRecord& past_call(const CallFile& file, std::uint64_t back) {
  return file.past[(file.calls - 1 - back) % CallFile::kPast];
}

bool lasts(const CallRecord& record) { return record.kind != CallKind::none && record.ended == 0; }

bool has_begun_another(const CallFile& file, const Moment& before) {
  for (std::size_t i = 0; i < file.lasting.size(); ++i) {
    const CallRecord& record = file.lasting[i];
    if (lasts(record) && !is_test(record.kind) && record.began != before.began[i]) return true;
  }
  return false;
}

bool has_progressed(const CallFile& file, const Moment& before) {
  if (begun_of(file) != before.cairn_begun) return true;
  if (file.opened_at != before.opened_at || file.calls < before.calls || has_begun_another(file, before)) return true;
  for (std::uint64_t back = 0; back < kept(file, file.calls - before.calls); ++back)
    if (!is_vain_test(past_call(file, back))) return true;
  return false;
}

void put_cairn(const CallFile& file, RankCalls& into) {
  into.cairn_begun = begun_of(file);
  into.cairn_ended = file.cairn.ended;
  into.node = file.node;
  into.head_process = file.head_process;
  into.head_rank = file.head_rank;
  if (file.cairn.call == CairnCall::none) return;
  into.lasting.push_back({.call = {.name = cairn_name(file.cairn.call),
                                   .kind = CallKind::cairn,
                                   .cairn = file.cairn.call,
                                   .began = file.cairn.began,
                                   .number = begun_for(into.cairn_begun, file.cairn.call)},
                          .requests = {}});
}

void put_lasting(const CallFile& file, RankCalls& into) {
  for (std::size_t slot = 0; slot < file.lasting.size(); ++slot) {
    const CallRecord& record = file.lasting[slot];
    if (!lasts(record) || is_test(record.kind)) continue;
    const bool waits = record.kind == CallKind::wait_all || record.kind == CallKind::wait_any;
    LastingCall lasting{call_of(file, record), {}, waits ? record.number : 0};
    for (const CallRecord& request : file.pending) {
      if (request.kind != CallKind::none && request.active != 0 && request.waiter == slot + 1)
        lasting.requests.push_back(call_of(file, request));
    }
    into.lasting.push_back(std::move(lasting));
  }
}

// What a test without success asks for, as a probe that does not wait.
Call probe_of(const CallFile& file, const CallRecord& test) {
  Call probe = call_of(file, test);
  probe.kind = CallKind::probe;
  probe.completes = Completes::nothing;
  probe.number = 0;  // how often it had no success
  return probe;
}

// Of each message that the rank has probed for since the earlier reading, the newest probe.
std::vector<Call> probes_of(const CallFile& file, std::uint64_t since) {
  std::vector<Call> probes;
  std::set<std::tuple<std::uint64_t, std::int32_t, std::int32_t>> seen;
  for (std::uint64_t back = 0; back < kept(file, since); ++back) {
    const CallRecord& test = past_call(file, back);
    if (!is_vain_test(test) || test.peer == kNoPeer) continue;
    if (seen.emplace(test.comm, test.peer, test.tag).second) probes.push_back(probe_of(file, test));
  }
  return probes;
}

// The requests that the rank has asked for since the earlier reading, if it named one at a time.
std::set<std::uint64_t> tested_requests(const CallFile& file, std::uint64_t since) {
  std::set<std::uint64_t> requests;
  for (std::uint64_t back = 0; back < kept(file, since); ++back) {
    const CallRecord& test = past_call(file, back);
    if (is_vain_test(test) && test.request != 0) requests.insert(test.request);
  }
  return requests;
}

// What it asks for in its last `since` calls. A test of one request names that request. A test of several may have left
// its mark, if its thread is in no other call. A call that asks for a message names the sender.
void put_polled(const CallFile& file, std::uint64_t since, RankCalls& into) {
  const auto tested = tested_requests(file, since);
  for (std::uint64_t back = 0; back < kept(file, CallFile::kPast) && is_vain_test(past_call(file, back)); ++back)
    into.polls_since = past_call(file, back).began;
  for (const CallRecord& request : file.pending) {
    if (request.kind == CallKind::none || request.active == 0) continue;
    const bool named = tested.contains(request.request);
    const bool marked = request.waiter != 0 && (!lasts(file.lasting[request.waiter - std::size_t{1}]) ||
                                                is_test(file.lasting[request.waiter - std::size_t{1}].kind));
    if (named || marked) into.polled.push_back(call_of(file, request));
  }
  for (Call& probe : probes_of(file, since)) into.polled.push_back(std::move(probe));
}

void count(std::map<MessageKind, MessageCount>& in, const CallRecord& record) {
  MessageCount& entry = in[{record.comm, record.peer, record.tag}];
  ++entry.count;
  entry.last = std::max(entry.last, record.ended);
}

void put_collective(const CallFile& file, const CallRecord& record, RankCalls& into) {
  const auto comm = into.comms.find(record.comm);
  if (comm == into.comms.end() || record.number + kCollectivesKept <= comm->second.collectives) return;
  into.collectives.try_emplace({record.comm, record.number}, Entered{name_of(file, record), record.peer});
}

void put_past(const CallFile& file, RankCalls& into) {
  for (std::uint64_t back = 0; back < kept(file, CallFile::kPast); ++back) {
    const CallRecord& record = past_call(file, back);
    if (record.kind == CallKind::send) count(into.sent, record);
    if (record.kind == CallKind::receive) count(into.received, record);
    if (record.kind == CallKind::collective) put_collective(file, record, into);
  }
  for (const CallRecord& record : file.lasting)
    if (lasts(record) && record.kind == CallKind::collective) put_collective(file, record, into);
  for (const CallRecord& record : file.pending)
    if (record.active != 0 && record.kind == CallKind::collective) put_collective(file, record, into);
}

}  // namespace

Moment moment_of(const CallFile& file) {
  Moment moment{.opened_at = file.opened_at, .calls = file.calls};
  if (file.calls > 0 && is_vain_test(past_call(file, 0))) moment.vain = past_call(file, 0).number;
  std::ranges::transform(file.lasting, moment.began.begin(), &CallRecord::began);
  moment.cairn_begun = begun_of(file);
  return moment;
}

std::string cairn_name(CairnCall call) {
  switch (call) {
    case CairnCall::restore: return "restore()";
    case CairnCall::snapshot: return "snapshot()";
    case CairnCall::wait: return "wait()";
    case CairnCall::finalize: return "finalize()";
    case CairnCall::open_snapshot: return "open_snapshot()";
    case CairnCall::close: return "close() of a snapshot";
    case CairnCall::none: break;
  }
  return "a call of Cairn";
}

std::uint64_t begun_for(const CairnCounts& begun, CairnCall call) {
  return begun.at(static_cast<std::size_t>(call == CairnCall::wait ? CairnCall::snapshot : call));
}

bool is_finalize(const Call& call) { return call.kind == CallKind::other && call.name == "MPI_Finalize"; }

// Since format 3 a file says what it leaves out.
Gap gap_of(const RankCalls& calls, Gap::Cause cause) {
  constexpr std::uint32_t kTellsAll = 3;
  return {calls.format < kTellsAll ? Gap::Cause::older_format : cause, calls.rank};
}

RankCalls condense(const CallFile& file, const std::optional<Moment>& before) {
  RankCalls calls;
  calls.rank = Rank{file.rank};
  calls.format = file.format;
  calls.ranks = file.ranks;
  calls.process = file.process;
  calls.host = host_of(file);
  calls.opened_at = file.opened_at;
  calls.opened = file.opened;
  calls.calls = file.calls;
  calls.requests_left_out = file.requests_left_out;
  calls.comms_left_out = file.comms_left_out;
  calls.calls_left_out = file.calls_left_out;
  calls.forgot = file.calls > CallFile::kPast;
  for (std::size_t i = 0; i < file.comms.size(); ++i) {
    const CommRecord& comm = file.comms[i];
    if (comm.id == 0) continue;
    calls.comms[comm.id] = comm;
    if (file.comm_names[i].front() != '\0') calls.comm_names[comm.id] = file.comm_names[i].data();
  }
  calls.session_comm = file.session_comm;
  put_lasting(file, calls);
  put_cairn(file, calls);
  for (const CallRecord& request : file.pending)
    if (request.kind != CallKind::none && request.active != 0) calls.pending.push_back(call_of(file, request));
  put_past(file, calls);
  for (const MessageRecord& messages : file.messages) {
    const MessageKind kind{messages.comm, messages.peer, messages.tag};
    if (messages.kind == CallKind::send) calls.sends[kind] = messages.count;
    if (messages.kind == CallKind::receive) calls.receives[kind] = messages.count;
  }
  if (file.calls == 0) {
    calls.progressed = before && has_progressed(file, *before);
    return calls;
  }
  const CallRecord& newest = past_call(file, 0);
  calls.newest = call_of(file, newest);
  calls.progressed = before && has_progressed(file, *before);
  const bool asked_again = !before || file.calls != before->calls || newest.number > before->vain;
  calls.polls = !calls.progressed && calls.lasting.empty() && is_vain_test(newest) && asked_again;
  const std::uint64_t since = before && file.calls > before->calls ? file.calls - before->calls : 1;
  if (calls.polls) put_polled(file, since, calls);
  return calls;
}

}  // namespace cairn::hang
