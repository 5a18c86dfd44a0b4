#include "torture/mpi/tally.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

#include <fmt/format.h>

namespace cairn::torture {

Tally& make_shared_tally() {
  void* memory = mmap(nullptr, sizeof(Tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  return *new (memory) Tally;
}

std::string text(const Tally& tally) {
  const std::uint64_t ranks = tally.ranks;
  const std::uint64_t launchers = tally.launchers;
  const std::uint64_t supervisors = tally.supervisors;
  return fmt::format(
      "{} jobs, {} of them twice at once, {} beside another user's, {} in little space; {} processes killed ({} ranks "
      "and heads, {} mpiruns, {} "
      "ckpt-runs), {} stopped, {} stores wiped, {} away for a while, {} files damaged",
      tally.lives.load(), tally.doubled.load(), tally.beside.load(), tally.small.load(),
      ranks + launchers + supervisors, ranks, launchers, supervisors, tally.stopped.load(), tally.wiped.load(),
      tally.away.load(), tally.damaged.load());
}

}  // namespace cairn::torture
