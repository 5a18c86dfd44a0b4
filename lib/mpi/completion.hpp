// A call that completes requests, one, any, all or some of them: when it is over, and where it puts what it has found,
// as MPI does it. Who has the requests asks for each, and tells this class which are complete. Asks MPI nothing.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "tap/carrier.hpp"

namespace cairn {

class Completion {
 public:
  // Of so many requests.
  Completion(tap::Which which, std::size_t requests, const tap::Completed& completed)
      : which_(which), requests_(requests), completed_(completed) {}

  // Whether it returns at once, with or without a result.
  [[nodiscard]] bool tests() const { return completed_.flag != nullptr; }
  // Whether it completes nothing unless all its requests are complete.
  [[nodiscard]] bool is_for_all() const { return which_ == tap::Which::one || which_ == tap::Which::all; }
  // Whether a call that waits is over once so many of its requests are active, and so many of these complete.
  [[nodiscard]] bool is_over(std::size_t active, std::size_t complete) const {
    return is_for_all() ? complete == active : complete > 0 || active == 0;
  }

  // The request at this place is complete with this code; in a call for all, one that is not active, too. Requires: in
  // the order of their places, and not is_enough().
  void found(std::size_t place, int code, const MPI_Status& status);
  // Whether it takes no more requests.
  [[nodiscard]] bool is_enough() const { return which_ == tap::Which::any && found_ > 0; }
  [[nodiscard]] bool has_found() const { return found_ > 0; }
  // Of the first request that has failed.
  [[nodiscard]] int first_error() const { return first_error_; }

  // The call returns. `any_active`: one of its requests was. Returns the code of the call.
  int end(bool any_active);

 private:
  tap::Which which_;
  std::size_t requests_;
  tap::Completed completed_;
  std::size_t found_ = 0;
  int first_error_ = MPI_SUCCESS;
};

}  // namespace cairn
