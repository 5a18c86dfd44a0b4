// Matched probes that a carrier makes: what MPI would have found, and what a replacement takes from the logs of others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "mpi/carried_messages.hpp"

namespace cairn::test {
namespace {

int count_of(const MPI_Status& status) {
  int count = -1;
  MPI_Get_count(&status, MPI_INT, &count);
  return count;
}

class MatchedMessages : public CarriedMessages {
 protected:
  void SetUp() override {
    CarriedMessages::SetUp();
    out_ = {me_, me_ + 1, me_ + 2};
  }
  // To the next rank: one, two, and three numbers.
  void send_all() {
    for (int count = 1; count <= 3; ++count) MPI_Isend(out_.data(), count, MPI_INT, next_, 3, comm_, &sent_.at(at_++));
  }
  void wait_for_sent() { MPI_Waitall(3, sent_.data(), MPI_STATUSES_IGNORE); }

  std::array<int, 3> out_{};
  std::array<int, 3> in_{};
  std::array<MPI_Request, 3> sent_{MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  std::size_t at_ = 0;
};

TEST_F(MatchedMessages, are_received_by_nobody_else) {
  send_all();
  MPI_Message first = MPI_MESSAGE_NULL;
  MPI_Status status{};
  EXPECT_EQ(MPI_Mprobe(before_, 3, comm_, &first, &status), MPI_SUCCESS);
  EXPECT_THAT((std::array{status.MPI_SOURCE, status.MPI_TAG, count_of(status)}), testing::ElementsAre(before_, 3, 1));
  MPI_Message second = MPI_MESSAGE_NULL;
  for (int flag = 0; flag == 0;) MPI_Improbe(before_, 3, comm_, &flag, &second, &status);
  EXPECT_EQ(count_of(status), 2);
  EXPECT_NE(first, second);
  MPI_Recv(in_.data(), 3, MPI_INT, before_, 3, comm_, &status);
  EXPECT_EQ(count_of(status), 3);
  // In any order.
  MPI_Request request = MPI_REQUEST_NULL;
  EXPECT_EQ(MPI_Imrecv(in_.data(), 3, MPI_INT, &second, &request), MPI_SUCCESS);
  EXPECT_EQ(second, MPI_MESSAGE_NULL);
  MPI_Wait(&request, &status);
  EXPECT_THAT((std::array{status.MPI_SOURCE, status.MPI_TAG, count_of(status)}), testing::ElementsAre(before_, 3, 2));
  EXPECT_THAT(in_, testing::ElementsAre(before_, before_ + 1, before_ + 2));
  in_ = {};
  EXPECT_EQ(MPI_Mrecv(in_.data(), 1, MPI_INT, &first, &status), MPI_SUCCESS);
  EXPECT_EQ(first, MPI_MESSAGE_NULL);
  EXPECT_THAT(in_, testing::ElementsAre(before_, 0, 0));
  wait_for_sent();
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
}

TEST_F(MatchedMessages, may_be_too_long_for_where_they_are_to_go) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  send_all();
  std::array<MPI_Message, 3> messages{};
  for (MPI_Message& message : messages) MPI_Mprobe(before_, 3, comm_, &message, MPI_STATUS_IGNORE);
  for (int count = 1; count <= 3; ++count) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(
        MPI_Mrecv(in_.data(), 2, MPI_INT, &messages.at(static_cast<std::size_t>(count - 1)), MPI_STATUS_IGNORE), &kind);
    EXPECT_EQ(kind, count <= 2 ? MPI_SUCCESS : MPI_ERR_TRUNCATE);
  }
  wait_for_sent();
}

TEST_F(MatchedMessages, may_end_within_an_element) {
  MPI_Datatype ends = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &ends);
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  send_all();
  for (const int count : {1, 2}) MPI_Recv(in_.data(), count, MPI_INT, before_, 3, comm_, MPI_STATUS_IGNORE);
  for (MPI_Datatype* const type : {&ends, &pair}) MPI_Type_commit(type);
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status{};
  MPI_Mprobe(before_, 3, comm_, &message, &status);
  std::array in{-1, -1, -1, -1};
  EXPECT_EQ(MPI_Mrecv(in.data(), 2, pair, &message, &status), MPI_SUCCESS);
  EXPECT_THAT(in, testing::ElementsAre(before_, before_ + 1, before_ + 2, -1));
  EXPECT_EQ(count_of(status), 3);
  wait_for_sent();
  // With gaps, and a part that ends within a number.
  std::array into{-1, -1, -1, -1, -1, -1};
  const std::array<std::int16_t, 5> out{1, 2, 3, 4, 5};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(out.data(), 10, MPI_BYTE, next_, 4, comm_, &request);
  MPI_Mprobe(before_, 4, comm_, &message, MPI_STATUS_IGNORE);
  MPI_Mrecv(into.data(), 2, ends, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  std::array<std::int16_t, 12> halves{};
  std::memcpy(halves.data(), into.data(), sizeof into);
  EXPECT_THAT(halves, testing::ElementsAre(1, 2, -1, -1, 3, 4, 5, -1, -1, -1, -1, -1));
  for (MPI_Datatype* const type : {&ends, &pair}) MPI_Type_free(type);
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
}

TEST_F(MatchedMessages, of_no_process_are_those_of_mpi) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status{};
  MPI_Mprobe(MPI_PROC_NULL, 3, comm_, &message, &status);
  EXPECT_EQ(message, MPI_MESSAGE_NO_PROC);
  EXPECT_EQ(MPI_Mrecv(in_.data(), 3, MPI_INT, &message, &status), MPI_SUCCESS);
  EXPECT_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
}

TEST_F(MatchedMessages, that_are_not_received_before_a_snapshot_are_an_obstacle) {
  send_all();
  std::array<MPI_Message, 3> messages{};
  for (MPI_Message& message : messages) MPI_Mprobe(before_, 3, comm_, &message, MPI_STATUS_IGNORE);
  wait_for_sent();
  carrier_->passes_safe_point();
  EXPECT_THAT(journal_.obstacle().value_or(""), testing::HasSubstr("MPI_Mrecv"));
  for (MPI_Message& message : messages) MPI_Mrecv(in_.data(), 3, MPI_INT, &message, MPI_STATUS_IGNORE);
}

// No other rank takes part.
TEST_F(MatchedMessages, are_taken_from_what_was_shipped) {
  if (me_ != 0) return;
  replay::Journal other(1, kMiB);
  EXPECT_TRUE(other.start(4));
  const std::vector<int> numbers{7, 8};
  EXPECT_TRUE(other.sends({0, 3}, std::as_bytes(std::span(numbers))));
  const replay::Agreement agreement{.newest = 5, .version = 1, .taken = {}, .replaced = {0}};
  EXPECT_TRUE(journal_.start(4));
  ASSERT_TRUE(journal_.goes_on(agreement, 4, {{1, other.shipments(agreement, 4).value().at(0)}}));
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status{};
  MPI_Mprobe(1, 3, comm_, &message, &status);
  EXPECT_EQ(count_of(status), 2);
  MPI_Mrecv(in_.data(), 3, MPI_INT, &message, MPI_STATUS_IGNORE);
  EXPECT_THAT(in_, testing::ElementsAre(7, 8, 0));
}

}  // namespace
}  // namespace cairn::test
