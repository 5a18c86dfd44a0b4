// A job of threads that repairs itself by Cairn's own PoolMember and PoolMeeting: ranks agree that they have finished,
// heads and spares wait, and all meet after a failure. What each process has come to is compared with the others.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "repair/pool_member.hpp"
#include "support/thread_ulfm.hpp"

namespace cairn::test {

class MeetingJob {
 public:
  using Process = ThreadJob::Process;
  struct Plan {
    std::vector<std::string> hosts;  // by process
    std::vector<std::uint32_t> nodes;
    HeadMode mode = HeadMode::rank;
    Config config;
    std::uint64_t seed = 1;
    std::map<Process, std::uint64_t> deaths = {};  // at which own operation
    std::set<Process> stragglers = {};             // that come to no meeting
    std::set<Process> late = {};                   // that do nothing until others have come to the first one
    std::set<Process> hidden = {};                 // whose death is not reported
    std::set<Process> obstructed = {};             // that cannot stay in their calls, and know why
    std::set<std::string> sick = {};               // nodes that process 0 alone knows to be sick
    std::optional<std::string> full_host = {};
    bool loses_agreements = false;
  };
  // What all processes that have ended alive have come to.
  struct Outcome {
    std::set<std::string> endings;                   // "the job is over", or the code of an error
    std::string trouble;                             // what went wrong; empty: nothing
    PoolState state;                                 // the last one
    std::map<std::uint32_t, bool> lost;              // by repair: whether only the lost ranks roll back
    std::map<std::uint32_t, std::uint32_t> reasons;  // by repair: how many give the reason why not
    std::map<Process, std::uint64_t> operations;
    std::set<Process> dead;  // that have not ended
  };
  // [recovery] mode = spares, so many.
  [[nodiscard]] static Config with_spares(std::uint32_t spares);
  [[nodiscard]] static Config with_newcomers();

  explicit MeetingJob(Plan plan);
  [[nodiscard]] Outcome run();

 private:
  // What a meeting has come to, the same on all.
  struct Result {
    Buffer state;
    std::vector<std::int32_t> processes;
    bool only_lost = false;
    friend bool operator==(const Result&, const Result&) = default;
  };
  void live(Process me, UlfmComm::Ptr comm);
  [[nodiscard]] cairn::Result<PoolLife> begin(Process me, UlfmComm::Ptr comm, const PoolMeeting::Means& means);
  [[nodiscard]] bool work(PoolMember& member) const;
  [[nodiscard]] bool has_whole_world(const PoolLife& life) const;
  void comes(std::uint32_t repairs);
  void wait_for_others();
  void note(Process me, const PoolLife& life);
  void ends(Process me, const std::string& how);
  void wrong(const std::string& what);

  Plan plan_;
  ThreadJob job_;
  PoolState first_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::set<Process>> dead_before_;  // by repair
  std::map<std::uint32_t, Result> results_;                 // the same
  std::map<Process, std::string> endings_;
  Outcome outcome_;
};

}  // namespace cairn::test
