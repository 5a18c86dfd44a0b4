// Persistent requests of messages that a carrier makes: each start is a message, as MPI has it, and a request that is
// not active is no pending one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>

#include "mpi/carried_messages.hpp"

namespace cairn::test {
namespace {

class PersistentRequests : public CarriedMessages {
 protected:
  void prepare(MPI_Datatype type = MPI_INT) {
    MPI_Recv_init(&in_, 1, type, before_, 3, comm_, &receive());
    MPI_Send_init(&out_, 1, type, next_, 3, comm_, &send());
  }
  MPI_Request& receive() { return both_[0]; }
  MPI_Request& send() { return both_[1]; }
  void free() {
    for (MPI_Request& request : both_) MPI_Request_free(&request);
  }
  int in_ = -1;
  int out_ = 0;
  std::array<MPI_Request, 2> both_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
};

TEST_F(PersistentRequests, are_messages_whenever_they_are_started) {
  prepare();
  for (int round = 0; round < 5; ++round) {
    out_ = 10 * round + me_;
    MPI_Startall(2, both_.data());
    std::array<MPI_Status, 2> statuses{};
    MPI_Waitall(2, both_.data(), statuses.data());
    EXPECT_EQ(in_, 10 * round + before_);
    EXPECT_EQ(statuses[0].MPI_SOURCE, before_);
    EXPECT_EQ(statuses[0].MPI_TAG, 3);
    EXPECT_NE(receive(), MPI_REQUEST_NULL);
  }
  free();
  EXPECT_EQ(receive(), MPI_REQUEST_NULL);
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
}

TEST_F(PersistentRequests, are_complete_by_each_way_to_wait) {
  prepare();
  for (int round = 0; round < 4; ++round) {
    out_ = round;
    in_ = -1;
    MPI_Start(&receive());
    MPI_Start(&send());
    std::array<int, 2> which{};
    int count = 0;
    int flag = 0;
    if (round == 0) {
      for (MPI_Request& request : both_) MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (round == 1) {
      for (int& one : which) MPI_Waitany(2, both_.data(), &one, MPI_STATUS_IGNORE);
      EXPECT_THAT(which, testing::UnorderedElementsAre(0, 1));
    } else if (round == 2) {
      for (int done = 0; done < 2; done += count)
        MPI_Waitsome(2, both_.data(), &count, which.data(), MPI_STATUSES_IGNORE);
    } else {
      while (flag == 0) MPI_Testall(2, both_.data(), &flag, MPI_STATUSES_IGNORE);
    }
    EXPECT_EQ(in_, round);
  }
  free();
  expect_balance();
}

TEST_F(PersistentRequests, that_are_not_active_are_not_waited_for) {
  prepare();
  MPI_Status status{};
  MPI_Wait(&receive(), &status);
  EXPECT_EQ(status.MPI_SOURCE, MPI_ANY_SOURCE);
  int index = 7;
  MPI_Waitany(2, both_.data(), &index, MPI_STATUS_IGNORE);
  EXPECT_EQ(index, MPI_UNDEFINED);
  int flag = 0;
  MPI_Testall(2, both_.data(), &flag, MPI_STATUSES_IGNORE);
  EXPECT_EQ(flag, 1);
  flag = 0;
  MPI_Request_get_status(receive(), &flag, &status);
  EXPECT_EQ(flag, 1);
  carrier_->passes_safe_point();
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  free();
}

TEST_F(PersistentRequests, that_are_active_are_pending_at_a_safe_point) {
  prepare();
  MPI_Start(&receive());
  carrier_->passes_safe_point();
  EXPECT_TRUE(journal_.obstacle());
  MPI_Start(&send());
  MPI_Waitall(2, both_.data(), MPI_STATUSES_IGNORE);
  free();
}

TEST_F(PersistentRequests, keep_a_datatype_that_is_freed) {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  const std::array<int, 2> out{me_, 7};
  std::array<int, 2> in{};
  MPI_Recv_init(in.data(), 1, pair, before_, 3, comm_, &receive());
  MPI_Ssend_init(out.data(), 1, pair, next_, 3, comm_, &send());
  MPI_Type_free(&pair);
  MPI_Startall(2, both_.data());
  MPI_Waitall(2, both_.data(), MPI_STATUSES_IGNORE);
  EXPECT_THAT(in, testing::ElementsAre(before_, 7));
  free();
  expect_balance();
}

}  // namespace
}  // namespace cairn::test
