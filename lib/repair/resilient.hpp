// A job that continues after failures in its surviving processes ([recovery] mode = spares or respawn). Each process
// has one object for the whole job:
//
//   while (auto session = job.enter()) {
//     … the application, with the session …
//     job.complete(std::move(session));      it has finished
//     job.roll_back(std::move(session));     or a process has died
//   }
//
// In a head, enter() serves; in a spare, it sleeps. Both last through any number of failures, until this process
// becomes an application rank or the job is over. After a repair, all survivors enter together.
//
// One thread. Every call but the destructor is collective among the live processes of the job. Calls throw errors, the
// same on all processes; an error that only some processes have ends the job.
#pragma once

#include <mpi.h>

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <cairn/cairn.hpp>

#include "config/config.hpp"
#include "mpi/mpi_comm.hpp"
#include "mpi/process.hpp"
#include "opening/job_judge.hpp"
#include "recover/store_memory.hpp"
#include "repair/failed_calls.hpp"
#include "repair/pool.hpp"
#include "rollback/helpers.hpp"
#include "rollback/repairs.hpp"
#include "tap/error_handlers.hpp"

namespace cairn {

class Resilient : private rollback::Host {
 public:
  // How an application learns of a failure in its own MPI calls.
  enum class Tells { by_exception, by_code };

  // Null if the job does not repair itself by its configuration. `compute_part`: see run(); may be empty.
  static std::unique_ptr<Resilient> if_wanted(MPI_Comm caller, const std::string& config_file, Tells tells,
                                              ComputePart compute_part = {});
  // Whether this process is in such a job, and cannot open another session. Local.
  [[nodiscard]] static bool exists();
  // With [job] world = application, for a process that does not compute: joins the job of the others, and serves there
  // until this process replaces a dead one. Then if_wanted() gives the job to its application. False: the job is over,
  // or does not repair itself by its configuration. Collective with if_wanted(), which the application ranks call.
  static bool wait_to_take_over(MPI_Comm all);
  ~Resilient() override;
  Resilient(const Resilient&) = delete;
  Resilient& operator=(const Resilient&) = delete;

  // The next session of this process as an application rank; null when the job is over.
  [[nodiscard]] std::unique_ptr<Session> enter();
  // The application has finished on this rank. If it has finished on all ranks, finalizes the session and ends the job;
  // otherwise all ranks roll back. Returns whether the job is over.
  bool complete(std::unique_ptr<Session> session);
  void roll_back(std::unique_ptr<Session> session);
  // Rolls back after an error of this rank's application, if this process detects a failure within a second; otherwise
  // returns false. A rank that rolls back frees the buffers that it sends from. So others may receive wrong data from
  // it then, although MPI reports no error, and their applications may fail before they detect the failure. Local if it
  // returns false; else as roll_back().
  [[nodiscard]] bool rolls_back_instead(std::unique_ptr<Session>& session, const std::string& error);
  // The application fails, and so the job fails: ends all its processes, with the reason, which the log may have
  // already. Local; but if some processes were started later than others, waits for the other processes.
  [[noreturn]] void give_up(const CompletionMark& why, bool is_logged = false);
  // A call has failed for the application by its code, since a process died. Ends this process if the application
  // ignores such codes for too long. Local; any thread.
  void note_failed_call();
  // Whether this process reports for all. Local.
  [[nodiscard]] bool is_first() const { return pool_->is_first(); }
  // Ends the job as it is, on all ranks; unfinished snapshots are lost.
  void abandon(std::unique_ptr<Session> session);

 private:
  Resilient(MPI_Comm world, std::unique_ptr<Pool> pool, Tells tells, ComputePart compute_part);
  [[nodiscard]] std::unique_ptr<Session> open();
  [[nodiscard]] Session::Opening opening();
  // resilient_world.cpp
  [[nodiscard]] static MPI_Comm call_others(MPI_Comm world);
  [[nodiscard]] static std::unique_ptr<Resilient> taken_over(MPI_Comm world, Tells tells, ComputePart& compute_part);
  void follow_world(const Session& session);
  void keep_world(const Session& session) const;
  // As the host of repairs: resilient_host.cpp.
  [[nodiscard]] bool computes() const override { return pool_->me().role == Member::Role::rank; }
  void alarm() override { pool_->lifeline()->cut(); }
  [[nodiscard]] bool is_alarmed() override { return pool_->lifeline()->is_cut(); }
  [[nodiscard]] bool vote(bool ok, const std::function<void()>& meanwhile) override {
    return pool_->all_ranks(ok, meanwhile);
  }
  [[nodiscard]] bool meet(const rollback::Vote& vote) override;
  void tell_of_failure() override;
  [[nodiscard]] rollback::LoggedRank* rank() override;
  void look_for_obstacles() override;
  void passes_restore() override;
  void passes_safe_point() override;
  [[nodiscard]] bool leave_world() override;
  [[nodiscard]] Status join_world() override;
  [[nodiscard]] Status adopt() override;
  [[nodiscard]] Status settle_offer() override;
  void go_on() override;
  [[nodiscard]] Status check_messages() override;
  // resilient_help.cpp
  void warn_if_parts_cannot_be_computed() const;
  void form_helper_team();
  [[nodiscard]] rollback::Helpers* helpers() override { return helpers_.get(); }
  void leave(std::unique_ptr<Session> session);
  void finalize(Session& session);
  // Notes how far the application has come.
  void remember(Session& session);
  // True if an error is the consequence of a failure; remembers its text.
  bool is_failure(const Exception& error);
  // Ends the job after too many repairs in a row without progress.
  void end_if_repairs_do_not_help() const;
  [[noreturn]] void end_job(const std::string& text, const Cause& cause) const;
  [[noreturn]] void abort_mpi() const;
  // The one of this process.
  static Resilient*& current();
  static void on_exit();
  // resilient_leave.cpp
  static void on_terminate();

  MPI_Comm world_;
  JobJudge judge_;
  MPI_Errhandler errhandler_ = MPI_ERRHANDLER_NULL;  // of the caller's world; never freed
  std::optional<tap::Judging> judging_;
  Tells tells_;
  ComputePart compute_part_;
  ProcessId process_ = this_process();
  std::unique_ptr<Pool> pool_;
  std::shared_ptr<StoreMemory> memory_ = std::make_shared<StoreMemory>();
  std::unique_ptr<rollback::Helpers> helpers_;  // of the last repair
  Session::Mpi* session_ = nullptr;             // that this process has, as an application rank
  rollback::Repairs repairs_;
  MPI_Comm twin_ = MPI_COMM_NULL;  // the application's communicator in the repaired world that its session has joined
  bool entered_ = false;           // as an application rank, before
  PoolVote vote_;  // what this process tells at the next meeting, but for what its session and its store say then
  bool over_ = false;
  std::exception_ptr error_;  // to be thrown at the end
  bool told_of_attributes_ = false;
  std::unique_ptr<Session> taken_;  // of a process that has taken over in MPI_Init, until enter()
  std::string last_failure_;
  FailedCalls failed_calls_;                                                               // since the last repair
  const std::terminate_handler terminate_ = std::set_terminate(&Resilient::on_terminate);  // the one before
};

}  // namespace cairn
