// What a rank says to MPI, as it says it: a file of fixed length in its node's store, which the rank writes through a
// mapping, and which others may read at any moment, also while the rank hangs and after it was killed. Plain data in
// the byte order of the machine; the file is for the node that it is on, or for copies of it on a machine of the same
// kind.
//
// Nothing is locked: a record that changes while it is read may come out mixed. What stands still, as in a job that
// hangs, is read right; who reads twice knows what stood still.
//
// Times are nanoseconds of the host's monotonic clock, as coarse as it may be (milliseconds). Ranks are those of the
// session's communicator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace cairn {

inline constexpr std::uint32_t kCallFileFormat = 4;
inline constexpr std::array<char, 8> kCallFileMagic{'C', 'R', 'N', 'C', 'A', 'L', 'L', 'S'};

inline constexpr std::int32_t kAnyPeer = -1;  // MPI_ANY_SOURCE
inline constexpr std::int32_t kNoPeer = -2;   // MPI_PROC_NULL, or a call without one
inline constexpr std::int32_t kAnyTag = -1;   // MPI_ANY_TAG

// What a call is for.
enum class CallKind : std::uint16_t {
  none,        // an empty place
  send,        // to `peer`
  receive,     // from `peer`, which may be kAnyPeer
  probe,       // waits for a message as a receive does, and leaves it
  collective,  // the `number`-th on `comm` of this rank, from 1; `peer`: the root, where there is one
  wait_all,    // until all requests are complete that have this call as their waiter; `number`: how many more it waits
               // for that are not in the file
  wait_any,    // until one of them is; `number`: the same
  test,   // asks after requests, or for a message from `peer`, and does not wait; `number`: how many times in a row
          // without success
  other,  // waits for nobody
  // Since format 3.
  test_all,  // a test that succeeds only when all requests are complete
  opaque,    // may wait; for whom is not recorded
  // Not in files.
  cairn,  // a call of Cairn: `number`: the how-many-th of this rank
};
inline constexpr CallKind kLastCallKind = CallKind::opaque;

// Calls of Cairn, all of which are collective in time.
enum class CairnCall : std::uint32_t {
  none,
  restore,
  snapshot,
  wait,
  finalize,
  // Since format 4.
  open_snapshot,
  close,  // of such a snapshot
};
inline constexpr CairnCall kLastCairnCall = CairnCall::close;
inline constexpr std::size_t kCairnCalls = 7;
inline constexpr std::size_t kOldCairnCalls = 5;
using CairnCounts = std::array<std::uint64_t, kCairnCalls>;  // by CairnCall
[[nodiscard]] inline bool is_test(CallKind kind) { return kind == CallKind::test || kind == CallKind::test_all; }

struct CallRecord {
  std::int64_t began = 0;
  std::int64_t ended = 0;  // 0: it lasts
  std::uint64_t comm = 0;  // a number that all its members have for it; 0: none
  std::uint64_t number =
      0;  // see CallKind; of a message that is under way: the how-many-th of MessageRecord, 0: unknown
  std::uint64_t bytes = 0;    // of the message, or that the rank gives to a collective
  std::uint64_t request = 0;  // of a pending one; 0: none
  std::int32_t peer = kNoPeer;
  std::int32_t tag = kAnyTag;
  std::uint16_t call = 0;  // where its name is in CallFile::names
  CallKind kind = CallKind::none;
  std::uint16_t waiter = 0;  // of a pending request: 1 + the place in `lasting` of the call that waits for it; 0: none
  std::uint16_t active = 0;  // of a pending request: 0 only for a persistent one that has not been started
};
static_assert(sizeof(CallRecord) == 64);

// A communicator of this rank, and how many collectives it has begun there. Once a kind of message on it had no place
// among the counters, none gets one later: each counter that is there has counted from the first message on.
struct CommRecord {
  std::uint64_t id = 0;  // 0: an empty place
  std::uint64_t collectives = 0;
  std::uint32_t size = 0;
  std::uint32_t uncounted = 0;  // 1: a kind of message on it has no counter though there were such messages
};
static_assert(sizeof(CommRecord) == 24);

