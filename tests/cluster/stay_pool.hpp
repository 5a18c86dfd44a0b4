// The live processes of a job that repairs itself, as threads: what a Pool is over MPI. They agree, meet after a
// failure, and what follows is the product's own decision (repair/decision). Thread-safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "comm/thread_comm.hpp"
#include "repair/decision.hpp"
#include "repair/pool_state.hpp"

namespace cairn::test {

class StayPool {
 public:
  // Which process this is, for life.
  using Process = std::uint32_t;

  // `first`: by process. `helpers`: [replay] helpers.
  StayPool(Roster first, HeadMode mode, std::uint32_t helpers);

  // What a process knows after a meeting.
  struct Place {
    Member member;
    Peer peer;  // in the world; not of a spare
    std::shared_ptr<const ThreadWorld> world;
    std::vector<Seat> seats;
    std::vector<std::uint32_t> dead_ranks;  // of the last repair
    std::uint32_t repairs = 0;
    bool all_stay = false;
    bool under_way = false;
  };
  [[nodiscard]] Place place(Process process) const;

  // Nobody gets messages of this world any more.
  void cut();
  // Whether it is cut, or a process that works has died.
  [[nodiscard]] bool is_troubled() const;
  // It dies: nobody gets messages from it any more. Then it has ended, and holds nothing.
  void dies(Process process);
  void has_ended(Process process);

  // Whether all application ranks say so and live. Collective among them. Calls `meanwhile` again and again.
  [[nodiscard]] bool all_ranks(Process process, bool ok, const std::function<void()>& meanwhile);
  enum class Outcome { over, repaired };
  // Collective among the live processes.
  [[nodiscard]] Outcome meet(Process process, const PoolVote& vote);
  // Until a meeting begins. Calls `meanwhile` again and again.
  void wait_as_spare(const std::function<void()>& meanwhile);

  // The replacement of the only rank that the last repair found dead, as member 0, and spares that help it.
  struct Team {
    std::shared_ptr<const ThreadWorld> world;
    std::vector<Process> processes;  // by member
    Peer me;
  };
  // Nothing: it is not one of them.
  [[nodiscard]] std::optional<Team> helpers(Process process) const;
  [[nodiscard]] bool is_dying(Process process) const;

  // Called when is_troubled() may have changed; and by the last who comes to a meeting, before the others go on.
  std::function<void()> on_trouble;
  std::function<void(bool all_stay, std::size_t lost_ranks)> at_meeting;

  // Whether all ranks have rolled back since a rank was lost in catch-ups; and how often they have.
  [[nodiscard]] bool has_lost_in_catch_ups() const;
  [[nodiscard]] std::uint32_t rollbacks() const;
  [[nodiscard]] std::uint32_t repairs() const;

 private:
  struct Agreement {
    std::map<Process, bool> votes;
    std::optional<bool> result;
  };
  [[nodiscard]] bool is_dead(std::uint32_t number) const { return dead_.contains(processes_[number]); }
  [[nodiscard]] std::uint32_t number_of(Process process) const;
  void settle_agreements();
  void settle_meeting();
  void begin_life();
  [[nodiscard]] bool has_trouble() const;
  // Calls `meanwhile`, if there is one, without the lock.
  void wait_until(const std::function<bool()>& done, const std::function<void()>& meanwhile,
                  std::unique_lock<std::mutex>& guard);

  HeadMode mode_;
  std::uint32_t most_helpers_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  PoolState state_;                   // by number among the processes that have met last
  std::vector<Process> processes_;    // the same
  std::vector<std::uint32_t> world_;  // the numbers of its members
  std::shared_ptr<const ThreadWorld> comms_;
  Team team_;
  bool cut_ = false;
  std::set<Process> dying_;
  std::set<Process> dead_;
  std::vector<Agreement> agreements_;
  std::map<Process, std::size_t> agreed_;  // how many each has taken part in
  std::map<Process, PoolVote> votes_;
  std::uint64_t meetings_ = 0;
  bool over_ = false;
  bool all_stay_ = false;
  bool lost_in_catch_ups_ = false;
  std::vector<std::uint32_t> dead_ranks_;
  std::uint32_t rollbacks_ = 0;
};

}  // namespace cairn::test
