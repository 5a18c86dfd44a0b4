// MpiComm keeps the promises of Comm among real ranks, and its own: long transfers go in rounds, the
// application's communicator and error handler stay as they were.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <string>

#include "contract/comm_contract.hpp"
#include "mpi/mpi_comm.hpp"
#include "support/facts.hpp"

namespace cairn::test {
namespace {

class CommOfMpi : public testing::TestWithParam<CommPromise> {};

TEST_P(CommOfMpi, keeps) {
  const auto comm = MpiComm::duplicate(MPI_COMM_WORLD);
  ASSERT_TRUE(comm.has_value()) << comm.error().text();
  GetParam().check(**comm);
  EXPECT_TRUE((*comm)->barrier().has_value());
}

TEST_P(CommOfMpi, keeps_among_the_members_of_a_split) {
  const auto world = MpiComm::duplicate(MPI_COMM_WORLD);
  ASSERT_TRUE(world.has_value()) << world.error().text();
  // The last member alone, the others in reverse order.
  const std::uint32_t last = (*world)->size() - 1;
  const std::uint32_t me = (*world)->rank().value;
  const auto part = (*world)->split(me == last ? 1 : 0, last - me);
  ASSERT_TRUE(part.has_value()) << part.error().text();
  GetParam().check(**part);
  EXPECT_TRUE((*world)->barrier().has_value());
}

INSTANTIATE_TEST_SUITE_P(contract, CommOfMpi, testing::ValuesIn(comm_promises().begin(), comm_promises().end()),
                         [](const auto& info) { return std::string(info.param.sentence); });

Buffer counted_bytes(std::size_t size_bytes, std::size_t seed) {
  Buffer bytes(size_bytes);
  for (std::size_t i = 0; i < size_bytes; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
  return bytes;
}

// Those that are no longer than a collective's first bytes, by one more, and much longer.
TEST(MpiComm, collectives_longer_than_the_largest_transfer_go_in_rounds) {
  for (const std::size_t largest : {std::size_t{1}, std::size_t{10}, std::size_t{64}}) {
    const auto comm = MpiComm::duplicate(MPI_COMM_WORLD, largest);
    ASSERT_TRUE(comm.has_value());
    const std::size_t me = (*comm)->rank().value;
    const std::uint32_t last = (*comm)->size() - 1;
    for (const std::size_t more : {0, 20, 24, 25, 100}) {
      const auto length = [more](std::size_t rank) { return rank * 37 + more; };
      const auto all = (*comm)->allgather(counted_bytes(length(me), me));
      ASSERT_TRUE(all.has_value()) << all.error().text();
      ASSERT_EQ(all->size(), (*comm)->size());
      for (std::size_t i = 0; i < all->size(); ++i) EXPECT_EQ((*all)[i], counted_bytes(length(i), i)) << largest;
    }
    for (const std::size_t length : {0, 333, 504, 505, 1000}) {
      // What others pass is not looked at.
      const auto message = (*comm)->broadcast(counted_bytes(me == last ? length : 3, me), Peer{last});
      ASSERT_TRUE(message.has_value()) << message.error().text();
      EXPECT_EQ(*message, counted_bytes(length, last)) << largest;
    }
  }
}

TEST(MpiComm, a_message_longer_than_the_largest_transfer_is_an_error_that_names_both) {
  const auto comm = MpiComm::duplicate(MPI_COMM_WORLD, 100);
  ASSERT_TRUE(comm.has_value());
  const Status status = (*comm)->send((*comm)->rank(), Tag{1}, Buffer(101));
  EXPECT_THAT(status, Fails(Code::invalid_argument, {"101", "100"}));
}

TEST(MpiComm, is_a_duplicate_that_returns_errors_and_leaves_the_original_alone) {
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  const auto comm = MpiComm::duplicate(MPI_COMM_WORLD);
  ASSERT_TRUE(comm.has_value());
  int same = MPI_UNEQUAL;
  MPI_Comm_compare(MPI_COMM_WORLD, (*comm)->raw(), &same);
  EXPECT_EQ(same, MPI_CONGRUENT);
  MPI_Errhandler ours = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler((*comm)->raw(), &ours);
  EXPECT_EQ(ours, MPI_ERRORS_RETURN);
  MPI_Errhandler after = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &after);
  EXPECT_EQ(before, after);
}

TEST(MpiComm, refuses_the_null_communicator) {
  const auto comm = MpiComm::duplicate(MPI_COMM_NULL);
  ASSERT_FALSE(comm.has_value());
  EXPECT_EQ(comm.error().code, Code::invalid_argument);
}

TEST(MpiComm, frees_its_communicator) {
  // MPI has some thousands of communicators to give: what is not freed is missed at last.
  for (int i = 0; i < 70'000; ++i) {
    const auto comm = MpiComm::duplicate(MPI_COMM_SELF);
    ASSERT_TRUE(comm.has_value()) << i << ": " << comm.error().text();
  }
}

// As when a rank leaves: what is under way on a communicator must not meet the next one.
TEST(MpiComm, stays_when_a_reduction_on_it_never_ends) {
  const auto me = [] {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return static_cast<std::uint64_t>(rank);
  }();
  {
    const auto comm = MpiComm::duplicate(MPI_COMM_WORLD);
    ASSERT_TRUE(comm.has_value());
    std::uint64_t value = 100 + me;
    if (me != 1) (void)(*comm)->iallreduce({&value, 1}, Reduce::max);
    if (me == 1) (*comm)->leave_to_mpi();
  }
  for (int i = 0; i < 50; ++i) MPI_Barrier(MPI_COMM_WORLD);
  const auto next = MpiComm::duplicate(MPI_COMM_WORLD);
  ASSERT_TRUE(next.has_value());
  std::uint64_t value = me;
  ASSERT_TRUE((*next)->allreduce({&value, 1}, Reduce::max));
  EXPECT_EQ(value, (*next)->size() - 1);
}

}  // namespace
}  // namespace cairn::test
