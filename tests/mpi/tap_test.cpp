// The tap knows the communicators that an application makes from its session's, however it makes them, and no others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tap/family.hpp"
#include "tap/world.hpp"

namespace cairn::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

// Ways to make a communicator from `parent`, collective.
struct Way {
  std::string name;
  std::function<void(MPI_Comm parent, MPI_Comm* made)> make;
};

void create(MPI_Comm parent, MPI_Comm* made) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(parent, &group);
  MPI_Comm_create(parent, group, made);
  MPI_Group_free(&group);
}

void create_group(MPI_Comm parent, MPI_Comm* made) {
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Comm_group(parent, &group);
  MPI_Comm_create_group(parent, group, 7, made);
  MPI_Group_free(&group);
}

void cart(MPI_Comm parent, MPI_Comm* made) {
  const int length = size_of(parent);
  const int periodic = 1;
  MPI_Cart_create(parent, 1, &length, &periodic, 0, made);
}

void graph(MPI_Comm parent, MPI_Comm* made) {
  // A ring.
  const int size = size_of(parent);
  std::vector<int> index;
  std::vector<int> edges;
  for (int i = 0; i < size; ++i) {
    edges.push_back((i + 1) % size);
    index.push_back(i + 1);
  }
  MPI_Graph_create(parent, size, index.data(), edges.data(), 0, made);
}

void dist_graph(MPI_Comm parent, MPI_Comm* made) {
  const int me = rank_in(parent);
  const int degree = 1;
  const int next = (me + 1) % size_of(parent);
  MPI_Dist_graph_create(parent, 1, &me, &degree, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, made);
}

void dist_graph_adjacent(MPI_Comm parent, MPI_Comm* made) {
  const int size = size_of(parent);
  const int next = (rank_in(parent) + 1) % size;
  const int last = (rank_in(parent) + size - 1) % size;
  MPI_Dist_graph_create_adjacent(parent, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, made);
}

const std::vector<Way>& ways() {
  static const std::vector<Way> all = {
      {"dup", [](MPI_Comm parent, MPI_Comm* made) { MPI_Comm_dup(parent, made); }},
      {"dup, as Fortran calls it", [](MPI_Comm parent, MPI_Comm* made) { PMPI_Comm_dup(parent, made); }},
      {"dup_with_info", [](MPI_Comm parent, MPI_Comm* made) { MPI_Comm_dup_with_info(parent, MPI_INFO_NULL, made); }},
      {"split", [](MPI_Comm parent, MPI_Comm* made) { MPI_Comm_split(parent, 0, -rank_in(parent), made); }},
      {"split_type", [](MPI_Comm parent,
                        MPI_Comm* made) { MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, made); }},
      {"create", create},
      {"create_group", create_group},
      {"cart", cart},
      {"graph", graph},
      {"dist_graph", dist_graph},
      {"dist_graph_adjacent", dist_graph_adjacent},
  };
  return all;
}

void leave(MPI_Comm* /*comm*/, int* /*code*/, ...) { throw std::runtime_error("left"); }

class TapOfMpi : public testing::Test {
 protected:
  void SetUp() override { MPI_Comm_dup(MPI_COMM_WORLD, &root_); }
  void TearDown() override { MPI_Comm_free(&root_); }
  [[nodiscard]] std::function<void(MPI_Comm)> note() {
    return [this](MPI_Comm comm) { told_.push_back(comm); };
  }

  MPI_Comm root_ = MPI_COMM_NULL;
  std::vector<MPI_Comm> told_;
};

TEST_F(TapOfMpi, hears_of_a_communicator_made_in_any_way_once_and_until_it_is_freed) {
  const tap::Family family(root_, note());
  EXPECT_TRUE(family.has(root_));
  for (const Way& way : ways()) {
    told_.clear();
    MPI_Comm made = MPI_COMM_NULL;
    way.make(root_, &made);
    EXPECT_THAT(told_, ElementsAre(made)) << way.name;
    EXPECT_TRUE(family.has(made)) << way.name;
    MPI_Comm child = MPI_COMM_NULL;
    way.make(made, &child);
    EXPECT_THAT(told_, ElementsAre(made, child)) << way.name;
    MPI_Comm_free(&child);
    const MPI_Comm before = made;
    MPI_Comm_free(&made);
    EXPECT_FALSE(family.has(before)) << way.name;
  }
}

TEST_F(TapOfMpi, hears_of_parts_of_grids_and_of_intercommunicators) {
  const tap::Family family(root_, note());
  MPI_Comm grid = MPI_COMM_NULL;
  const std::array<int, 2> lengths{1, size_of(root_)};
  const std::array<int, 2> periodic{0, 0};
  MPI_Cart_create(root_, 2, lengths.data(), periodic.data(), 0, &grid);
  const std::array<int, 2> kept{0, 1};
  MPI_Comm row = MPI_COMM_NULL;
  MPI_Cart_sub(grid, kept.data(), &row);
  const int side = rank_in(root_) == 0 ? 0 : 1;
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(root_, side, 0, &half);
  MPI_Comm both = MPI_COMM_NULL;
  MPI_Intercomm_create(half, 0, root_, side == 0 ? 1 : 0, 5, &both);
  MPI_Comm merged = MPI_COMM_NULL;
  MPI_Intercomm_merge(both, side, &merged);
  EXPECT_THAT(told_, ElementsAre(grid, row, half, both, merged));
  for (MPI_Comm* comm : {&merged, &both, &half, &row, &grid}) MPI_Comm_disconnect(comm);
  for (const MPI_Comm comm : told_) EXPECT_FALSE(family.has(comm));
}

