// The communicators that an application has made from its session's, at any depth: by MPI_Comm_dup, split, Cart_create
// and the like, in C or Fortran. The tap adds each to its parent's family when it is made, and removes it when it is
// freed. All other communicators, also those of Cairn, are in no family.
//
// A family belongs to a session and ends with it; the application still owns the communicators. Thread-safe. Local:
// nothing communicates or calls MPI.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_map>

#include "tap/interest.hpp"
#include "tap/member.hpp"
#include "tap/observer.hpp"

namespace cairn::tap {

class Family {
 public:
  // `root`: the session's communicator. `on_made` is called for each new communicator, by the thread that makes it,
  // inside the call that makes or completes it. Requires: this thread is not inside an MPI call.
  Family(MPI_Comm root, std::function<void(MPI_Comm)> on_made);
  ~Family();
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  [[nodiscard]] bool has(MPI_Comm comm) const;
  [[nodiscard]] MPI_Comm root() const { return root_; }
  void made(MPI_Comm comm) { on_made_(comm); }
  // How many communicators came before with this number.
  [[nodiscard]] std::uint64_t count_like(std::uint64_t id);

 private:
  Interest interest_;
  MPI_Comm root_;
  std::function<void(MPI_Comm)> on_made_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> like_;
};

// The wrappers of MPI calls use these functions to look up and change the families of this process.

// The number of communicators in all families.
[[nodiscard]] const std::atomic<std::size_t>& members();
// Whether there is any family.
[[nodiscard]] inline bool anybody_listens() { return members().load(std::memory_order_relaxed) > 0; }
// What is known of a communicator; nothing if it is in no family. Valid until the communicator is freed.
[[nodiscard]] Member* member_of(MPI_Comm comm);
// The application makes a communicator from this one, and all ranks of this one take part.
[[nodiscard]] Birth next_child_of(MPI_Comm parent);

// The application has made `comm` from `parent`.
void made(MPI_Comm parent, MPI_Comm comm, const Birth& birth);
void ended(MPI_Comm comm);
// The application has given it this name.
void named(MPI_Comm comm, std::string_view name);

// The application has begun to make a communicator, which exists once the request is complete.
struct Begun {
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  Birth birth;
};
void begun(MPI_Request request, const Begun& begun);
// Whether any such request is pending.
[[nodiscard]] bool any_begun();
// A request is complete. It may be one of those.
void completed(MPI_Request request);

// While this object lives, the observer receives the calls on all families.
class Listening {
 public:
  explicit Listening(Observer& observer);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Observer& observer_;
};
[[nodiscard]] std::span<Observer* const> observers();

}  // namespace cairn::tap
