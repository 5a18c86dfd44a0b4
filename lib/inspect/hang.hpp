// Why a job hangs, or that it does not: what each rank does, which ranks it waits for and why, and which of them are
// to blame. From what the ranks say to MPI (inspect/rank_calls), and what is known of their processes. Pure.
//
// It follows from the records, which know no MPI library's inside: a send that needs no receive does not last, and a
// collective is taken to wait for all of its members. A rank that goes on excuses those that wait for it, and no
// others.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "inspect/rank_calls.hpp"
#include "inspect/wait_graph.hpp"

namespace cairn {

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
  std::optional<bool> used_processor;  // between the readings
};

struct RankReading {
  RankCalls calls;
  ProcessFacts process;
  std::int64_t now = 0;  // of the reading, on the clock of the records
};

enum class Doing { computes, in_call, polls, stopped, dead, left, unseen };

struct RankReport {
  Rank rank;
  Doing doing = Doing::unseen;
  bool progressed = false;  // since the first reading
  double seconds = 0;       // since when it does that
  std::string what;         // "in MPI_Recv from rank 1 (tag 7, …)", "computes"; without the rank and the time
  std::string brief;        // the same without what differs between ranks: "in MPI_Recv"
  std::vector<LastingCall> lasting;
  std::optional<Call> newest;
  std::vector<std::size_t> needs;  // that are not met, places in HangReport::needs
  bool any = false;                // one of the needs will do
  std::optional<Gap> gap;          // why it is not known for what it waits, though it is in a call
  std::int32_t process = 0;
  std::string host;  // empty: not known
};

struct Culprit {
  std::vector<Rank> ranks;           // ascending
  std::string what;                  // a sentence, without the full stop
  std::vector<std::string> reasons;  // of those that wait for each other, a sentence each
  std::vector<Rank> waiting;         // ascending
  double seconds = 0;                // that one of those has waited
  bool certain = false;              // it will not go on by itself
};

enum class Verdict {
  healthy,
  suspect,  // ranks wait for others who may go on: they compute, or were not seen
  hangs,
  over,  // all processes are gone; the culprits are what they waited for at the end
};

struct HangReport {
  Verdict verdict = Verdict::healthy;
  std::string summary;
  std::vector<Culprit> culprits;   // the one for whom most wait first
  std::vector<std::string> notes;  // what else is to be known, a sentence each
  std::vector<RankReport> ranks;   // all of the job, by number
  std::vector<Need> needs;
  std::vector<Rank> unseen;  // for which there is no file
  std::vector<Gap> gaps;     // because of which it is not known whether ranks that have waited long wait at all
};

// At least one reading; of a rank that has several, the newest file's counts. `left`: ranks whose file went away
// between the readings. `after`: seconds that a rank may wait for another before that is called a hang.
[[nodiscard]] HangReport examine(std::vector<RankReading> readings, const std::vector<Rank>& left, double after);

}  // namespace cairn
