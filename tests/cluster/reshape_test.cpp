// Restart on another number of ranks: each element must come to where the model says, for all kinds of regions.
#include <gtest/gtest.h>

#include "reshape/transfer.hpp"
#include "reshape_model.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

// Members reach what others of their node hold.
void expect_restored(std::uint64_t seed, std::uint32_t old_ranks, std::uint32_t new_ranks,
                     std::uint32_t members_per_node) {
  const ReshapeJob job = draw_job(seed, old_ranks, new_ranks);
  std::vector<std::string> wrong(new_ranks);
  run_cluster(new_ranks, [&](Comm& comm) {
    const std::uint32_t rank = comm.rank().value;
    Member member(job, rank);
    member.reach_node(members_per_node);
    const auto finding = reshape::reshape(comm, member.input());
    if (!finding)
      wrong[rank] = finding.error().text();
    else if (*finding)
      wrong[rank] = reshape::error_of(**finding).text();
    else
      for (const std::string& name : member.wrong()) wrong[rank] += name + " is wrong; ";
  });
  for (std::uint32_t rank = 0; rank < new_ranks; ++rank)
    EXPECT_EQ(wrong[rank], "") << "rank " << rank << ", seed " << seed << ", " << old_ranks << " to " << new_ranks
                               << ", nodes of " << members_per_node;
}

TEST(Reshape, brings_each_element_to_its_place_for_all_numbers_of_ranks) {
  for (std::uint32_t old_ranks = 1; old_ranks <= 12; ++old_ranks) {
    for (std::uint32_t new_ranks = 1; new_ranks <= 12; ++new_ranks) {
      for (std::uint64_t seed = 1; seed <= 4; ++seed) expect_restored(seed, old_ranks, new_ranks, 1 + seed % 4);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace cairn::test
