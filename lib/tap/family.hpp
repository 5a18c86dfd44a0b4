// The communicators that an application has made from its session's, at any depth: by MPI_Comm_dup, split, Cart_create
// and the like, in C or Fortran. The tap adds each to its parent's family when it is made, and takes it out when it is
// freed. Communicators of anybody else, Cairn's own among them, are in no family.
//
// A family belongs to a session and ends with it; the communicators themselves stay the application's.
// Thread-safe. Local: nothing communicates, and no call of MPI is made.
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

#include "tap/member.hpp"
#include "tap/observer.hpp"

namespace cairn::tap {

class Family {
 public:
  // `root`: the session's communicator. Not to be called inside a call of MPI. `on_made` is called for each further
  // one, by the thread that has made it, inside the call that makes it or completes it.
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
  MPI_Comm root_;
  std::function<void(MPI_Comm)> on_made_;
  std::mutex mutex_;
  std::unordered_map<std::uint64_t, std::uint64_t> like_;
};

// What the wrappers say to the families of this process.

// How many communicators they have.
[[nodiscard]] const std::atomic<std::size_t>& members();
// Whether there are any.
[[nodiscard]] inline bool anybody_listens() { return members().load(std::memory_order_relaxed) > 0; }
// What is known of a communicator; nothing if it is in no family. Stays while the communicator does.
[[nodiscard]] Member* member_of(MPI_Comm comm);
// The application makes a communicator from this one, which all of its ranks take part in.
[[nodiscard]] Birth next_child_of(MPI_Comm parent);

// The application has made `comm` from `parent`.
void made(MPI_Comm parent, MPI_Comm comm, const Birth& birth);
void ended(MPI_Comm comm);
// The application has given it this name.
void named(MPI_Comm comm, std::string_view name);

// A communicator that the application has begun to make; it is there when the request is complete.
struct Begun {
  MPI_Comm parent = MPI_COMM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;
  Birth birth;
};
void begun(MPI_Request request, const Begun& begun);
// Whether any are under way.
[[nodiscard]] bool any_begun();
// A request that may be one of those is complete.
void completed(MPI_Request request);

// An observer hears of all families while this lives.
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
