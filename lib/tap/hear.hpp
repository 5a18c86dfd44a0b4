// MPI calls that the tap intercepts. libcairn-tap (intercept/) defines them and is linked before MPI. Its state is
// here, in libcairn, because a program has libcairn only once.
//
// Calls that MPI or another tool makes inside such a call are not the application's: the tap only passes them on.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "tap/family.hpp"

namespace cairn::tap {

// "MPI_Send", by its number.
[[nodiscard]] std::span<const char* const> call_names();
// Whether a file of calls has a place for each, and each fits there with a zero at its end.
[[nodiscard]] constexpr bool have_places(std::span<const char* const> names) {
  return names.size() <= CallFile::kNames &&
         std::ranges::all_of(names, [](std::string_view name) { return name.size() < CallFile::kNameBytes; });
}

// While this object lives, a function of the application runs that MPI has called: its calls are the application's.
class Callback {
 public:
  Callback();
  ~Callback() { depth() = before_; }
  Callback(const Callback&) = delete;
  Callback& operator=(const Callback&) = delete;

 private:
  friend class Call;
  // The number of calls around it.
  static int& depth();
  int before_;
};

// A call of this thread, from its begin to its end.
class Call {
 public:
  // The application may leave a call by longjmp; then the call has no end.
  static void none_lasts() { depth() = Callback::depth() = 0; }
  Call() : outermost_(depth()++ == 0) {}
  ~Call() { --depth(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Whether the application made the call.
  [[nodiscard]] bool is_outermost() const { return outermost_; }
  // The same, or a function of the application that MPI has called. Requires: this is the innermost call.
  [[nodiscard]] bool is_applications() const { return depth() == Callback::depth() + 1; }
  // The number of calls that this thread is in, one inside another.
  [[nodiscard]] static int nested() { return depth(); }
  // Whether the application made the call and any observer is registered.
  [[nodiscard]] bool is_heard() const { return outermost_ && anybody_listens(); }

 private:
  static int& depth();
  bool outermost_;
};

// While this object lives, calls of this thread are Cairn's own. It is needed for calls without a communicator, which
// would otherwise count as the application's.
class Unheard {
 public:
  Unheard() = default;

 private:
  Call call_;
};

// Which call it is, and its arguments, if it has them.
struct Site {
  const char* name;
  std::uint16_t number;
  bool lasts = false;           // see calls.txt
  bool reaches_others = false;  // the same
  MPI_Comm comm = MPI_COMM_NULL;
  int peer = MPI_PROC_NULL;  // or the root; a rank in `comm`
  int tag = MPI_ANY_TAG;
  int source = MPI_PROC_NULL;  // of a call that sends to `peer` and also receives: the sender
  int source_tag = MPI_ANY_TAG;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// Whether one of the two buffers is MPI_IN_PLACE.
[[nodiscard]] inline bool is_in_place(const void* from, const void* to) {
  return from == MPI_IN_PLACE || to == MPI_IN_PLACE;
}

// The MPI handle of a request, as a number.
[[nodiscard]] inline std::uint64_t number_of(MPI_Request request) {
  std::uint64_t number = 0;
  static_assert(sizeof(request) <= sizeof(number));
  std::memcpy(&number, &request, sizeof(request));
  return number;
}

}  // namespace cairn::tap