// How many messages of one kind a rank has begun to send to a peer, or to receive from it.
struct MessageRecord {
  std::uint64_t comm = 0;
  std::uint64_t count = 0;  // 0: not known, since not all were counted
  std::int32_t peer = kNoPeer;
  std::int32_t tag = kAnyTag;
  CallKind kind = CallKind::none;  // send or receive; none: an empty place
  std::uint16_t reserved[3] = {};
};
static_assert(sizeof(MessageRecord) == 32);

// What a rank does in calls of Cairn.
struct CairnRecord {
  std::int64_t began = 0;  // of the call that lasts
  std::int64_t ended = 0;  // of the last one
  CairnCall call = CairnCall::none;
  std::uint32_t reserved = 0;
  std::array<std::uint64_t, kOldCairnCalls> begun{};  // how many of each; see CallFile::begun_since
};
static_assert(sizeof(CairnRecord) == 64);

struct CallFile {
  static constexpr std::size_t kNames = 1024;
  static constexpr std::size_t kNameBytes = 40;
  static constexpr std::size_t kOldNames = 256;
  static constexpr std::size_t kComms = 256;
  static constexpr std::size_t kThreads = 32;
  static constexpr std::size_t kPending = 1024;
  static constexpr std::size_t kPast = 4096;
  static constexpr std::size_t kMessages = 1024;

  std::array<char, 8> magic{};
  std::uint32_t format = 0;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 0;
  std::int32_t process = 0;             // its number on `host`
  std::int64_t opened_at = 0;           // nanoseconds since 1970
  std::int64_t opened = 0;              // the same moment, on the clock of the records
  std::uint64_t calls = 0;              // ended so far; the newest is in past[(calls - 1) % kPast]
  std::uint64_t requests_left_out = 0;  // for which there was no place; format 1: or communicators
  std::array<char, 64> host{};
  std::array<std::array<char, 32>, kOldNames> old_names{};  // formats 1 and 2: the names
  std::array<CommRecord, kComms> comms{};
  std::array<CallRecord, kThreads> lasting{};  // by thread; `ended` is 0 and the kind not none while one lasts
  std::array<CallRecord, kPending> pending{};  // requests, in no order
  std::array<CallRecord, kPast> past{};
  std::array<MessageRecord, kMessages> messages{};  // in no order; see CommRecord for those that have no place
  // Since format 2.
  std::uint64_t comms_left_out = 0;  // for which there was no place
  std::uint64_t calls_left_out = 0;  // that last, of threads for which there was no place
  // Since format 3.
  std::uint64_t session_comm = 0;  // the session's own communicator; 0: not known
  // By place in `comms`: the name that the application has given to it, cut off; each ends with a zero.
  std::array<std::array<char, 32>, kComms> comm_names{};
  std::uint32_t node = 0;  // of the rank
  // The process of the node's head, on the same host; 0: not known, or the head works in the calls of `head_rank`.
  std::int32_t head_process = 0;
  std::int32_t head_rank = kNoPeer;  // in whose process the head is; kNoPeer: a process of its own
  std::uint32_t reserved = 0;
  CairnRecord cairn{};
  std::array<std::array<char, kNameBytes>, kNames> names{};  // of MPI calls; each ends with a zero
  // Since format 4.
  std::array<std::uint64_t, kCairnCalls - kOldCairnCalls> begun_since{};  // the calls that CairnRecord has no place for
};
inline constexpr std::size_t kCallFileBytes1 = offsetof(CallFile, comms_left_out);  // of format 1
inline constexpr std::size_t kCallFileBytes2 = offsetof(CallFile, session_comm);
inline constexpr std::size_t kCallFileBytes3 = offsetof(CallFile, begun_since);

// As characters; the name of a call that has none is "an MPI call".
[[nodiscard]] std::string name_of(const CallFile& file, const CallRecord& record);
[[nodiscard]] std::string host_of(const CallFile& file);
// How many calls of Cairn of this kind the rank has begun.
[[nodiscard]] std::uint64_t& begun_of(CallFile& file, CairnCall call);
[[nodiscard]] CairnCounts begun_of(const CallFile& file);

}  // namespace cairn
