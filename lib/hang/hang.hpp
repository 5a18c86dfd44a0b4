// Why a job hangs, or that it does not: what each rank does, which ranks it waits for and why, and which of them are
// the cause. From the MPI calls that the ranks record (hang/rank_calls), and what is known of their processes. Facts
// only: hang/words and hang/report_text make sentences of them. Pure.
//
// It follows from the records, which contain nothing of the inside of an MPI library. A send that needs no receive does
// not last. A collective is assumed to wait for all of its members. A rank that continues excuses the ranks that wait
// for it, and no others.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "hang/need.hpp"
#include "hang/rank_calls.hpp"
#include "hang/wait_graph.hpp"

namespace cairn::hang {

// How many seconds a rank may wait for another.
struct Patience {
  double certain = 10;  // if none of them can continue by itself
  double likely = 600;  // if they may: they compute, or it is not known what they wait for
};

struct ProcessFacts {
  enum class State {
    unknown,  // it is on another host
    runs,
    sleeps,
    waits_for_disk,
    stopped,  // by a signal or a debugger
    dead,
  };
  State state = State::unknown;
  std::optional<bool> used_processor = {};  // between the readings
};

struct RankReading {
  RankCalls calls;
  ProcessFacts process;
  std::int64_t now = 0;    // of the reading, on the clock of the records
  ProcessFacts head = {};  // of its node, if that is a process of its own
};

enum class Doing {
  computes,  // or is in a call that is not recorded
  idles,     // the same, without using processor time
  in_call,
  polls,  // tests or probes again and again without success
  stopped,
  dead,
  left,    // it has ended MPI
  unseen,  // it has no file
};

struct RankReport {
  Rank rank;
  Doing doing = Doing::unseen;
  bool progressed = false;  // since the first reading
  double seconds = 0;       // since when it does that
  std::vector<LastingCall> lasting;
  std::optional<Call> newest;
  std::vector<Call> polled;        // what it tests or probes for
  std::vector<std::size_t> needs;  // that are not met, places in HangReport::needs
  bool any = false;                // one of the needs will do
  std::optional<Gap> gap;          // why it is not known for what it waits, though it is in a call
  std::int32_t process = 0;
  std::string host;  // empty: not known
  ProcessFacts facts;

  // The call that lasts longest; null: the rank is in no call.
  [[nodiscard]] const LastingCall* longest() const;
};

// The head of a node that is a process of its own.
struct HeadReport {
  NodeId node;
  Doing doing = Doing::computes;
  std::int32_t process = 0;
  std::string host;
  ProcessFacts facts;
};

// Why ranks wait.
enum class Cause {
  circle,               // the ranks wait for each other
  collective_mismatch,  // the ranks entered a collective with another call or root than most
  left_out,             // the ranks made no such call of Cairn before the collective that they are in; others did
  stopped,              // the ranks are stopped
  dead,                 // the ranks are dead
  left,                 // the ranks have ended MPI
  unseen,               // the ranks have no file
  computes,             // the ranks compute, or are in a call that is not recorded
  idles,                // the same, without using processor time
  in_call,              // the ranks are in a call for which no other rank is missing
  polls,                // the ranks test or probe without success
  unrecorded,           // the ranks are in a call, and the records do not say for what it waits
  all_stopped,          // all ranks of the job are stopped
};

// Ranks or heads, and that others wait because of them.
struct Finding {
  Cause cause{};
  Certainty certainty = Certainty::certain;
  std::vector<Rank> ranks;          // ascending; neither ranks nor heads: all
  std::vector<NodeId> heads = {};   // of these nodes, ascending
  std::optional<Call> call = {};    // that they are in; outside of all calls: the last one
  std::optional<std::size_t> need;  // for which others wait for them, if it is one and the same
  std::vector<Step> circle = {};    // with the need of each step
  std::vector<Rank> waiting = {};   // ascending
  double waited_seconds = 0;        // by the one of those that has waited longest
  double since_seconds = 0;         // they have done what they do for so long
};

// What else is to be known.
struct Note {
  enum class Cause {
    more_circles,  // than there are findings
    dead,
    stopped,
    left,
    head_dead,
    head_stopped,
    unseen,
    waits_for_heads,  // they are in a call of Cairn for which no rank is missing
    waits_for_mpi,    // they are in a call for which no rank is missing
  };
  Cause cause{};
  std::vector<Rank> ranks = {};  // ascending
  std::vector<NodeId> heads = {};
};

enum class Verdict {
  healthy,
  waits,    // ranks wait for others that may continue, as in many healthy jobs
  suspect,  // the same, for longer than `Patience::likely`
  hangs,
  over,  // all processes are gone; the findings are about what they did at the end
};

// What is known of a communicator beside its number.
struct CommFacts {
  std::string name = {};  // that the application has given to it; empty: none
  bool is_session = false;
  bool is_unique = true;  // no other one has this name
};

struct HangReport {
  Verdict verdict = Verdict::healthy;
  Patience patience;
  std::vector<Finding> findings;  // of longer waits than `Patience::certain`; the one because of which most wait first
  std::vector<Note> notes;
  std::vector<RankReport> ranks;  // all of the job, by number
  std::vector<HeadReport> heads;  // that are seen, by node
  std::vector<Need> needs;
  std::map<std::uint64_t, CommFacts> comms;  // of those about which more than their number is known
  std::vector<Rank> unseen;                  // for which there is no file
  std::vector<Gap> gaps;  // the reasons why it is unknown whether ranks that have waited long wait at all
};

// At least one reading; of a rank that has several, the newest file's counts. `left`: ranks whose file went away
// between the readings.
[[nodiscard]] HangReport examine(std::vector<RankReading> readings, const std::vector<Rank>& left,
                                 const Patience& patience);

}  // namespace cairn::hang
