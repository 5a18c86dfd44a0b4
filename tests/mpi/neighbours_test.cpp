// Collectives among neighbours that a carrier makes of messages: each block comes to the place that MPI defines, on
// grids and graphs whose ranks may be neighbours several times, and of themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

#include "mpi/carried_messages.hpp"

namespace cairn::test {
namespace {

using Numbers = std::vector<int>;

// Of one rank: where blocks come from and go to. `opposite[i]`: the block that source i has sent is the one for its
// opposite[i]-th target; in graphs, the first that it has sent to this rank, then the second, and so on.
struct Neighbourhood {
  Numbers sources;
  Numbers targets;
  Numbers opposite;
};

class Neighbours : public CarriedMessages {
 protected:
  Neighbours() : CarriedMessages(64 * kMiB) {}
  void TearDown() override {
    EXPECT_EQ(journal_.obstacle(), std::nullopt);
    expect_balance();
    if (topology_ != MPI_COMM_NULL) MPI_Comm_free(&topology_);
    CarriedMessages::TearDown();
  }
  // A row of all ranks: a grid with a second dimension of one place.
  [[nodiscard]] Neighbourhood make_grid(bool is_periodic) {
    const std::array lengths{ranks_, 1};
    const std::array periodic{is_periodic ? 1 : 0, 1};
    MPI_Cart_create(comm_, 2, lengths.data(), periodic.data(), 0, &topology_);
    const int before = is_periodic || me_ > 0 ? before_ : MPI_PROC_NULL;
    const int after = is_periodic || me_ + 1 < ranks_ ? next_ : MPI_PROC_NULL;
    return {{before, after, me_, me_}, {before, after, me_, me_}, {1, 0, 3, 2}};
  }
  // Ring with edges to the next rank and to itself.
  [[nodiscard]] Neighbourhood make_graph() {
    Numbers index;
    Numbers edges;
    for (int rank = 0; rank < ranks_; ++rank) {
      edges.insert(edges.end(), {(rank + 1) % ranks_, rank, (rank + ranks_ - 1) % ranks_});
      index.push_back(static_cast<int>(edges.size()));
    }
    MPI_Graph_create(comm_, ranks_, index.data(), edges.data(), 0, &topology_);
    const Numbers all{next_, me_, before_};
    return {all, all, expected_order(all, [](int rank, int ranks) {
              return Numbers{(rank + 1) % ranks, rank, (rank + ranks - 1) % ranks};
            })};
  }
  // Two edges to the next rank, one to itself, one to rank 0.
  static Numbers targets_of(int rank, int ranks) { return {(rank + 1) % ranks, rank, 0, (rank + 1) % ranks}; }
  [[nodiscard]] Neighbourhood make_distributed_graph() {
    Numbers sources{before_, me_, before_};
    for (int rank = ranks_ - 1; rank >= 0 && me_ == 0; --rank) sources.push_back(rank);
    const Numbers targets = targets_of(me_, ranks_);
    MPI_Dist_graph_create_adjacent(comm_, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(targets.size()), targets.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &topology_);
    return {sources, targets, expected_order(sources, targets_of)};
  }
  // For each source, which of its targets the block was for: the k-th time that it is a source, the k-th of its targets
  // that is this rank.
  [[nodiscard]] Numbers expected_order(const Numbers& sources, const std::function<Numbers(int, int)>& targets) const {
    Numbers found;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const auto end = sources.begin() + static_cast<std::ptrdiff_t>(i);
      auto earlier = std::count(sources.begin(), end, sources[i]);
      const Numbers theirs = targets(sources[i], ranks_);
      std::size_t place = 0;
      while (theirs[place] != me_ || earlier-- > 0) ++place;
      found.push_back(static_cast<int>(place));
    }
    return found;
  }
  // The block from one rank for its target at that place.
  [[nodiscard]] static int value(int rank, int place, int i) { return 100'000 * (rank + 1) + 1000 * place + i; }
  [[nodiscard]] static Numbers blocks(int rank, std::size_t places, int count) {
    Numbers all;
    for (std::size_t place = 0; place < places; ++place)
      for (int i = 0; i < count; ++i) all.push_back(value(rank, static_cast<int>(place), i));
    return all;
  }
  // What has come, if blocks of that many elements lie side by side; nothing comes from a neighbour that is not there.
  [[nodiscard]] static Numbers expected(const Neighbourhood& at, int count, bool is_same_for_all) {
    Numbers all;
    for (std::size_t source = 0; source < at.sources.size(); ++source)
      for (int i = 0; i < count; ++i)
        all.push_back(at.sources[source] == MPI_PROC_NULL
                          ? -1
                          : value(at.sources[source], is_same_for_all ? 0 : at.opposite[source], i));
    return all;
  }
  void expect_all(const Neighbourhood& at) {
    for (const int count : {0, 1, 1000, 20'000}) {
      gather(at, count);
      exchange(at, count);
    }
  }
  void gather(const Neighbourhood& at, int count) {
    const Numbers own = blocks(me_, 1, count);
    Numbers got(at.sources.size() * static_cast<std::size_t>(count), -1);
    MPI_Neighbor_allgather(own.data(), count, MPI_INT, got.data(), count, MPI_INT, topology_);
    EXPECT_EQ(got, expected(at, count, true));
    const auto [counts, places] = parts(at.sources.size(), count);
    Numbers apart(at.sources.size() * static_cast<std::size_t>(count + 1), -1);
    MPI_Neighbor_allgatherv(own.data(), count, MPI_INT, apart.data(), counts.data(), places.data(), MPI_INT, topology_);
    EXPECT_EQ(joined(apart, count), got);
  }
  void exchange(const Neighbourhood& at, int count) {
    const Numbers own = blocks(me_, at.targets.size(), count);
    Numbers got(at.sources.size() * static_cast<std::size_t>(count), -1);
    MPI_Neighbor_alltoall(own.data(), count, MPI_INT, got.data(), count, MPI_INT, topology_);
    EXPECT_EQ(got, expected(at, count, false));

    const auto [in_counts, in_places] = parts(at.sources.size(), count);
    Numbers out_counts(at.targets.size(), count);
    Numbers out_places;
    for (std::size_t i = 0; i < at.targets.size(); ++i) out_places.push_back(static_cast<int>(i) * count);
    Numbers apart(at.sources.size() * static_cast<std::size_t>(count + 1), -1);
    MPI_Neighbor_alltoallv(own.data(), out_counts.data(), out_places.data(), MPI_INT, apart.data(), in_counts.data(),
                           in_places.data(), MPI_INT, topology_);
    EXPECT_EQ(joined(apart, count), got);

    const auto in_bytes = [](const Numbers& elements) {
      std::vector<MPI_Aint> bytes;
      for (const int one : elements) bytes.push_back(MPI_Aint{one} * static_cast<MPI_Aint>(sizeof(int)));
      return bytes;
    };
    const std::vector<MPI_Datatype> types(std::max(at.sources.size(), at.targets.size()), MPI_INT);
    std::ranges::fill(apart, -1);
    MPI_Neighbor_alltoallw(own.data(), out_counts.data(), in_bytes(out_places).data(), types.data(), apart.data(),
                           in_counts.data(), in_bytes(in_places).data(), types.data(), topology_);
    EXPECT_EQ(joined(apart, count), got);
  }
  // With a gap of one element between two blocks; and without.
  [[nodiscard]] static std::pair<Numbers, Numbers> parts(std::size_t blocks, int count) {
    Numbers places;
    for (std::size_t i = 0; i < blocks; ++i) places.push_back(static_cast<int>(i) * (count + 1));
    return {Numbers(blocks, count), places};
  }
  [[nodiscard]] static Numbers joined(const Numbers& apart, int count) {
    Numbers all;
    for (auto block = apart.begin(); block != apart.end(); block += count + 1)
      all.insert(all.end(), block, block + count);
    return all;
  }

  MPI_Comm topology_ = MPI_COMM_NULL;
};

TEST_F(Neighbours, in_a_grid_exchange_with_the_one_before_and_the_one_after) { expect_all(make_grid(true)); }

TEST_F(Neighbours, at_the_edge_of_a_grid_leave_the_place_of_the_missing_one_alone) { expect_all(make_grid(false)); }

TEST_F(Neighbours, in_a_graph_exchange_in_the_order_of_its_edges) { expect_all(make_graph()); }

TEST_F(Neighbours, in_a_distributed_graph_exchange_in_the_order_that_each_rank_gives) {
  expect_all(make_distributed_graph());
}

TEST_F(Neighbours, of_a_duplicate_are_those_of_its_parent) {
  const Neighbourhood at = make_distributed_graph();
  const MPI_Comm parent = topology_;
  MPI_Comm_dup(parent, &topology_);
  MPI_Comm gone = parent;
  MPI_Comm_free(&gone);
  expect_all(at);
}

TEST_F(Neighbours, are_an_error_without_a_topology) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  int number = 0;
  int kind = MPI_SUCCESS;
  MPI_Error_class(MPI_Neighbor_allgather(&number, 1, MPI_INT, &number, 1, MPI_INT, comm_), &kind);
  EXPECT_EQ(kind, MPI_ERR_TOPOLOGY);
}

}  // namespace
}  // namespace cairn::test
