#include <cstdio>
#include <cstdlib>
#include <exception>

#include <cairn/cairn.hpp>

#include "mpi/launcher.hpp"

namespace cairn {
namespace {

bool restart_cannot_mend(ErrorKind kind) {
  return kind == ErrorKind::usage || kind == ErrorKind::config || kind == ErrorKind::mismatch ||
         kind == ErrorKind::taken_over;
}

// The other ranks wait for this one and would wait for ever: the whole job ends, with the reason.
void end_job(MPI_Comm world, const char* text, CompletionMark::Kind kind = CompletionMark::Kind::failed) {
  std::fprintf(stderr, "cairn: error: %s\n", text);
  if (const auto launcher = Launcher::from_environment()) launcher->leave(CompletionMark{kind, text});
  MPI_Abort(world, EXIT_FAILURE);
}

}  // namespace

void run(MPI_Comm world, const std::string& config, const std::function<void(Session&)>& application) {
  // What all ranks see alike is thrown on all alike, and the caller decides.
  const auto session = Session::open(world, config);
  if (!session) return;
  try {
    application(*session);
  } catch (const Exception& error) {
    using Kind = CompletionMark::Kind;
    end_job(world, error.what(), restart_cannot_mend(error.kind()) ? Kind::error : Kind::failed);
  } catch (const std::exception& error) {
    end_job(world, error.what());
  } catch (...) {
    end_job(world, "an exception of unknown type left the application");
  }
  // Nobody waits for anybody after this, whatever it throws.
  session->finalize();
}

}  // namespace cairn
