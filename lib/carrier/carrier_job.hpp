// The job, as all parts of a MessageCarrier have it: its communicators, its journal, who repairs it, and which threads
// make calls. Decides what a call returns after MPI's code, and when all ranks have to roll back.
//
// Belongs to the session's thread, but for what is marked.
#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "carrier/channels.hpp"
#include "mpi/lifeline.hpp"
#include "replay/deadlock_check.hpp"
#include "replay/journal.hpp"

namespace cairn {

class CarrierJob {
 public:
  // `stays`: a process has died; repairs the job inside the call. True: this rank goes on. If all ranks roll back, it
  // throws, or returns false where the application gets MPI's codes.
  struct Setting {
    MPI_Comm comm = MPI_COMM_NULL;  // the application's
    MPI_Comm own = MPI_COMM_NULL;   // Cairn's, of the same ranks: it carries the messages of collectives
    replay::Journal& journal;
    replay::DeadlockCheck& deadlocks;
    // After a repair: what has to be sent again.
    std::function<std::vector<replay::Repeated>()> repeats = [] { return std::vector<replay::Repeated>(); };
    std::function<bool()> stays;
    std::function<void(MPI_Comm)> adopts = [](MPI_Comm) {};            // a communicator to be revoked after a failure
    std::chrono::milliseconds limit;                                   // of a catch-up that stands still
    bool has_threads = false;                                          // several threads may make calls
    std::function<std::string()> present_call = [] { return "MPI"; };  // of the application
    Log log;
  };
  // Receives that a carrier keeps from MPI. `advance`: lets them continue; false: a process has died. `leave_to_mpi`:
  // from now on they are MPI's; returns MPI's code.
  struct HeldReceives {
    std::function<bool()> advance = [] { return true; };
    std::function<int(const std::string& why)> leave_to_mpi = [](const std::string&) { return MPI_SUCCESS; };
  };
  CarrierJob(Setting setting, std::shared_ptr<Lifeline> lifeline);

  void hold_receives(HeldReceives held) { held_ = std::move(held); }
  [[nodiscard]] const HeldReceives& held_receives() const { return held_; }

  [[nodiscard]] const Setting& setting() const { return setting_; }
  [[nodiscard]] replay::Journal& journal() const { return setting_.journal; }
  [[nodiscard]] replay::Traffic& traffic() const { return setting_.deadlocks.traffic(); }
  [[nodiscard]] Lifeline& lifeline() const { return *lifeline_; }
  [[nodiscard]] Channels& channels() { return channels_; }
  // Any thread. Null: the messages on it are not carried.
  [[nodiscard]] Channel* find(MPI_Comm comm) const { return channels_.find(comm); }
  // Any thread. Requires: they are carried.
  [[nodiscard]] Channel& channel_of(MPI_Comm comm) const;
  [[nodiscard]] std::string my_name() const;

  // Any thread. A call begins: notes which thread makes it. Returns whether what it exchanges is logged.
  bool note_caller();
  // Whether what this thread exchanges is logged, as far as is noted.
  [[nodiscard]] bool is_logged_here() const { return is_session_thread() && !has_other_threads_; }
  [[nodiscard]] bool is_session_thread() const { return std::this_thread::get_id() == thread_; }
  [[nodiscard]] bool has_other_threads() const { return has_other_threads_; }

  // Any thread. What a call on this communicator returns after MPI's code. Nothing: the job was repaired, and the call
  // is to be repeated.
  std::optional<int> after(int code, MPI_Comm comm);
  [[nodiscard]] bool is_of_failure(int code) const;
  // Calls the error handler of the communicator, or of that which takes its place after a repair. Returns the code.
  int raise(int code, MPI_Comm comm) const;
  // Repairs the job. True: this rank continues its call.
  [[nodiscard]] bool stays() const { return setting_.stays(); }
  // Whether ranks wait for a replacement that catches up, so that no call may block in MPI.
  [[nodiscard]] bool is_patient() const { return setting_.journal.unchecked_since().has_value(); }
  void obstructs(const std::string& what, replay::Journal::Until until);
  // This rank cannot go on, so all ranks roll back.
  int rolls_back(const std::string& why);
  int rolls_back(const Error& why) { return rolls_back(my_name() + ": " + why.text()); }

  // After a repair.
  void goes_on(MPI_Comm twin, MPI_Comm own, std::shared_ptr<Lifeline> lifeline);

 private:
  Setting setting_;
  mutable Channels channels_;
  std::shared_ptr<Lifeline> lifeline_;
  HeldReceives held_;
  std::thread::id thread_ = std::this_thread::get_id();
  std::atomic<bool> has_other_threads_ = false;
};

}  // namespace cairn
