// What application ranks and their head say to each other: small messages over the control Comm, each a
// type byte and its fields. Encoding and decoding are one description per message. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "comm/comm.hpp"
#include "format/job_costs.hpp"
#include "format/notes.hpp"
#include "recover/destinations.hpp"

namespace cairn {

inline constexpr Tag kToHead{1};
inline constexpr Tag kToRank{2};
inline constexpr Tag kToFaultDesk{3};  // localize/codec
inline constexpr Tag kHeartbeat{4};    // engine/heartbeats

// From a rank to its head.
struct Hello {  // the rank is ready; or why it cannot take part
  std::optional<Error> error;
  std::int32_t process = 0;  // of the rank, on its host; 0: not known
};
struct Seal {  // a shard is written; or why not
  Version version;
  std::uint64_t safe_point = 0;
  LevelSet levels;
  std::uint64_t bytes = 0;
  std::optional<Error> error;
  SnapshotNotes notes = {};
  bool pin = false;  // it stays in the global store
  Destinations destinations = {};
};
// The call in which a rank waits for the heads: they answer it when nothing is under way any more.
enum class SettledCall : std::uint8_t { restore = 1, open, close };
struct RestoreRequest {
  Version version = {};    // that was chosen; 0: the newest, or by its label
  std::string label = {};  // the same; empty: by its version
  // Whether it is the first restore of the application, which it repeats in each life; see Choice.
  bool at_start = false;
  bool again = false;  // also if it was the last to be chosen at a start
  SettledCall call = SettledCall::restore;
  bool rejects = false;  // close(): the program cannot use that version
};
struct Resized {  // the restore resized containers of a rank: the first of them, and how many more
  std::string name;
  std::uint64_t elements_before = 0;
  std::uint64_t elements_now = 0;
  std::uint32_t more = 0;
};
struct RestoreResult {  // what was offered is restored; or why not
  std::optional<Error> error;
  std::optional<Resized> resized;
  std::vector<Rank> damaged;     // offered shards that cannot be read, by their ranks: plan again without them
  std::uint64_t sent_bytes = 0;  // by this rank, to ranks of other nodes
  bool completes = false;    // the rank has objects or files, for the time when all ranks have read the same snapshot
  bool same_on_all = false;  // all ranks have this error
  Destinations destinations = {};  // of the rank's files, should the snapshot reach the global store again
};
struct FinalizeRequest {
  Version version;          // the last that the rank has used
  std::uint64_t calls = 0;  // of snapshot()
  bool keep_going = false;  // the job will go on later, whatever at_end says
  // Both leave everything as it is, for a start that can do better.
  bool abandoned = false;  // the rank has left: see RankLeft
  bool undefined = false;  // a restore has failed
  bool ended_mpi = false;  // how it has left
};
struct Waits {  // the rank is in this call: for a long time, or because it was asked
  std::string call;
  std::uint32_t seconds = 0;
  bool asked = false;
};
struct Suspected {   // the application suspects this rank or its node
  std::string text;  // plain
};
struct Dropped {  // the rank does not read this snapshot any more, which it had open
  Identity snapshot;
};
// From a head to other heads, and to ranks.
struct RankLeft {  // the rank ended its session without the others: later snapshots cannot be completed
  Rank rank;
  NodeId node;
  Version version;          // the last that the rank has used
  std::uint64_t calls = 0;  // of snapshot()
  bool ended_mpi = false;   // by calling MPI_Finalize; otherwise it dropped its session
};
// From a head to other heads.
struct HeadGone {  // nobody acts for its node any more
  std::string why;
};
struct Inquire {  // to head 0: for whom does this rank wait?
  Rank rank;
  std::string call;
  std::uint32_t seconds = 0;
};
struct Ask {};    // who is in a Cairn call; also to ranks
struct NotHere {  // to head 0: these ranks of the node are not
  std::vector<std::uint32_t> ranks;
};
struct AvoidNodes {  // these nodes are sick: others are to keep nothing there
  std::vector<std::uint32_t> nodes;
};
struct Missing {  // for whom the job waits, in words; also to ranks
  std::string text;
};
// `JobCosts`: what the job has measured so far, to be kept.
using ToHead = std::variant<Hello, Seal, RestoreRequest, RestoreResult, FinalizeRequest, JobCosts, Waits, HeadGone,
                            Inquire, Ask, NotHere, Missing, RankLeft, Suspected, AvoidNodes, Dropped>;

// From a head to its ranks.
struct Opened {
  Incarnation incarnation;
  RunId run;
  Version last_version;  // the highest seen; the next snapshot is one more
  LevelSet usable;
  std::uint32_t slots = 0;           // snapshots of one rank that may be in its store at once
  std::optional<JobCosts> measured;  // by earlier lives
  std::optional<Error> error;
  std::int32_t process = 0;  // of the head, on the host; 0: not known
};
struct Reached {  // a version is safe at a level
  Version version;
  LevelId level = LevelId::local;
  std::chrono::microseconds took{0};  // the head's time for raising it there; 0: not known
};
struct Failed {  // a version will not be safe at these levels
  Version version;
  LevelSet levels;
  Error error;
};
struct Retired {  // a version's shards are gone, or count no longer: a slot is free
  Version version;
};
struct OfferedShard {
  Rank rank;           // of the snapshot
  bool aside = false;  // see level/level: home_of()
};
struct Offer {  // what there is to restore
  bool fresh = true;
  Identity snapshot;
  LevelId level = LevelId::local;         // where this rank's first shard came from
  std::string source;                     // of all of them
  std::vector<std::uint32_t> ranks_from;  // by level
  std::vector<std::string> lost_nodes;
  double seconds = 0;
  std::uint32_t old_ranks = 0;       // of the snapshot
  std::vector<OfferedShard> shards;  // this rank's; where the job has as many ranks as the snapshot, its own
  std::vector<OfferedShard> beside;  // those of other ranks of the node, which this rank can read, too
};
struct RestoreDone {
  Version last_version;             // the highest that any rank has used: the next snapshot is one more, on all of them
  std::uint32_t resized_ranks = 0;  // of the job: ranks with containers that the restore resized
  std::optional<Error> error;
  LevelSet next = {};             // levels for which the next call takes a snapshot, due or not
  std::uint64_t moved_bytes = 0;  // from node to node, for the whole job
  bool completes = false;         // some ranks of the job load objects or put files back now
  SnapshotNotes notes = {};       // of the restored snapshot
  bool rejected = false;          // close(): by some rank
};
struct Finalized {
  std::optional<Error> error;
};
struct Trouble {  // an error of background work that belongs to no version
  Error error;
};
struct Acknowledged {};  // the head knows that the rank waits
struct SnapshotNow {     // all ranks take a snapshot as soon as they have agreed on it: a node is in danger
  LevelId level = LevelId::partner;
};
using ToRank = std::variant<Opened, Reached, Failed, Retired, Offer, RestoreDone, Finalized, Trouble, Acknowledged, Ask,
                            Missing, RankLeft, SnapshotNow>;

// "restore()".
[[nodiscard]] const char* text_of(SettledCall call);
// Whether the code says that a store failed, here or elsewhere, and not that a call was wrong: then the job can go on.
[[nodiscard]] bool fails_for_storage(Code code);
// Why a call that needs this rank cannot succeed.
[[nodiscard]] Error error_of(const RankLeft& left);
// Who has left and how, as a word that heads reduce by maximum; 0: nobody. Inverse pair, but for version and calls.
[[nodiscard]] std::uint64_t to_word(const RankLeft& left);
[[nodiscard]] std::optional<RankLeft> left_of_word(std::uint64_t word);

// Inverse pairs.
[[nodiscard]] Buffer encode(const ToHead& message);
[[nodiscard]] Result<ToHead> decode_to_head(Bytes bytes);
[[nodiscard]] Buffer encode(const ToRank& message);
[[nodiscard]] Result<ToRank> decode_to_rank(Bytes bytes);

}  // namespace cairn
