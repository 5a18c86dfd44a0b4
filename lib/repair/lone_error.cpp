#include "repair/lone_error.hpp"

#include <cstdlib>

#include <fmt/format.h>

#include "mpi/launcher.hpp"
#include "mpi/place_in.hpp"

namespace cairn {

void end_for_lone_error(MPI_Comm world, Resilient* job, const std::exception& error) {
  const CompletionMark why{
      CompletionMark::Kind::failed, fmt::format("process {}: {}", rank_in(world), error.what()), {}, cause_of(error)};
  if (job != nullptr) job->give_up(why);
  Launcher::from_environment().value_or(Launcher{}).end_job(world, why);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace cairn
