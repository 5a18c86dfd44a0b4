// cairn::run for applications in C. A failure leaves the application's functions by an exception, through their frames.
#include <unwind.h>

#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>

#include <cairn/cairn.h>
#include <fmt/format.h>
#include <cairn/cairn.hpp>

#include "bind/c_session.hpp"
#include "bind/last_error.hpp"
#include "bind/parts.hpp"
#include "repair/run.hpp"

namespace {

using cairn::ErrorKind;
using cairn::Exception;

// Whether an exception can leave this function. The table that says how has an entry for each address inside it; the
// runtime library looks at the one before what it is asked for.
bool has_unwind_table(cairn_application function) {
  return _Unwind_FindEnclosingFunction(reinterpret_cast<char*>(function) + 1) != nullptr;
}

// All ranks find the same, so rank 0 tells it.
void require_unwind_table(const cairn_session& session, cairn_application function) {
  if (!session.is_repairable() || has_unwind_table(function)) return;
  const std::string why =
      "cairn_run: its function was compiled without unwind tables, so a failure cannot leave it: compile the program "
      "with -fexceptions, or set [recovery] mode = restart";
  if (session.open()->rank() != 0) throw cairn::LoggedError(ErrorKind::usage, why);
  throw Exception(ErrorKind::usage, why);
}

// A Cairn call may have returned this code: then the log has the error.
[[noreturn]] void fail_with(cairn_session& session, int result) {
  if (session.vote) session.vote->leave_to_mpi();  // other ranks may be elsewhere
  if (result < CAIRN_OK && result == cairn::bind::last_code())
    throw cairn::LoggedError(cairn::bind::kind_of(result), cairn::bind::last_error());
  throw std::runtime_error(fmt::format("the function that cairn_run called returned {}", result));
}

std::function<void(cairn::Session&)> application_of(cairn_application function, void* argument) {
  return [function, argument](cairn::Session& lent) {
    cairn_session session(lent);
    if (function == nullptr) throw Exception(ErrorKind::usage, "cairn_run: the function is NULL");
    require_unwind_table(session, function);
    (void)cairn::bind::fail(CAIRN_OK, {});
    const int result = function(&session, argument);
    if (result != CAIRN_OK) fail_with(session, result);
  };
}

}  // namespace

int cairn_run(MPI_Comm world, const char* config, cairn_application function, void* argument) {
  return cairn_run_with_helpers(world, config, function, argument, nullptr, nullptr);
}

int cairn_run_with_helpers(MPI_Comm world, const char* config, cairn_application function, void* argument,
                           cairn_compute_part compute, void* data) {
  using namespace cairn::bind;
  const auto ending = cairn::run_application(world, text_or_empty(config), application_of(function, argument),
                                             compute_of(compute, data));
  return ending.code == EXIT_SUCCESS ? ending.code : fail(ending.code, ending.why);
}
