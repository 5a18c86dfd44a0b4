// The live processes of a job that repairs itself, and their roles: application ranks, heads, spares. After a failure,
// all of them meet and form a new pool, in which spares replace the dead processes.
//
// How all processes get to the meeting: a process that detects a failure, or finishes, revokes the pool's communicator,
// which all watch. Every repair ends in an agreement: either all survivors have the new pool, or none has it. Then they
// try again without the processes that died meanwhile.
//
// Its communicators are never freed (see Lifeline::add).
//
// One thread.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cairn/failure_topology.hpp>

#include "base/error.hpp"
#include "base/log.hpp"
#include "config/config.hpp"
#include "mpi/launcher.hpp"
#include "mpi/lifeline.hpp"
#include "mpi/process.hpp"
#include "mpi/ulfm_comm.hpp"
#include "repair/hang_guard.hpp"
#include "repair/mpi_ulfm_comm.hpp"
#include "repair/muster.hpp"
#include "repair/roles.hpp"
#include "repair/watchdog.hpp"
#include "rollback/host.hpp"
#include "topology/sick_names.hpp"

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
  [[nodiscard]] bool is_first() const { return me_ == 0; }
  [[nodiscard]] const Member& me() const { return roster_[me_]; }
  // "process 4711 (rank 2 on node n3)"
  [[nodiscard]] std::string my_name() const;
  [[nodiscard]] const Launcher& launcher() const { return launcher_; }
  // Application ranks in order, then heads; null for a spare. seats() says where each is.
  [[nodiscard]] MPI_Comm world() const { return MpiUlfmComm::raw(team_.world); }
  [[nodiscard]] std::vector<Seat> seats() const;
  // Of the replacement of the only rank that the last repair found dead, as rank 0, and of spares that can help it to
  // recompute its steps. Null: this process is not one of them.
  [[nodiscard]] MPI_Comm helpers() const { return MpiUlfmComm::raw(team_.helpers); }
  // All communicators made from world() share it.
  [[nodiscard]] const std::shared_ptr<Lifeline>& lifeline() const { return lifeline_; }
  // The dead ranks and lost nodes of the last repair.
  [[nodiscard]] const FailureTopology& failures() const { return failures_; }
  // The number of repairs, and how many of the latest ones in a row found no dead process.
  [[nodiscard]] std::uint32_t repairs() const { return repairs_; }
  [[nodiscard]] std::uint32_t repairs_without_effect() const { return repairs_without_effect_; }
  // The number of repairs since the application last restored a newer snapshot than ever before.
  [[nodiscard]] std::uint32_t repairs_without_progress() const { return repairs_without_progress_; }
  // Notes the snapshot that the application of this process has restored, for the next meeting. Local.
  void went_on_from(std::uint32_t version) { restored_ = std::max(restored_, version); }
  // At the next meeting, this process will request the end of the job. Local.
  void give_up() { gives_up_ = true; }
  // Whether any process has requested it. The same on all after a meeting.
  [[nodiscard]] bool gives_up() const { return gives_up_; }
  // Whether all processes were started together, so that MPI_Abort ends all of them. Local.
  [[nodiscard]] bool is_of_one_start() const;
  // Whether the application of a survivor was under way. Known after a meeting.
  [[nodiscard]] bool under_way() const { return under_way_; }

  // Whether all application ranks succeeded. Collective among them, when each has finished with a session by success or
  // failure, and once more when all succeeded. Calls `meanwhile` again and again, if there is one.
  [[nodiscard]] bool all_ranks(bool succeeded, const std::function<void()>& meanwhile = {});
  // Sleeps until a meeting begins. Calls `meanwhile` again and again.
  void wait_as_spare(const std::function<void()>& meanwhile);

  // What this process tells the others at a meeting.
  struct Vote {
    bool done = false;       // all application ranks have finished, so the job is over
    bool under_way = false;  // see above
    rollback::Vote rollback = {};
    SickNames sick = {};  // nodes that it knows to be sick: spares there are used last
  };
  // What follows; but for gives_reason the same on all.
  struct Verdict {
    bool over = false;
    // All surviving application ranks can stay in their calls, and no rank has died in too many catch-ups.
    bool only_lost_roll_back = false;
    // This process is the first of those that know why all roll back; if nobody does, of those that have seen
    // something.
    bool gives_reason = false;
  };
  // Of the last meeting, or of that in which this process has joined.
  [[nodiscard]] const Verdict& verdict() const { return verdict_; }
  // Collective among the live processes; to be called once the lifeline is cut, or by a head that has served to the
  // end. Fails when the dead processes cannot be replaced.
  [[nodiscard]] Result<Verdict> meet(const Vote& vote);

 private:
  using Weight = rollback::Obstacle::Weight;
  // The communicators of one life.
  struct Team {
    UlfmComm::Ptr world;
    UlfmComm::Ptr ranks;  // the application ranks of it, for their agreements
    UlfmComm::Ptr helpers;
    UlfmComm::Ptr alarm;  // all of the pool; a process that detects a repair revokes it
  };
  // Members that are gone although MPI has not reported their death, by number, and since when.
  struct UnknownDeaths {
    std::chrono::steady_clock::time_point next_look;
    std::map<std::uint32_t, std::chrono::steady_clock::time_point> since;
  };
  // The result that a repair would have; the same on all members of the new pool.
  struct Proposal {
    std::vector<std::uint32_t> live;  // by their numbers in the roster
    std::vector<ProcessId> processes;
    Repair repair;
    Team team;
    bool under_way = false;
    bool gives_up = false;
    bool all_stay = true;
    bool have_caught_up = false;
    std::optional<Rank> lost_in_catch_ups;
    Weight best_reason = Weight::none;  // why not
    std::uint32_t gives_reason = 0;     // the first process that has it
    std::vector<std::uint32_t> cannot_stay;
    std::uint32_t restored = 0;  // the newest snapshot that any of them has restored
    std::set<NodeId> sick;       // as any of them knows
  };

  Pool(ConfigSource source, const Config& config)
      : source_(std::move(source)), config_(config), log_(config.log.level) {}

  [[nodiscard]] HeadMode head_mode() const { return config_.head.mode.value(); }
  void settle_head_mode(const Comm& world);
  [[nodiscard]] Status gather(UlfmComm& live, const Vote& vote, Proposal& proposal) const;
  // `helpers`: see helpers_of().
  [[nodiscard]] static Status make_team(UlfmComm& pool, const Roster& roster, const std::vector<std::uint32_t>& helpers,
                                        Team& team);
  [[nodiscard]] std::vector<std::uint32_t> helpers_after(const Proposal& proposal) const;
  [[nodiscard]] Status rebuild(const Vote& vote);
  [[nodiscard]] Result<bool> settle(const Vote& vote, Watchdog& watchdog);
  [[nodiscard]] Error no_spare_left(const Proposal& proposal) const;
  void adopt(Proposal proposal);
  void meet_neighbours(const std::vector<ProcessId>& processes);
  [[nodiscard]] Result<bool> is_over(bool done) const;
  [[nodiscard]] Status look_for_unknown_deaths(UnknownDeaths& unknown) const;
  void log_repair(const Roster& before, const Proposal& proposal) const;
  void log_why_all_roll_back(const Proposal& proposal) const;

  // pool_sick.cpp
  [[nodiscard]] bool heeds_verdicts() const;
  [[nodiscard]] Status share_sick(UlfmComm& live, const SickNames& sick, Proposal& proposal) const;
  void log_sick(const Roster& before, const Proposal& proposal) const;

  void log_role() const;
  [[nodiscard]] std::string name_of(const Member& member) const;
  [[nodiscard]] FailureTopology failures_of(const Roster& before, const std::vector<std::uint32_t>& live) const;
  [[nodiscard]] std::vector<Seat> seats_of(const Roster& roster) const;
  [[nodiscard]] bool a_worker_has_died() const;

  // pool_growth.cpp, and join()
  [[nodiscard]] Status grow_if_wanted(const Vote& vote, Watchdog& watchdog, Proposal& proposal);
  [[nodiscard]] std::vector<NodeId> wanted(const Proposal& proposal) const;
  [[nodiscard]] Result<bool> start_for(std::vector<NodeId> nodes, const Proposal& proposal);
  void end_strays() const;
  void end_newcomers() const;  // when the start of new processes is stuck
  [[nodiscard]] Buffer news() const;
  [[nodiscard]] Status take_news(ByteReader& news, std::uint32_t from_last);

  ConfigSource source_;  // for newcomers
  Launcher launcher_;
  Config config_;
  Log log_;
  std::vector<Seat> nodes_;  // host and name of each node, as numbered for life
  UlfmComm::Ptr pool_;
  Roster roster_;  // by number in pool_
  std::uint32_t me_ = 0;
  Team team_;
  std::shared_ptr<Lifeline> lifeline_;
  std::vector<std::optional<ProcessId>> neighbours_;  // by number: those of this host
  std::unique_ptr<HangGuard> guard_;
  std::unique_ptr<Muster> muster_;  // kills stragglers
  FailureTopology failures_;
  std::uint32_t repairs_ = 0;
  std::uint32_t restored_ = 0;  // by this process
  std::uint32_t progress_ = 0;  // by any process, as of the last repair
  std::uint32_t repairs_without_progress_ = 0;
  std::uint32_t repairs_without_effect_ = 0;  // in a row, without a dead process
  std::uint32_t failed_growths_ = 0;          // in a row, that started no newcomers
  std::set<std::string> closed_hosts_;        // that take no new processes; the same on all members
  std::string mark_;                          // variable in the environment of all new processes, of this pool alone
  bool strays_ = false;                       // there may be new processes that are in no pool
  bool under_way_ = false;
  bool gives_up_ = false;
  Verdict verdict_;
};

}  // namespace cairn
