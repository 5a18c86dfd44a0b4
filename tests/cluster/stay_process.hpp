// A process of a job that repairs itself, as a thread: an application rank, a head or a spare, which follows the same
// steps as repair/resilient and mpi/session do over MPI.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "session/session_impl.hpp"
#include "stay_carrier.hpp"
#include "stay_network.hpp"
#include "stay_pool.hpp"
#include "store/memory/memory_store.hpp"
#include "support/faulty_comm.hpp"
#include "support/job.hpp"

namespace cairn::test {

class StayProcess {
 public:
  // What all processes of a job share. Stores are by node.
  struct Job {
    Config config;
    StayPool& pool;
    StayNetwork& network;
    const std::vector<std::shared_ptr<MemoryStore>>& stores;
    std::shared_ptr<MemoryStore> global;
    std::uint64_t seed = 0;
    ComputePart compute_part;        // empty: no helpers
    std::function<void()> on_death;  // just before a process dies
    // A process begins so many operations of its application, votes and meetings.
    std::function<void(StayPool::Process process, std::uint64_t count)> on_begin;
    std::function<void(Rank rank)> on_stayed;  // a survivor continues its call
  };
  // May throw the exceptions of a session and of the carrier.
  using Application = std::function<void(JobSession& session, StayCarrier& carrier)>;
  // It dies at the `death`-th of its operations: messages, calls of its Comms, votes, meetings.
  StayProcess(const Job& job, StayPool::Process number, std::uint64_t death);

  // It dies now, whatever it does. Called by another thread.
  void strike();
  // Until the job is over, or this process dies.
  void run(const Application& application);

  // What went wrong, if it is not a failure of another process.
  [[nodiscard]] const std::optional<std::string>& error() const { return error_; }
  // Why this process made all ranks roll back; for people.
  [[nodiscard]] const std::string& obstacle() const { return obstacle_; }
  [[nodiscard]] std::uint64_t operations() const { return plan_->operations; }
  // How many there were when it left restore(), which its application tells, and when that ended; 0: neither.
  [[nodiscard]] std::uint64_t restored_at() const { return restored_at_; }
  [[nodiscard]] std::uint64_t ended_at() const { return ended_at_; }
  // How often helpers have computed for it.
  [[nodiscard]] std::uint32_t recomputed() const { return recomputed_; }
  void has_restored() { restored_at_ = plan_->operations; }
  [[nodiscard]] bool has_died() const { return plan_->failing; }

 private:
  struct Died {};
  struct Opened;
  enum class Left { no, voted, met };

  void live(const Application& application);
  [[nodiscard]] Environment environment();
  [[nodiscard]] std::unique_ptr<Opened> open();
  void play(std::unique_ptr<Opened> opened, const Application& application);
  void join_world();
  void complete(Opened& opened);
  [[nodiscard]] bool all_finished(Opened& opened);
  void roll_back(std::unique_ptr<Opened> opened);
  [[nodiscard]] bool stays(Opened& opened);
  [[nodiscard]] bool stay(Opened& opened);
  [[nodiscard]] Status enter_world(Opened& opened);
  [[nodiscard]] bool all_ranks(bool ok, const std::function<void()>& meanwhile = {});
  [[nodiscard]] std::function<void()> impatience(Opened& opened);
  [[nodiscard]] bool settled(bool ok);
  void vote_and_meet();
  void meet();
  void begins(const std::string& operation);
  void form_helper_team();
  void help();
  [[nodiscard]] decltype(MessageHooks::recompute) recompute();

  const Job& job_;
  StayPool::Process number_;
  std::shared_ptr<CommFaultPlan> plan_ = std::make_shared<CommFaultPlan>();
  std::shared_ptr<StoreMemory> memory_ = std::make_shared<StoreMemory>();
  StayPool::Place place_;
  std::unique_ptr<Comm> comm_;  // of the present world
  std::unique_ptr<Comm> helper_comm_;
  std::unique_ptr<replay::HelperTeam> helpers_;
  StayPool::Presence presence_;
  Left left_ = Left::no;
  bool over_ = false;
  bool done_ = false;
  bool under_way_ = false;
  std::optional<std::string> error_;
  std::string obstacle_;
  std::uint64_t begun_ = 0;
  std::uint64_t restored_at_ = 0;
  std::uint64_t ended_at_ = 0;
  std::uint32_t recomputed_ = 0;
};

}  // namespace cairn::test
