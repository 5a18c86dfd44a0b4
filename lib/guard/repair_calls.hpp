// Calls of the application that MPI does not end well after a failure, in a job that repairs itself.
//
// Messages. A long message is received in fragments. MPI continues to receive one that it has matched, even on a
// revoked communicator, while the application rolls back and frees the memory. So a failure waits for such messages
// first (drain). Open MPI 5.0 also frees requests that are under way when it returns an error from MPI_Waitall and the
// like, and ends the process when a message of these arrives; its MPI_Sendrecv crashes where it receives from
// MPI_PROC_NULL. So these calls are made of others here, one request at a time, and so are collectives
// (repair_calls_collectives.cpp).
//
// Calls that may return without a result, such as MPI_Iprobe. Open MPI 5.0 reports no failure there, and a rank that
// asks again and again would not come to the repair, while the others wait for it. So these calls look for failures.
//
// Windows. Each has a communicator on which its ranks meet before a fence or MPI_Win_free, and which the lifeline
// revokes. MPI cannot revoke windows: without the meeting,
// ranks would wait in a fence for those that have left it. A process that dies between the meeting and the end of the
// fence may still leave others in it, as may one that dies while others wait in MPI_Win_complete or MPI_Win_lock. They
// do not come to the repair, which ends after [recovery] limit.
//
// Not covered: collectives of neighbours, those of two groups, and those with large counts (MPI_Bcast_c); persistent
// collectives, partitioned messages, MPI_Isendrecv, MPI_Imrecv, receives that are freed while they are under way; and
// requests on communicators that the session does not know.
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <thread>

#include "base/log.hpp"
#include "guard/request_table.hpp"
#include "mpi/completion.hpp"
#include "mpi/failure_handler.hpp"
#include "mpi/lifeline.hpp"
#include "tap/error_handlers.hpp"
#include "tap/repair_guard.hpp"

namespace cairn {

class RepairCalls final : public tap::RepairGuard {
 public:
  // No message of so many bytes is received in several parts.
  static constexpr std::int64_t kShort = 2048;
  [[nodiscard]] static std::int64_t bytes_of(MPI_Count count, MPI_Datatype type);

  // `stays`: as MessageCarrier has it. `limit`: how long a failure waits for messages.
  struct Setting {
    std::function<bool()> stays;
    std::function<void()> drains_others = {};  // of messages that are made in MPI's place; empty: there are none
    std::chrono::milliseconds limit;
    bool has_threads = false;  // several threads may make calls
    Log log;
  };
  RepairCalls(Setting setting, std::shared_ptr<Lifeline> lifeline);
  ~RepairCalls() override;
  RepairCalls(const RepairCalls&) = delete;
  RepairCalls& operator=(const RepairCalls&) = delete;

  // The session has joined a repaired world.
  void joins(std::shared_ptr<Lifeline> lifeline);

  void begun(MPI_Request request, bool active, Direction direction) override;
  void started(MPI_Request request) override;
  void completed(MPI_Request request, bool persists) override;
  std::optional<int> complete(tap::Which which, std::span<MPI_Request> requests,
                              const tap::Completed& completed) override;
  std::optional<int> send(const tap::OutgoingMessage& out) override;
  int exchange(const tap::OutgoingMessage& out, const tap::IncomingMessage& in, MPI_Status* status) override;

  int look() override;
  [[nodiscard]] bool looks_here() const override { return std::this_thread::get_id() == thread_; }

  std::optional<int> collective(const tap::collectives::Any& call) override;

  int made(MPI_Comm comm, MPI_Win window) override;
  int meets(MPI_Win window) override;
  int frees(MPI_Win window) override;
  [[nodiscard]] bool is_lost(MPI_Win window) const override;
  [[nodiscard]] bool keeps(MPI_Comm comm) const override;

  // Whose an error on a window is.
  [[nodiscard]] static tap::ErrorJudge::Tells judge_window(int code);

 private:
  struct Meeting;
  static int key();
  static int on_free(MPI_Win window, int key, void* value, void* extra);
  [[nodiscard]] static Meeting* meeting_of(MPI_Win window);

  enum class Asks { waits, tests };
  struct Asked {
    int code = MPI_SUCCESS;
    bool is_done = false;
    MPI_Status status{};
    [[nodiscard]] bool is_over() const { return is_done || code != MPI_SUCCESS; }
  };
  // One request. While MPI has it, a failure does not look at it.
  Asked ask(Asks how, MPI_Request& request);
  int complete_all(Completion& call, std::span<MPI_Request> requests);
  int complete_some(Completion& call, std::span<MPI_Request> requests);
  // Whether nothing will ever complete it: MPI_REQUEST_NULL, or persistent and not started.
  [[nodiscard]] bool is_idle(MPI_Request request) const;
  struct InParts {
    int code = MPI_SUCCESS;
    bool is_sent = false;  // otherwise MPI may still read what is sent
  };
  InParts in_parts(const tap::OutgoingMessage& out, const tap::IncomingMessage& in, MPI_Status* status);

  // A call made of a non-blocking one, which `begin(&request)` begins; MPI's code.
  template <class Begin>
  int make_of(Begin begin) {
    MPI_Request request = MPI_REQUEST_NULL;
    const int code = FailureHandler::deferred([&] { return begin(&request); });
    return code == MPI_SUCCESS ? ask(Asks::waits, request).code : code;
  }
  template <class Collective>
  std::optional<int> make_collective(const Collective& one);
  std::optional<int> make_collective(const tap::collectives::Bcast& one);
  // The code of a collective that is over.
  int ended(MPI_Comm comm, int code);

  // Once the lifeline is cut: waits until MPI leaves the application's memory alone.
  void drain();
  // Whether MPI still uses memory of the application; cancels what can be.
  [[nodiscard]] bool is_under_way(bool sends_too) const;
  // Returns MPI's code, unless it is a failure, which leaves the call.
  int leaves_on_failure(int code);
  // Leaves a call in which MPI has reported no failure. MPI_SUCCESS: this rank stays in it.
  int leaves();
  // Looks for failures in the thread that does, and leaves that to the caller.
  void watch() const {
    if (looks_here()) lifeline_->watch();
  }

  Setting setting_;
  std::shared_ptr<Lifeline> lifeline_;
  std::thread::id thread_ = std::this_thread::get_id();  // that looks
  RequestTable requests_;
};

}  // namespace cairn
