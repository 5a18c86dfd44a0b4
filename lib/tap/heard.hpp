// Reports one call of the application to the observers, from its begin to its end: a call on a communicator of a
// family, or one that waits for requests. Reports nothing for other calls, or while there is no observer.
#pragma once

#include <span>

#include "tap/hear.hpp"

namespace cairn::tap {

class Heard {
 public:
  // `about`: the request of the call, if it has exactly one.
  Heard(const Call& call, CallKind kind, const Site& site, MPI_Request about = MPI_REQUEST_NULL) {
    if (call.is_heard()) begin(kind, site, about);
  }
  ~Heard() {
    if (lasts()) end();
  }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;

  // The call has started a request.
  void posts(CallKind kind, MPI_Request request, bool active);
  void starts(std::span<const MPI_Request> requests) const;
  // The call has taken a message like the one that it probed for, as a receive does.
  void takes_message() const;
  // From now on the number of messages like this one is unknown.
  void loses_count(CallKind kind, MPI_Comm comm, int peer, int tag) const;
  void cancels(MPI_Request request) const;
  // The call has tested or probed without success.
  void is_in_vain() { in_vain_ = true; }
  [[nodiscard]] bool lasts() const { return lasts_; }
  [[nodiscard]] const CallRecord& record() const { return record_; }
  // The observers of the call.
  [[nodiscard]] std::span<Observer* const> told() const { return told_; }

 private:
  void begin(CallKind kind, const Site& site, MPI_Request about);
  void end();

  CallRecord record_;
  std::span<Observer* const> told_;
  bool lasts_ = false;
  bool in_vain_ = false;
};

// A call that sends and receives at once. It waits for both, as if each had a request.
class Exchange {
 public:
  Exchange(const Call& call, const Site& site);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

 private:
  [[nodiscard]] std::uint64_t request(CallKind kind) const;
  Heard heard_;
};

// The requests that were passed to a call, saved because MPI overwrites the handles of those that complete.
class Requests {
 public:
  // Reports to the observers that the call waits for the requests, or only tests them.
  enum class Act { waits, asks };
  Requests(const Call& call, const Heard& heard, Act act, std::span<const MPI_Request> requests);
  // The guard has completed those that are complete.
  void guard_knows() { guard_knows_ = true; }
  // The call is over. `is_complete(i)`: whether a request that still has its handle is complete. Returns whether any
  // is.
  template <class IsComplete>
  bool look(IsComplete is_complete) const {
    bool any = false;
    for (std::size_t i = 0; i < now_.size(); ++i) {
      if (before()[i] == MPI_REQUEST_NULL) continue;
      const bool complete = now_[i] == MPI_REQUEST_NULL || is_complete(i);
      tell(i, complete);
      any = any || complete;
    }
    return any;
  }

 private:
  [[nodiscard]] std::span<const MPI_Request> before() const;
  void tell(std::size_t i, bool complete) const;

  std::span<const MPI_Request> now_;  // empty if nobody asks
  std::span<Observer* const> told_;
  bool guard_knows_ = false;
};

}  // namespace cairn::tap
