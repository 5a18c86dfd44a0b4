// One call of the application on a communicator of its session's family, or one that waits for requests: what observers
// are told of it, from its begin to its end. Of other calls, and while nobody listens, nothing is told.
#pragma once

#include <span>

#include "tap/hear.hpp"

namespace cairn::tap {

class Heard {
 public:
  // `about`: the one request that the call is about, if there is one.
  Heard(const Call& call, CallKind kind, const Site& site, MPI_Request about = MPI_REQUEST_NULL) {
    if (call.is_heard()) begin(kind, site, about);
  }
  ~Heard() {
    if (lasts()) end();
  }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;

  // It has left a request, for what the call was about.
  void posts(CallKind kind, MPI_Request request, bool active);
  void starts(std::span<const MPI_Request> requests) const;
  // It has taken a message like the one that it asked for, as a receive does.
  void takes_message() const;
  // From now on it is not known how many messages like this one there are.
  void loses_count(CallKind kind, MPI_Comm comm, int peer, int tag) const;
  void cancels(MPI_Request request) const;
  // It has asked and found nothing.
  void is_in_vain() { in_vain_ = true; }
  [[nodiscard]] bool lasts() const { return !told_.empty(); }
  [[nodiscard]] const CallRecord& record() const { return record_; }
  // Who is told of it.
  [[nodiscard]] std::span<Observer* const> told() const { return told_; }

 private:
  void begin(CallKind kind, const Site& site, MPI_Request about);
  void end();

  CallRecord record_;
  std::span<Observer* const> told_;
  bool in_vain_ = false;
};

// A call that sends and receives at once: it waits for both, as if each had a request.
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

// The requests that a call was given. MPI overwrites the handles of those that have become complete.
class Requests {
 public:
  // Observers are told that the requests are awaited, or only asked after.
  enum class Act { waits, asks };
  Requests(const Call& call, const Heard& heard, Act act, std::span<const MPI_Request> requests);
  // The call is over; `is_complete(i)` says of a request that still has its handle whether it is complete. Whether any
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

  std::span<const MPI_Request> now_;  // none where nobody wants to know
  std::span<Observer* const> told_;
};

}  // namespace cairn::tap
