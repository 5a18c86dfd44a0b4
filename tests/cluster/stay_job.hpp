// A job of threads in which only the lost ranks roll back: it plays a Program, and its processes die where the test
// wants. Its nodes keep their stores.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "replay/program.hpp"
#include "stay_process.hpp"

namespace cairn::test {

struct StaySetting {
  std::uint32_t nodes = 2;
  std::uint32_t ranks_per_node = 2;
  bool has_heads = true;              // a process for each node; otherwise a rank does its work in its calls
  std::vector<std::uint32_t> spares;  // the node of each
  std::string settings;               // more lines of the INI file
  std::uint32_t rounds = 2;           // of the program after restore(), and up to 3 more
  std::uint32_t longer = 1;           // messages are so many times longer than in the program
  // What ranks do after restore(). A replacement does it again, which the dead rank did not in the same step.
  enum class AfterRestore { nothing, exchange, send } after_restore = AfterRestore::nothing;
  bool may_roll_back = false;                             // all ranks, since logs fill, or a replacement diverges
  std::optional<std::uint32_t> lost_node = std::nullopt;  // it loses its store when a process has died
  std::uint32_t helpers = 1;                              // who recompute the steps of a lost rank; see part_computer()
  std::uint64_t seed = 0;
};

// By process, the operation at which it dies. Processes are ranks and then the head, node by node, and spares.
using Deaths = std::map<StayPool::Process, std::uint64_t>;
// One dies when another one begins so many operations of its application.
struct Strike {
  StayPool::Process when = 0;
  std::uint64_t begins = 0;
  StayPool::Process dies = 0;
};

class StayJob {
 public:
  StayJob(const Program& program, StaySetting setting);

  struct Outcome {
    std::map<std::uint32_t, std::uint64_t> results;  // what each rank has computed
    std::string fault;                               // what was wrong; empty: nothing
    std::vector<std::uint64_t> operations;           // that each process has begun
    std::vector<std::uint64_t> restored_at;          // how many when it left restore(); 0: it has not
    std::vector<std::uint64_t> ended_at;             // the same of its application
    std::uint32_t deaths = 0;
    std::uint32_t repairs = 0;
    std::uint32_t rollbacks = 0;   // repairs after which all ranks have rolled back
    std::uint32_t recomputed = 0;  // how often a replacement and helpers have recomputed steps
    bool lost_in_catch_ups = false;
    bool diverged = false;  // a replacement did again what ranks do after restore()
  };
  // To be called once.
  Outcome run(const Deaths& deaths, const std::optional<Strike>& strike = {});

  // By process.
  [[nodiscard]] static Roster roster_of(const StaySetting& setting);

 private:
  void application(JobSession& session, StayCarrier& carrier, const std::function<void()>& has_restored);
  void take_snapshot(JobSession& session, std::uint64_t number);
  void refill(JobSession& session, StayCarrier& carrier);
  void note_state(std::uint32_t rank, std::size_t at, std::uint64_t state);
  void wrong(std::string what);
  [[nodiscard]] Outcome outcome_of(const StayPool& pool, const std::vector<std::unique_ptr<StayProcess>>& processes);

  const Program& program_;
  StaySetting setting_;
  Roster roster_;
  StayNetwork network_;
  std::vector<std::shared_ptr<MemoryStore>> stores_;
  std::mutex mutex_;
  std::map<std::uint32_t, std::uint64_t> results_;
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint64_t> states_;  // by rank and operation that it has made
  // By snapshot of the program: what it has answered to each rank.
  std::map<std::uint64_t, std::map<std::uint32_t, std::optional<std::uint32_t>>> versions_;
  std::set<std::uint32_t> restored_;  // ranks that have left restore(), or stayed since
  bool may_roll_back_ = false;        // a process died before all had, or what is needed is not known
  bool diverged_ = false;
  std::string fault_;
};

}  // namespace cairn::test