TEST_F(TapOfMpi, hears_of_one_that_is_begun_when_it_is_complete_whichever_call_completes_it) {
  using Complete = std::function<void(MPI_Request*)>;
  int flag = 0;
  int index = 0;
  int done = 0;
  const std::vector<Complete> completions = {
      [&](MPI_Request* request) { MPI_Wait(request, MPI_STATUS_IGNORE); },
      [&](MPI_Request* request) {
        for (flag = 0; flag == 0;) MPI_Test(request, &flag, MPI_STATUS_IGNORE);
      },
      [&](MPI_Request* request) { MPI_Waitany(1, request, &index, MPI_STATUS_IGNORE); },
      [&](MPI_Request* request) { MPI_Waitall(1, request, MPI_STATUSES_IGNORE); },
      [&](MPI_Request* request) { MPI_Waitsome(1, request, &done, &index, MPI_STATUSES_IGNORE); },
      [&](MPI_Request* request) {
        for (flag = 0; flag == 0;) MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE);
      },
      [&](MPI_Request* request) {
        for (flag = 0; flag == 0;) MPI_Testall(1, request, &flag, MPI_STATUSES_IGNORE);
      },
      [&](MPI_Request* request) {
        for (done = 0; done == 0;) MPI_Testsome(1, request, &done, &index, MPI_STATUSES_IGNORE);
      },
  };
  const tap::Family family(root_, note());
  for (std::size_t i = 0; i < completions.size(); ++i) {
    told_.clear();
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_idup(root_, &made, &request);
    EXPECT_THAT(told_, IsEmpty()) << i;
    completions[i](&request);
    EXPECT_THAT(told_, ElementsAre(made)) << i;
    MPI_Comm_free(&made);
  }
}

TEST_F(TapOfMpi, is_not_concerned_with_communicators_of_others) {
  const tap::Family family(root_, note());
  for (const Way& way : ways()) {
    MPI_Comm made = MPI_COMM_NULL;
    way.make(MPI_COMM_WORLD, &made);
    EXPECT_FALSE(family.has(made)) << way.name;
    MPI_Comm_free(&made);
  }
  MPI_Comm none = MPI_COMM_NULL;
  MPI_Comm_split(root_, MPI_UNDEFINED, 0, &none);
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(TapOfMpi, hears_nothing_when_its_family_has_ended) {
  MPI_Comm made = MPI_COMM_NULL;
  {
    const tap::Family family(root_, note());
    MPI_Comm_dup(root_, &made);
  }
  told_.clear();
  const tap::Family next(made, note());
  MPI_Comm later = MPI_COMM_NULL;
  MPI_Comm_dup(root_, &later);
  EXPECT_THAT(told_, IsEmpty());
  MPI_Comm_free(&later);
  MPI_Comm_free(&made);
}

TEST_F(TapOfMpi, puts_the_applications_world_in_the_place_of_MPIs_in_every_argument) {
  const bool computes = rank_in(MPI_COMM_WORLD) > 0;
  const int members = computes ? size_of(root_) - 1 : 1;
  EXPECT_EQ(tap::all_processes(), MPI_COMM_WORLD);
  ASSERT_EQ(tap::replace_world(root_, computes), MPI_SUCCESS);
  EXPECT_TRUE(tap::is_world_replaced());
  EXPECT_EQ(size_of(MPI_COMM_WORLD), members);
  EXPECT_EQ(rank_in(MPI_COMM_WORLD), computes ? rank_in(root_) - 1 : 0);
  EXPECT_EQ(size_of(tap::all_processes()), size_of(root_));
  int how = MPI_UNEQUAL;
  MPI_Comm_compare(tap::application_world(), MPI_COMM_WORLD, &how);
  EXPECT_EQ(how, MPI_IDENT);
  MPI_Barrier(MPI_COMM_WORLD);
  // What MPI attaches to its own is found there.
  void* value = nullptr;
  int found = 0;
  MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&value), &found);
  EXPECT_NE(found, 0);
  EXPECT_EQ(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)), MPI_COMM_WORLD);
  tap::restore_world();
  EXPECT_EQ(size_of(MPI_COMM_WORLD), size_of(root_));
}

TEST_F(TapOfMpi, goes_on_hearing_after_a_call_was_left_by_an_exception) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&leave, &handler);
  MPI_Comm_set_errhandler(root_, handler);
  const tap::Family family(root_, note());
  MPI_Comm none = MPI_COMM_NULL;
  EXPECT_THROW(MPI_Comm_split(root_, -5, 0, &none), std::runtime_error);
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(root_, &made);
  EXPECT_THAT(told_, ElementsAre(made));
  MPI_Comm_free(&made);
  MPI_Errhandler_free(&handler);
}

}  // namespace
}  // namespace cairn::test
