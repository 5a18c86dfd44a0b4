// Communicators that the application makes of a carried one before it restores: their messages and collectives are
// those of MPI, and a replacement gets the same communicators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mpi/communicators.hpp"
#include "mpi/mpi_comm.hpp"
#include "support/facts.hpp"

namespace cairn::test {
namespace {

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

// A communicator that no replacement can get. The program can use it.
struct NotReplayed {
  const char* call;
  void (*make)(MPI_Comm comm, MPI_Comm* made);
};

void make_by_duplicating_later(MPI_Comm comm, MPI_Comm* made) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_idup(comm, made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

// Each rank gives the edge of the next one.
void make_of_edges(MPI_Comm comm, MPI_Comm* made) {
  const int next = (rank_in(comm) + 1) % size_of(comm);
  const int target = (next + 1) % size_of(comm);
  const int degree = 1;
  MPI_Dist_graph_create(comm, 1, &next, &degree, &target, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, made);
}

// Rank 0 and the others, merged again.
void make_of_two_groups(MPI_Comm comm, MPI_Comm* made) {
  const int side = rank_in(comm) == 0 ? 0 : 1;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Comm_split(comm, side, 0, &half);
  MPI_Intercomm_create(half, 0, comm, side == 0 ? 1 : 0, 3, &both);
  MPI_Barrier(both);
  MPI_Intercomm_merge(both, side, made);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}

class CommunicatorsNotReplayed : public Communicators, public testing::WithParamInterface<NotReplayed> {
 protected:
  // Of 10 and its rank, of each.
  [[nodiscard]] int sum_of_all() const { return ranks_ * 10 + ranks_ * (ranks_ - 1) / 2; }
};

TEST_P(CommunicatorsNotReplayed, are_named_as_the_obstacle_until_the_end_and_can_be_used) {
  EXPECT_TRUE(journal_.start(0));
  MPI_Comm made = MPI_COMM_NULL;
  GetParam().make(comm_, &made);
  const std::string obstacle = "rank " + std::to_string(me_) + " calls " + GetParam().call;
  EXPECT_EQ(journal_.obstacle(), obstacle);
  EXPECT_EQ(use({made}, 10 + me_), (std::vector{10 + before_, before_, sum_of_all(), sum_of_all()}));
  MPI_Comm_free(&made);
  journal_.enters(1);
  journal_.takes(1, 0);
  journal_.is_safe(0);
  EXPECT_EQ(journal_.obstacle(), obstacle);
}

TEST_P(CommunicatorsNotReplayed, are_an_obstacle_before_the_rank_restores_too) {
  MPI_Comm made = MPI_COMM_NULL;
  GetParam().make(comm_, &made);
  EXPECT_EQ(journal_.obstacle(), "rank " + std::to_string(me_) + " calls " + GetParam().call + " before restore()");
  MPI_Comm_free(&made);
}

INSTANTIATE_TEST_SUITE_P(Each, CommunicatorsNotReplayed,
                         testing::Values(NotReplayed{"MPI_Comm_idup", make_by_duplicating_later},
                                         NotReplayed{"MPI_Dist_graph_create", make_of_edges},
                                         NotReplayed{"MPI_Intercomm_create", make_of_two_groups}),
                         [](const auto& one) { return std::string(one.param.call); });

// After a repair, the application's own handles are revoked. Here they have too few ranks for the call.
TEST(StaleHandles, are_replaced_in_all_arguments_of_a_call) {
  const int me = rank_in(MPI_COMM_WORLD);
  const int last = size_of(MPI_COMM_WORLD) - 1;
  MPI_Comm stale = MPI_COMM_NULL;
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm twin = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_SELF, &stale);
  MPI_Comm_dup(MPI_COMM_SELF, &own);
  MPI_Comm_dup(MPI_COMM_WORLD, &twin);
  MPI_Comm_set_errhandler(stale, MPI_ERRORS_RETURN);
  replay::Journal journal(0, kMiB);
  replay::DeadlockCheck deadlocks;
  const auto lifeline = std::make_shared<Lifeline>(MPI_COMM_NULL, MPI_COMM_NULL);
  MessageCarrier carrier({.comm = stale,
                          .own = own,
                          .journal = journal,
                          .deadlocks = deadlocks,
                          .stays = [] { return false; },
                          .limit = std::chrono::minutes(1),
                          .log = Log::silent()},
                         lifeline);
  carrier.goes_on(twin, own, lifeline);
  if (me >= last - 1) {
    const tap::Carrying carrying(carrier);
    MPI_Comm both = MPI_COMM_NULL;
    ASSERT_EQ(MPI_Intercomm_create(MPI_COMM_SELF, 0, stale, 2 * last - 1 - me, 4, &both), MPI_SUCCESS);
    MPI_Comm_free(&both);
  }
  for (MPI_Comm* const comm : {&stale, &own, &twin}) MPI_Comm_free(comm);
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
  replay::Journal fresh(static_cast<std::uint32_t>(me_), kMiB, replay::Origin::replacement);
  std::map<std::uint32_t, Buffer> shipped;  // all others survive
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto number = static_cast<std::uint32_t>(rank);
    if (rank != me_) shipped[number] = replay::Journal(number, kMiB).prologue_for(static_cast<std::uint32_t>(me_));
  }
  ASSERT_TRUE(fresh.replays_prologue(shipped, static_cast<std::uint32_t>(ranks_)));
  MessageCarrier replacement({.comm = twin,
                              .own = own_,
                              .journal = fresh,
                              .deadlocks = deadlocks_,
                              .stays = [] { return false; },
                              .limit = std::chrono::minutes(1),
                              .log = Log::silent()},
                             std::make_shared<Lifeline>(MPI_COMM_NULL, MPI_COMM_NULL));
  MessageCarrier& mine = replaces ? replacement : *carrier_;
  ASSERT_TRUE(mine.make_again(*ranks, twin));
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
