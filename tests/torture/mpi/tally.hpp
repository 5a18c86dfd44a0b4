// What was done to jobs, counted over all scenarios, each of which is played in a process of its own: the counts are in
// memory that they share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace cairn::torture {

struct Tally {
  std::atomic<std::uint64_t> lives{0};        // starts of mpirun or ckpt-run
  std::atomic<std::uint64_t> ranks{0};        // killed: ranks and heads
  std::atomic<std::uint64_t> launchers{0};    // killed
  std::atomic<std::uint64_t> supervisors{0};  // killed: ckpt-run
  std::atomic<std::uint64_t> stopped{0};      // processes
  std::atomic<std::uint64_t> wiped{0};        // stores
  std::atomic<std::uint64_t> away{0};         // times that the global store was
  std::atomic<std::uint64_t> damaged{0};      // files, under a running job
  std::atomic<std::uint64_t> doubled{0};      // jobs that were started twice at once
  std::atomic<std::uint64_t> beside{0};       // another user's job
  std::atomic<std::uint64_t> small{0};        // lives on a small file system
};

// Shared with all processes that are forked later. Never freed.
[[nodiscard]] Tally& make_shared_tally();
// "12 processes killed (10 ranks and heads, 1 launcher …), …"
[[nodiscard]] std::string text(const Tally& tally);

}  // namespace cairn::torture
