// What a rank's file of calls (format/call_record) says about it, in a small form that is easy to search. The files of
// thousands of ranks would not fit into memory twice. Pure.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "format/call_record.hpp"
#include "hang/gap.hpp"

namespace cairn::hang {

// Which of its requests a call completes, or asks after.
enum class Completes {
  nothing,
  any,  // one of them, or at least one: MPI_Waitany, MPI_Waitsome
  all,
};

// A record of the file with its name as text.
struct Call {
  std::string name;
  CallKind kind = CallKind::none;
  Completes completes = Completes::nothing;
  CairnCall cairn = CairnCall::none;  // of kind cairn
  std::int64_t began = 0;
  std::int64_t ended = 0;
  std::uint64_t comm = 0;
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::uint64_t request = 0;
  std::int32_t peer = kNoPeer;
  std::int32_t tag = kAnyTag;
};

// Whether it waits for a message.
[[nodiscard]] inline bool is_receive(const Call& call) {
  return call.kind == CallKind::receive || call.kind == CallKind::probe;
}
[[nodiscard]] inline bool is_message(const Call& call) { return is_receive(call) || call.kind == CallKind::send; }
[[nodiscard]] inline bool is_cairn(const Call& call) { return call.kind == CallKind::cairn; }
// The call that ends MPI for a rank.
[[nodiscard]] bool is_finalize(const Call& call);
// Whether it is known for what the call waits.
[[nodiscard]] inline bool is_understood(const Call& call) {
  return (call.kind != CallKind::other && call.kind != CallKind::opaque) || is_finalize(call);
}

// A call that a thread is in, and the requests that it waits for.
struct LastingCall {
  Call call;
  std::vector<Call> requests;
  std::uint64_t other_requests = 0;  // that it waits for as well, and that the file does not have
};

// Messages of one kind: those that a rank has sent to `peer`, or received from it.
struct MessageKind {
  std::uint64_t comm = 0;
  std::int32_t peer = kNoPeer;
  std::int32_t tag = kAnyTag;
  friend auto operator<=>(const MessageKind&, const MessageKind&) = default;
};
struct MessageCount {
  std::uint64_t count = 0;
  std::int64_t last = 0;  // when the last one ended
};

// As which call, and with which root, a rank has entered a collective.
struct Entered {
  std::string name;
  std::int32_t root = kNoPeer;
  friend auto operator<=>(const Entered&, const Entered&) = default;
};

// What is kept of an earlier reading, to see what has moved since.
struct Moment {
  std::int64_t opened_at = 0;
  std::uint64_t calls = 0;
  std::uint64_t vain = 0;  // how often the newest call, a test, had no success
  std::array<std::int64_t, CallFile::kThreads> began{};
  CairnCounts cairn_begun{};
};
// "snapshot()"
[[nodiscard]] std::string cairn_name(CairnCall call);
// How many calls of this kind a rank has begun that takes part in what the call waits for: wait() is for snapshots.
[[nodiscard]] std::uint64_t begun_for(const CairnCounts& begun, CairnCall call);
[[nodiscard]] Moment moment_of(const CallFile& file);

struct RankCalls {
  Rank rank;
  std::uint32_t format = 0;  // of the file
  std::uint32_t ranks = 0;   // of the job
  std::int32_t process = 0;
  std::string host;
  std::int64_t opened_at = 0;
  std::int64_t opened = 0;
  std::uint64_t calls = 0;
  CairnCounts cairn_begun{};     // of each call of Cairn
  std::int64_t cairn_ended = 0;  // the last one
  std::uint32_t node = 0;
  std::int32_t head_process = 0;     // see CallFile
  std::int32_t head_rank = kNoPeer;  // see CallFile
  bool forgot = false;               // it has made more calls than its file keeps

  // For which its file had no place: so far, and, of calls, those that last.
  std::uint64_t requests_left_out = 0;
  std::uint64_t comms_left_out = 0;
  std::uint64_t calls_left_out = 0;

  std::map<std::uint64_t, CommRecord> comms;
  std::map<std::uint64_t, std::string> comm_names;  // of those to which the application has given one
  std::uint64_t session_comm = 0;                   // 0: not known
  std::vector<LastingCall> lasting;                 // tests excluded, which do not last
  std::vector<Call> pending;                        // requests that were started
  std::optional<Call> newest;                       // of those that ended

  // Since the earlier reading: it began or ended calls other than tests without success.
  bool progressed = false;
  // Since then it did nothing but ask without success, for these; not known for which: empty.
  bool polls = false;
  std::int64_t polls_since = 0;
  std::vector<Call> polled;

  // Messages begun since the communicator is there; 0: it is not known how many.
  std::map<MessageKind, std::uint64_t> sends;
  std::map<MessageKind, std::uint64_t> receives;

  // Of the calls that the file still has.
  std::map<MessageKind, MessageCount> sent;
  std::map<MessageKind, MessageCount> received;                            // peer kAnyPeer: taken from any source
  std::map<std::pair<std::uint64_t, std::uint64_t>, Entered> collectives;  // by communicator and number
};

// Of a rank whose file does not say something for this cause, or since it is of an older format.
[[nodiscard]] Gap gap_of(const RankCalls& calls, Gap::Cause cause);

// None: there is no earlier reading, and nothing counts as progress.
[[nodiscard]] RankCalls condense(const CallFile& file, const std::optional<Moment>& before);

}  // namespace cairn::hang
