// Collectives that a carrier makes between the two groups of an intercommunicator have the results of MPI's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstring>
#include <vector>

#include "mpi/communicators.hpp"

namespace cairn::test {
namespace {

// What each collective of two groups gives this rank. Both groups give kUnit elements for each pair of ranks.
class TwoGroups : public Communicators {
 protected:
  static constexpr int kUnit = 2;
  using Numbers = std::vector<int>;

  [[nodiscard]] Numbers collectives() {
    Numbers all;
    others_count_ = peers_in(both_);
    own_count_ = size_of(both_);
    const auto add = [&](const Numbers& got) { all.insert(all.end(), got.begin(), got.end()); };
    MPI_Barrier(both_);
    for (const bool first : {true, false}) add(with_root(root_of(first)));
    add(without_root());
    add(reductions());
    return all;
  }

 private:
  // The last rank of one group, as this rank calls it.
  [[nodiscard]] int root_of(bool first) const {
    if (first != is_in_first()) return others_count_ - 1;
    return rank_in(both_) == own_count_ - 1 ? MPI_ROOT : MPI_PROC_NULL;
  }
  static void take_first(void* left, void* right, int* count, MPI_Datatype* type) {
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (MPI_Aint i = 0; i < *count; ++i)
      std::memcpy(static_cast<char*>(right) + i * extent, static_cast<char*>(left) + i * extent, sizeof(int));
  }
  [[nodiscard]] Numbers mine(int count) const {
    Numbers numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 100 * me_ + static_cast<int>(i);
    return numbers;
  }
  [[nodiscard]] Numbers each(int ranks, int value) const { return Numbers(static_cast<std::size_t>(ranks), value); }
  // Of blocks of kUnit elements, with a gap between two.
  [[nodiscard]] Numbers places(int ranks) const {
    Numbers places;
    for (int i = 0; i < ranks; ++i) places.push_back(i * (kUnit + 1));
    return places;
  }
  [[nodiscard]] Numbers room() const { return Numbers(static_cast<std::size_t>((kUnit + 1) * ranks_), -1); }

  [[nodiscard]] Numbers with_root(int root) const {
    Numbers all;
    const auto add = [&](const Numbers& got) { all.insert(all.end(), got.begin(), got.end()); };
    const Numbers out = mine((kUnit + 1) * ranks_);
    const Numbers counts = each(ranks_, kUnit);
    const Numbers at = places(ranks_);
    Numbers data = mine(kUnit);
    MPI_Bcast(data.data(), kUnit, MPI_INT, root, both_);
    add(data);
    Numbers to = room();
    MPI_Gather(out.data(), kUnit, MPI_INT, to.data(), kUnit, MPI_INT, root, both_);
    add(to);
    to = room();
    MPI_Gatherv(out.data(), kUnit, MPI_INT, to.data(), counts.data(), at.data(), MPI_INT, root, both_);
    add(to);
    to = room();
    MPI_Scatter(out.data(), kUnit, MPI_INT, to.data(), kUnit, MPI_INT, root, both_);
    add(to);
    to = room();
    MPI_Scatterv(out.data(), counts.data(), at.data(), MPI_INT, to.data(), kUnit, MPI_INT, root, both_);
    add(to);
    to = room();
    MPI_Reduce(out.data(), to.data(), kUnit, MPI_INT, MPI_SUM, root, both_);
    add(to);
    return all;
  }
  [[nodiscard]] Numbers without_root() const {
    Numbers all;
    const auto add = [&](const Numbers& got) { all.insert(all.end(), got.begin(), got.end()); };
    const Numbers out = mine((kUnit + 1) * ranks_);
    const Numbers counts = each(ranks_, kUnit);
    const Numbers at = places(ranks_);
    Numbers to = room();
    MPI_Allgather(out.data(), kUnit, MPI_INT, to.data(), kUnit, MPI_INT, both_);
    add(to);
    to = room();
    MPI_Allgatherv(out.data(), kUnit, MPI_INT, to.data(), counts.data(), at.data(), MPI_INT, both_);
    add(to);
    to = room();
    MPI_Alltoall(out.data(), kUnit, MPI_INT, to.data(), kUnit, MPI_INT, both_);
    add(to);
    to = room();
    MPI_Alltoallv(out.data(), counts.data(), at.data(), MPI_INT, to.data(), counts.data(), at.data(), MPI_INT, both_);
    add(to);
    Numbers bytes = at;
    for (int& place : bytes) place *= static_cast<int>(sizeof(int));
    const std::vector<MPI_Datatype> types(counts.size(), MPI_INT);
    to = room();
    MPI_Alltoallw(out.data(), counts.data(), bytes.data(), types.data(), to.data(), counts.data(), bytes.data(),
                  types.data(), both_);
    add(to);
    return all;
  }
  [[nodiscard]] Numbers reductions() const {
    Numbers all;
    const auto add = [&](const Numbers& got) { all.insert(all.end(), got.begin(), got.end()); };
    const int total = kUnit * own_count_ * others_count_;
    const Numbers out = mine(total);
    const auto result = [&] { return Numbers(static_cast<std::size_t>(total), -1); };
    Numbers to = result();
    MPI_Allreduce(out.data(), to.data(), total, MPI_INT, MPI_SUM, both_);
    add(to);
    // Of every second number, by an operation that depends on the order of the ranks.
    MPI_Datatype gapped = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &gapped);
    MPI_Type_commit(&gapped);
    MPI_Op first = MPI_OP_NULL;
    MPI_Op_create(&take_first, 0, &first);
    to = result();
    MPI_Allreduce(out.data(), to.data(), total / 2, gapped, first, both_);
    add(to);
    MPI_Op_free(&first);
    MPI_Type_free(&gapped);
    to = result();
    MPI_Reduce_scatter_block(out.data(), to.data(), kUnit * others_count_, MPI_INT, MPI_SUM, both_);
    add(to);
    const Numbers counts = each(own_count_, kUnit * others_count_);
    to = result();
    MPI_Reduce_scatter(out.data(), to.data(), counts.data(), MPI_INT, MPI_SUM, both_);
    add(to);
    return all;
  }
  int own_count_ = 0;
  int others_count_ = 0;
};

TEST_F(TwoGroups, have_the_collectives_of_mpi) {
  EXPECT_TRUE(journal_.start(0));
  make_two_groups();
  const Numbers carried = collectives();
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
  carrying_.reset();
  EXPECT_EQ(collectives(), carried);
  carrying_.emplace(*carrier_);
  free_all();
}

// Rank 0 gives a communicator that is not carried, so MPI makes it, and a failure makes all ranks roll back.
TEST_F(TwoGroups, of_which_one_is_not_carried_are_left_to_mpi) {
  EXPECT_TRUE(journal_.start(0));
  MPI_Comm group = MPI_COMM_NULL;
  MPI_Comm_split(comm_, me_ == 0 ? 0 : 1, 0, &group);
  MPI_Intercomm_create(me_ == 0 ? MPI_COMM_SELF : group, 0, comm_, me_ == 0 ? 1 : 0, 6, &both_);
  EXPECT_THAT(journal_.obstacle(), testing::Optional(testing::HasSubstr("MPI_Intercomm_create")));
  EXPECT_EQ(use_both(both_, me_).front(), me_ == 0 ? 1 : 0);
  MPI_Comm_free(&group);
  free_all();
}

}  // namespace
}  // namespace cairn::test
