#include "tap/member.hpp"

#include <numeric>

#include "base/mix.hpp"
#include "format/call_record.hpp"

namespace cairn::tap {
namespace {

// The ranks in the session of a group's members, in the order of the group. Frees the group.
std::vector<std::int32_t> ranks_of(MPI_Group group, MPI_Group session) {
  int size = 0;
  MPI_Group_size(group, &size);
  std::vector<int> here(static_cast<std::size_t>(size));
  std::vector<int> there(here.size(), MPI_UNDEFINED);
  std::iota(here.begin(), here.end(), 0);
  MPI_Group_translate_ranks(group, size, here.data(), session, there.data());
  MPI_Group_free(&group);
  for (int& rank : there) {
    if (rank == MPI_UNDEFINED) rank = kNoPeer;
  }
  return there;
}

// Does not depend on the order of the ranks.
std::uint64_t mix_all(const std::vector<std::int32_t>& ranks) {
  std::uint64_t sum = 0;
  for (const std::int32_t rank : ranks) sum += mix(static_cast<std::uint64_t>(rank) + 1);
  return sum;
}

}  // namespace

std::int32_t Member::rank_of(int peer) const {
  if (peer == MPI_ANY_SOURCE) return kAnyPeer;
  return peer >= 0 && static_cast<std::size_t>(peer) < ranks.size() ? ranks[static_cast<std::size_t>(peer)] : kNoPeer;
}

void describe(Member& member, MPI_Comm root, MPI_Comm comm, const Birth& birth) {
  MPI_Group session = MPI_GROUP_NULL;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(root, &session);
  MPI_Comm_group(comm, &group);
  member.ranks = ranks_of(group, session);
  std::uint64_t members = mix_all(member.ranks);
  int has_two_sides = 0;
  MPI_Comm_test_inter(comm, &has_two_sides);
  if (has_two_sides != 0) {
    // Each side has the other side as its peers; both compute the same number.
    MPI_Comm_remote_group(comm, &group);
    member.ranks = ranks_of(group, session);
    members += mix_all(member.ranks);
  }
  MPI_Group_free(&session);
  member.id = mix(mix(birth.parent ^ mix(birth.number)) + members) | 1U;
}

void tell_apart(Member& member, std::uint64_t before) {
  if (before > 0) member.id = mix(member.id + before) | 1U;
}

}  // namespace cairn::tap
