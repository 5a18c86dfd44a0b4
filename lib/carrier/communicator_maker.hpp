// Makes the communicators that the application makes of session.comm(). A rank that others have left behind, such as a
// replacement, gets those of which it is a member: the repair has made them again.
//
// Any thread may make and free communicators; the rest belongs to the session's thread.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "carrier/carrier_job.hpp"
#include "carrier/request_book.hpp"
#include "mpi/call_lock.hpp"
#include "tap/carrier.hpp"

namespace cairn {

class CommunicatorMaker {
 public:
  explicit CommunicatorMaker(CarrierJob& job) : job_(job), lock_(job.setting().has_threads) {}

  // See tap::Carrier::makes_communicator.
  using Make = std::function<int(MPI_Comm, MPI_Group)>;
  std::optional<int> make(const tap::NewCommunicator& one, MPI_Comm* made, const Make& make);
  // The application has freed it.
  void freed(MPI_Comm comm);
  // Ends those that nobody needs any more, and of which there are no requests.
  void drop(const RequestBook& requests);
  // After a repair, before a replacement begins: makes again what the application has made of its communicator. `twin`:
  // of that one; `ranks`: the same ranks. Collective.
  [[nodiscard]] Status make_again(Comm& ranks, MPI_Comm twin);

 private:
  // One that is being made, by its call.
  struct Making {
    const tap::NewCommunicator& call;
    const Channel& parent;
    std::vector<int> callers = {};            // their ranks in the parent
    std::vector<std::uint32_t> members = {};  // the same in session.comm()
    replay::ChannelBook::Request request = {};
    ChannelFacts facts = {};  // what is known of it before MPI has made it
    bool is_noted = true;     // in the book; calls of other threads are not
  };
  [[nodiscard]] std::optional<Making> making_of(const tap::NewCommunicator& one);
  int begin(Making& making);
  std::optional<int> get_known(const Making& making, MPI_Comm* made);
  int make_with_all(Making& making, MPI_Comm* made, const Make& make);
  int make_of_twin(const Making& making, const Make& make);
  int add(const Making& making, MPI_Comm made);
  // communicator_meeting.cpp
  int meet_patiently(const Making& making);
  int tell_keepers(Making& making);

  CarrierJob& job_;
  CallLock lock_;                             // of dropped_
  std::set<std::uint64_t> dropped_;           // numbers of communicators that nobody needs
  std::atomic<std::uint64_t> not_noted_ = 0;  // communicators that other threads have made
};

}  // namespace cairn
