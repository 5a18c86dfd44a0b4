// Communicators that the application makes of a carried one before it restores: their messages and collectives are
// those of MPI, and a replacement gets the same communicators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <vector>

#include "mpi/carried_messages.hpp"
#include "mpi/mpi_comm.hpp"
#include "support/facts.hpp"

namespace cairn::test {
namespace {

class Communicators : public CarriedMessages {
 protected:
  Communicators() : CarriedMessages(64 * kMiB, false) {}
  // Those of a program: a duplicate, its halves, one that rank 0 is not in, a periodic row of all, graphs, one that
  // every other rank makes, with the last one, one that is begun first, and one of two groups, which are merged again.
  void make_all() {
    MPI_Comm_dup(comm_, &duplicate_);
    MPI_Comm_split(duplicate_, me_ % 2, -me_, &half_);
    MPI_Comm_split(comm_, me_ == 0 ? MPI_UNDEFINED : 0, 0, &others_);
    const int periodic = 1;
    MPI_Cart_create(duplicate_, 1, &ranks_, &periodic, 0, &row_);
    make_graph();
    make_graph_of_edges();
    make_group();
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(duplicate_, &begun_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    make_two_groups();
  }
  // Each rank gives the edge of the next one.
  void make_graph_of_edges() {
    const int degree = 1;
    const int target = (next_ + 1) % ranks_;
    MPI_Dist_graph_create(comm_, 1, &next_, &degree, &target, &me_, MPI_INFO_NULL, 0, &edges_);
  }
  // The first ranks, and the others.
  [[nodiscard]] bool is_in_first() const { return me_ < ranks_ / 2; }
  void make_two_groups() {
    MPI_Comm group = MPI_COMM_NULL;
    MPI_Comm_split(comm_, is_in_first() ? 0 : 1, 0, &group);
    MPI_Intercomm_create(group, 0, comm_, is_in_first() ? ranks_ / 2 : 0, 6, &both_);
    MPI_Intercomm_merge(both_, is_in_first() ? 1 : 0, &merged_);
    MPI_Comm_free(&group);
  }
  void make_graph() {
    std::vector<int> index;
    std::vector<int> edges;
    for (int rank = 0; rank < ranks_; ++rank) {
      index.push_back(rank + 1);
      edges.push_back((rank + 1) % ranks_);
    }
    MPI_Graph_create(duplicate_, ranks_, index.data(), edges.data(), 0, &graph_);
  }
  void make_group() {
    std::vector<int> members;
    for (int rank = ranks_ - 1; rank >= 0; rank -= 2) members.push_back(rank);
    if (!std::ranges::count(members, me_)) return;
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm_group(comm_, &all);
    MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
    MPI_Comm_create_group(comm_, some, 6, &group_);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
  }
  [[nodiscard]] std::vector<MPI_Comm> all() const {
    return {duplicate_, half_, others_, row_, graph_, edges_, group_, begun_, both_, merged_};
  }
  void free_all() {
    for (MPI_Comm comm : all())
      if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    duplicate_ = half_ = others_ = row_ = graph_ = edges_ = group_ = begun_ = both_ = merged_ = MPI_COMM_NULL;
  }
  MPI_Comm duplicate_ = MPI_COMM_NULL;
  MPI_Comm half_ = MPI_COMM_NULL;
  MPI_Comm others_ = MPI_COMM_NULL;
  MPI_Comm row_ = MPI_COMM_NULL;
  MPI_Comm graph_ = MPI_COMM_NULL;
  MPI_Comm edges_ = MPI_COMM_NULL;
  MPI_Comm begun_ = MPI_COMM_NULL;
  MPI_Comm both_ = MPI_COMM_NULL;  // of two groups
  MPI_Comm merged_ = MPI_COMM_NULL;
  MPI_Comm group_ = MPI_COMM_NULL;
};

bool has_two_groups(MPI_Comm comm) {
  int has_two = 0;
  MPI_Comm_test_inter(comm, &has_two);
  return has_two != 0;
}

int peers_in(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_remote_size(comm, &size);
  return size;
}

// Each rank sends its number to all of the other group.
std::vector<int> use_both(MPI_Comm comm, int number) {
  std::vector<int> got(static_cast<std::size_t>(peers_in(comm)), -1);
  std::vector<MPI_Request> requests;
  for (int peer = 0; peer < peers_in(comm); ++peer) {
    MPI_Irecv(&got[static_cast<std::size_t>(peer)], 1, MPI_INT, peer, 4, comm, &requests.emplace_back());
    MPI_Isend(&number, 1, MPI_INT, peer, 4, comm, &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return got;
}

// Each rank passes a number on in each, and all add theirs.
std::vector<int> use(const std::vector<MPI_Comm>& comms, int number) {
  std::vector<int> got;
  for (const MPI_Comm comm : comms) {
    if (comm == MPI_COMM_NULL) continue;
    if (has_two_groups(comm)) {
      const std::vector<int> theirs = use_both(comm, number);
      got.insert(got.end(), theirs.begin(), theirs.end());
      continue;
    }
    const int size = size_of(comm);
    const int me = rank_in(comm);
    int theirs = -1;
    MPI_Status status{};
    MPI_Sendrecv(&number, 1, MPI_INT, (me + 1) % size, 4, &theirs, 1, MPI_INT, (me + size - 1) % size, 4, comm,
                 &status);
    int sum = 0;
    MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Request request = MPI_REQUEST_NULL;
    int later = -1;
    MPI_Irecv(&later, 1, MPI_INT, (me + 1) % size, 5, comm, &request);
    MPI_Send(&sum, 1, MPI_INT, (me + size - 1) % size, 5, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    got.insert(got.end(), {theirs, status.MPI_SOURCE, sum, later});
  }
  return got;
}

TEST_F(Communicators, have_the_messages_of_mpi) {
  make_all();
  EXPECT_TRUE(journal_.start(0));
  const auto carried = use(all(), 10 + me_);
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
  carrying_.reset();
  EXPECT_EQ(use(all(), 10 + me_), carried);
  carrying_.emplace(*carrier_);
  free_all();
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
}

TEST_F(Communicators, have_messages_before_the_rank_restores_too) {
  make_all();
  (void)use(all(), me_);
  EXPECT_TRUE(journal_.start(0));
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  free_all();
}

TEST_F(Communicators, that_are_made_later_are_carried_too) {
  EXPECT_TRUE(journal_.start(0));
  make_all();
  const auto carried = use(all(), 10 + me_);
  expect_balance();
  free_all();
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  carrying_.reset();
  make_all();
  EXPECT_EQ(use(all(), 10 + me_), carried);
  carrying_.emplace(*carrier_);
}

TEST_F(Communicators, that_no_replacement_can_ask_for_are_forgotten) {
  EXPECT_TRUE(journal_.start(0));
  make_all();  // the first are never forgotten
  free_all();
  const std::size_t first = journal_.channels().facts().size();
  for (std::uint32_t step = 1; step <= 5; ++step) {
    journal_.enters(step);
    make_all();
    (void)use(all(), me_);
    free_all();
    EXPECT_EQ(journal_.channels().facts().size(), 2 * first);
    journal_.enters(step + 1);
    journal_.takes(step + 1, step);
    journal_.is_safe(step);
    carrier_->passes_safe_point();
  }
  EXPECT_EQ(journal_.channels().facts().size(), first);
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
}

// Which messages come first does not depend on when each rank begins.
TEST_F(Communicators, that_are_begun_wait_for_no_rank) {
  EXPECT_TRUE(journal_.start(0));
  MPI_Request request = MPI_REQUEST_NULL;
  if (me_ == 0) MPI_Comm_idup(comm_, &begun_, &request);
  int word = 0;
  if (me_ != 0) MPI_Recv(&word, 1, MPI_INT, 0, 7, comm_, MPI_STATUS_IGNORE);
  for (int peer = 1; me_ == 0 && peer < ranks_; ++peer) MPI_Send(&word, 1, MPI_INT, peer, 7, comm_);
  if (me_ != 0) MPI_Comm_idup(comm_, &begun_, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(use({begun_}, me_).size(), 4U);
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
  free_all();
}

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

TEST_F(Communicators, have_error_handlers_of_their_own) {
  MPI_Comm_dup(comm_, &duplicate_);
  EXPECT_TRUE(journal_.start(0));
  MPI_Comm_set_errhandler(duplicate_, MPI_ERRORS_RETURN);  // on the other one errors are fatal
  const std::vector<int> two(2, me_);
  int one = -1;
  int kind = MPI_SUCCESS;
  MPI_Error_class(
      MPI_Sendrecv(two.data(), 2, MPI_INT, next_, 0, &one, 1, MPI_INT, before_, 0, duplicate_, MPI_STATUS_IGNORE),
      &kind);
  EXPECT_EQ(kind, MPI_ERR_TRUNCATE);
  free_all();
}

// What a communicator shows of itself.
std::vector<int> shape_of(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return {};
  std::vector<int> shape{size_of(comm), rank_in(comm)};
  if (has_two_groups(comm)) shape.push_back(peers_in(comm));
  int kind = MPI_UNDEFINED;
  MPI_Topo_test(comm, &kind);
  shape.push_back(kind);
  if (kind == MPI_CART) {
    int before = 0;
    int after = 0;
    MPI_Cart_shift(comm, 0, 1, &before, &after);
    shape.insert(shape.end(), {before, after});
  }
  if (kind == MPI_DIST_GRAPH) {
    std::array<int, 4> edges{};
    MPI_Dist_graph_neighbors(comm, 1, edges.data(), &edges[1], 1, &edges[2], &edges[3]);
    shape.insert(shape.end(), edges.begin(), edges.end());
  }
  if (kind == MPI_GRAPH) {
    int neighbour = -1;
    MPI_Graph_neighbors(comm, rank_in(comm), 1, &neighbour);
    shape.push_back(neighbour);
  }
  return shape;
}

// The last rank is replaced by a process that knows nothing.
class ReplacedMember : public Communicators {};

TEST_F(ReplacedMember, gets_the_same_communicators_without_the_others) {
  make_all();
  std::vector<std::vector<int>> shapes;
  for (const MPI_Comm comm : all()) shapes.push_back(shape_of(comm));
  const bool replaces = me_ == ranks_ - 1;
  carrying_.reset();
  auto ranks = std::move(*MpiComm::duplicate(comm_));
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(comm_, &twin);
  replay::Journal fresh(static_cast<std::uint32_t>(me_), kMiB);
  std::map<std::uint32_t, Buffer> shipped;  // all others survive
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto number = static_cast<std::uint32_t>(rank);
    if (rank != me_) shipped[number] = replay::Journal(number, kMiB).prologue_for(static_cast<std::uint32_t>(me_));
  }
  ASSERT_TRUE(fresh.replays_prologue(shipped, static_cast<std::uint32_t>(ranks_)));
  MessageCarrier replacement({.comm = twin,
                              .own = own_,
                              .journal = fresh,
                              .stays = [] { return false; },
                              .limit = std::chrono::minutes(1),
                              .replaces = true,
                              .log = Log::silent()},
                             std::make_shared<Lifeline>(MPI_COMM_NULL, MPI_COMM_NULL));
  MessageCarrier& mine = replaces ? replacement : *carrier_;
  ASSERT_TRUE(mine.makes_communicators_again(*ranks, twin));
  if (replaces) {
    const std::vector<MPI_Comm> before = all();
    carrying_.emplace(replacement);
    std::swap(comm_, twin);
    make_all();  // no other rank makes these calls
    std::swap(comm_, twin);
    for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(shape_of(all()[i]), shapes[i]) << i;
    carrying_.reset();
  }
  for (const MPI_Comm comm : all()) {
    if (comm == MPI_COMM_NULL) continue;
    EXPECT_EQ(size_of(mine.stand_in(comm)), size_of(comm));
  }
  carrying_.emplace(*carrier_);
}

}  // namespace
}  // namespace cairn::test
