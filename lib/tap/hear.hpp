// Calls of MPI that the tap hears. They are defined by libcairn-tap (intercept/), which comes before MPI in a program;
// all that it has to remember is here, in libcairn, since that is there once.
//
// What is called within such a call, by MPI itself or by another tool, is not the application's, and passes.
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

// A call of this thread while it lasts.
class Call {
 public:
  // The application may leave a call by a jump, without its end.
  static void none_lasts() { depth() = 0; }
  Call() : outermost_(depth()++ == 0) {}
  ~Call() { --depth(); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  // Made by the application.
  [[nodiscard]] bool is_outermost() const { return outermost_; }
  // How many calls last in this thread, one inside another.
  [[nodiscard]] static int nested() { return depth(); }
  // And somebody wants to know.
  [[nodiscard]] bool is_heard() const { return outermost_ && anybody_listens(); }

 private:
  static int& depth();
  bool outermost_;
};

// While it lives, what this thread calls is Cairn's own. Calls on Cairn's communicators pass anyway; those that name no
// communicator would be taken for the application's.
class Unheard {
 public:
  Unheard() = default;

 private:
  Call call_;
};

// Which call it is, and what its arguments say, where it has such.
struct Site {
  const char* name;
  std::uint16_t number;
  MPI_Comm comm = MPI_COMM_NULL;
  int peer = MPI_PROC_NULL;  // or root, of `comm`
  int tag = MPI_ANY_TAG;
  int source = MPI_PROC_NULL;  // where a message comes from while another goes to `peer`
  int source_tag = MPI_ANY_TAG;
  MPI_Count count = 0;
  MPI_Datatype type = MPI_DATATYPE_NULL;
};

// Whether MPI takes what a rank gives from where it puts what the rank gets.
[[nodiscard]] inline bool is_in_place(const void* from, const void* to) {
  return from == MPI_IN_PLACE || to == MPI_IN_PLACE;
}

// MPI's handle of a request, as a number.
[[nodiscard]] inline std::uint64_t number_of(MPI_Request request) {
  std::uint64_t number = 0;
  static_assert(sizeof(request) <= sizeof(number));
  std::memcpy(&number, &request, sizeof(request));
  return number;
}

}  // namespace cairn::tap
