// What the tap knows of a communicator in a family: its number, and the rank in the session of each of its ranks. All
// of its ranks compute the same number without communication.
//
// Ranks make communicators of the same parent in the same order. So the parent's number and the number of the child
// identify all communicators that were made at once; their members distinguish these. If only some ranks of the parent
// make one, or ranks of two parents, they count those that the same ranks have made with the same tag.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace cairn::tap {

class Family;

struct Member {
  Family* family = nullptr;
  std::uint64_t id = 0;
  bool all_know = true;             // so do all of its ranks: it is in a family on each
  std::vector<std::int32_t> ranks;  // the rank in the session of each possible peer, by rank in this communicator
  std::atomic<std::uint64_t> children = 0;     // made so far
  std::atomic<std::uint64_t> collectives = 0;  // begun so far

  // The session's rank, kAnyPeer or kNoPeer.
  [[nodiscard]] std::int32_t rank_of(int peer) const;
};

// Of the parent and the child: what tells children apart, see above.
struct Birth {
  std::uint64_t parent = 0;
  std::uint64_t number = 0;
  bool all_know = true;  // all of its ranks take it for one of a family, if they do so for its parent
};

// Fills in `id` and `ranks`. `root` is the session's communicator. Local calls of MPI only.
void describe(Member& member, MPI_Comm root, MPI_Comm comm, const Birth& birth);
// Gives it another `id`, if `before` communicators had the same one.
void tell_apart(Member& member, std::uint64_t before);

}  // namespace cairn::tap
