// Communicators of the application in which heads are members, while a session is open: MPI_COMM_WORLD, and those that
// the application had made of it before. Heads take part in no collective of the application, and no message meets a
// head, so such a call would block forever. The guard reports it instead.
//
// Thread-safe. Local.
#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <vector>

#include "tap/interest.hpp"

namespace cairn::tap {

// A call that would block forever.
struct BlockedCall {
  const char* call = nullptr;
  bool on_world = false;    // else on a communicator made of it
  std::optional<int> head;  // a message's other side, by rank in that communicator; none: a collective
};

class WorldGuard {
 public:
  // Of the application's world before its session opens, in a job that repairs itself. Reports all communication on it:
  // a process that replaces a dead rank would be alone in such a call.
  explicit WorldGuard(std::function<void(const BlockedCall&)> report);
  // `heads`: by rank in MPI_COMM_WORLD. `report` is called before such a call, which continues if it returns.
  WorldGuard(std::vector<bool> heads, std::function<void(const BlockedCall&)> report);
  ~WorldGuard();
  WorldGuard(const WorldGuard&) = delete;
  WorldGuard& operator=(const WorldGuard&) = delete;

  void report(const BlockedCall& call) const { report_(call); }
  [[nodiscard]] bool is_before_session() const { return is_before_session_; }
  // Heads among those that a rank sends to and receives from, by rank in `comm`; empty: there are none.
  [[nodiscard]] std::vector<bool> heads_in(MPI_Comm comm) const;

 private:
  Interest interest_;
  bool is_before_session_ = false;
  std::vector<bool> heads_;
  std::function<void(const BlockedCall&)> report_;
};

// The application is about to make a collective call, or to meet a message of `peer`.
void check_collective(const char* call, MPI_Comm comm);
void check_message(const char* call, MPI_Comm comm, int peer);
// The application is about to open another session over this communicator while it has one.
void check_opening(const char* call, MPI_Comm comm);
// The same call, where only some of the ranks take part.
void check_part(const char* call, MPI_Comm comm);

// The application has made a communicator that is in no session's family, and frees one.
void made_outside(MPI_Comm comm);
void ended_outside(MPI_Comm comm);
// Those that there are.
[[nodiscard]] bool is_outside(MPI_Comm comm);
[[nodiscard]] std::vector<MPI_Comm> all_outside();

}  // namespace cairn::tap
