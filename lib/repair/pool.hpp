// The live processes of a job that repairs itself, over MPI, and their roles: application ranks, heads, spares. After a
// failure, all of them meet and form a new pool, in which spares or new processes replace the dead ones (PoolMember).
// This class adds what only a process of MPI has: how the job starts and new processes join, the lifeline, the limits.
//
// Its communicators are never freed (see Lifeline::add).
//
// One thread.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "config/config.hpp"
#include "mpi/host_processes.hpp"
#include "mpi/launcher.hpp"
#include "mpi/lifeline.hpp"
#include "repair/hang_guard.hpp"
#include "repair/mpi_ulfm_comm.hpp"
#include "repair/pool_member.hpp"

namespace cairn {

class Pool {
 public:
  // Collective over `world`: the pool at the start of the job.
  static Result<std::unique_ptr<Pool>> start(MPI_Comm world, const ConfigSource& source);
  // Completes the repair that has started these newcomers. Collective over them.
  static Result<std::unique_ptr<Pool>> join(MPI_Comm newcomers);
  ~Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Launcher& launcher() const { return launcher_; }
  // What all processes know, the same on each, as of the last repair.
  [[nodiscard]] const PoolState& state() const { return member_->life().state; }
  // Of the last meeting, or of that in which this process has joined.
  [[nodiscard]] const PoolVerdict& verdict() const { return member_->life().verdict; }
  [[nodiscard]] bool is_first() const { return member_->life().me == 0; }
  [[nodiscard]] const Member& me() const { return member_->me(); }
  // "process 4711 (rank 2 on node n3)"
  [[nodiscard]] std::string my_name() const;
  // Application ranks in order, then heads; null for a spare. seats() says where each is.
  [[nodiscard]] MPI_Comm world() const { return MpiUlfmComm::raw(member_->life().team.world); }
  [[nodiscard]] std::vector<Seat> seats() const { return seats_of(state(), state().roster); }
  // Of the replacement of the only rank that the last repair found dead, as rank 0, and of spares that can help it to
  // recompute its steps. Null: this process is not one of them.
  [[nodiscard]] MPI_Comm helpers() const { return MpiUlfmComm::raw(member_->life().team.helpers); }
  // All communicators made from world() share it.
  [[nodiscard]] const std::shared_ptr<Lifeline>& lifeline() const { return lifeline_; }
  // Whether all processes were started together, so that MPI_Abort ends all of them. Local.
  [[nodiscard]] bool is_of_one_start() const;

  // See PoolMember. Collective among the application ranks.
  [[nodiscard]] bool all_ranks(bool succeeded, const std::function<void()>& meanwhile = {}) {
    return member_->all_ranks(succeeded, meanwhile);
  }
  // Sleeps until a meeting begins. Calls `meanwhile` again and again.
  void wait_as_spare(const std::function<void()>& meanwhile);
  // Collective among the live processes; to be called once the lifeline is cut, or by a head that has served to the
  // end. Fails when the dead processes cannot be replaced.
  [[nodiscard]] Result<PoolVerdict> meet(const PoolVote& vote);

 private:
  Pool(ConfigSource source, const Config& config)
      : source_(std::move(source)), config_(config), log_(config.log.level) {}

  void settle_head_mode(const Comm& world);
  void become_member(PoolLife life);
  // After a meeting.
  void begin_life();

  // pool_newcomers.cpp, and join()
  void end_strays() const;
  void end_newcomers() const;  // when the start of new processes is stuck
  [[nodiscard]] Buffer news(const PoolState& state) const;
  [[nodiscard]] Result<PoolState> take_news(ByteReader& news);

  ConfigSource source_;  // for newcomers
  Launcher launcher_;
  Config config_;
  Log log_;
  SystemProcesses host_;
  std::unique_ptr<PoolMember> member_;  // null until this process has its place
  std::shared_ptr<Lifeline> lifeline_;
  std::unique_ptr<HangGuard> guard_;
};

}  // namespace cairn
