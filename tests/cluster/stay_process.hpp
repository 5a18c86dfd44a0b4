// A process of a job that repairs itself, as a thread: an application rank, a head or a spare. It is a host of the
// product's own steps (rollback/repairs), as repair/resilient is over MPI.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "rollback/helpers.hpp"
#include "rollback/repairs.hpp"
#include "session/session_impl.hpp"
#include "stay_carrier.hpp"
#include "stay_network.hpp"
#include "stay_pool.hpp"
#include "store/memory/memory_store.hpp"
#include "support/faulty_comm.hpp"
#include "support/job.hpp"

namespace cairn::test {

class StayProcess : private rollback::Host {
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
  ~StayProcess() override;

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
  void live(const Application& application);
  [[nodiscard]] Environment environment();
  void open();
  void play(const Application& application);
  void find_place();
  void complete();
  void leave();
  // As the host of repairs.
  [[nodiscard]] bool computes() const override { return place_.member.role == Member::Role::rank; }
  void alarm() override { job_.pool.cut(); }
  [[nodiscard]] bool is_alarmed() override { return job_.pool.is_troubled(); }
  [[nodiscard]] bool vote(bool ok, const std::function<void()>& meanwhile) override;
  [[nodiscard]] bool meet(const rollback::Vote& vote) override;
  void tell_of_failure() override;
  [[nodiscard]] rollback::LoggedRank* rank() override;
  void look_for_obstacles() override {}
  void passes_restore() override {}
  void passes_safe_point() override {}
  [[nodiscard]] bool leave_world() override;
  [[nodiscard]] Status join_world() override;
  [[nodiscard]] Status adopt() override { return {}; }
  [[nodiscard]] Status settle_offer() override;
  void go_on() override;
  [[nodiscard]] Status check_messages() override;
  void begins(const std::string& operation);
  void form_helper_team();
  [[nodiscard]] rollback::Helpers* helpers() override { return helpers_.get(); }

  const Job& job_;
  StayPool::Process number_;
  std::shared_ptr<CommFaultPlan> plan_ = std::make_shared<CommFaultPlan>();
  std::shared_ptr<StoreMemory> memory_ = std::make_shared<StoreMemory>();
  StayPool::Place place_;
  std::unique_ptr<Comm> comm_;  // of the present world
  std::unique_ptr<rollback::Helpers> helpers_;
  rollback::Repairs repairs_{*this};
  std::unique_ptr<Opened> opened_;
  bool has_joined_ = false;  // a repaired world, with its session
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
