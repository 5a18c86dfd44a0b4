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
#include "bind/cairn_run.hpp"
#include "bind/last_error.hpp"
#include "bind/parts.hpp"
#include "repair/run.hpp"

namespace {

using cairn::ErrorKind;
using cairn::Exception;
using cairn::bind::Code;

// Whether an exception can leave the function that begins there. The table that says how has an entry for each address
// inside it; the runtime library looks at the one before what it is asked for.
bool has_unwind_table(Code code) { return _Unwind_FindEnclosingFunction(reinterpret_cast<char*>(code) + 1) != nullptr; }

// All ranks find the same, so rank 0 tells it.
void require_unwind_table(const cairn_session& session, Code code) {
  if (!session.is_repairable() || has_unwind_table(code)) return;
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

std::function<void(cairn::Session&)> application_of(cairn_application function, void* argument, Code code) {
  return [function, argument, code](cairn::Session& lent) {
    cairn_session session(lent);
    if (function == nullptr) throw Exception(ErrorKind::usage, "cairn_run: the function is NULL");
    require_unwind_table(session, code);
    (void)cairn::bind::fail(CAIRN_OK, {});
    const int result = function(&session, argument);
    if (result != CAIRN_OK) fail_with(session, result);
  };
}

}  // namespace

int cairn::bind::run_in(MPI_Comm world, const char* config, const Program& program) {
  const auto ending = cairn::run_application(
      world, text_or_empty(config), application_of(program.function, program.argument, program.code), program.compute);
  return ending.code == EXIT_SUCCESS ? ending.code : fail(ending.code, ending.why);
}

int cairn_run(MPI_Comm world, const char* config, cairn_application function, void* argument) {
  return cairn_run_with_helpers(world, config, function, argument, nullptr, nullptr);
}

int cairn_run_with_helpers(MPI_Comm world, const char* config, cairn_application function, void* argument,
                           cairn_compute_part compute, void* data) {
  return cairn::bind::run_in(world, config,
                             {.function = function,
                              .argument = argument,
                              .code = reinterpret_cast<Code>(function),
                              .compute = cairn::bind::compute_of(compute, data)});
}
