// Messages that a matched probe has found, of one process.
#include "carrier/matched_messages.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <span>

namespace cairn::test {
namespace {

MatchedMessages::Matched matched(std::span<const int> values, int peer, int tag) {
  const auto bytes = std::as_bytes(values);
  return {.payload = Buffer(bytes.begin(), bytes.end()), .peer = peer, .tag = tag};
}

TEST(MatchedMessage, is_received_once_by_the_handle_that_the_application_holds) {
  MatchedMessages messages(false);
  MPI_Message first = messages.add(matched(std::array{1, 2}, 3, 4));
  MPI_Message second = messages.add(matched(std::array{5}, 6, 7));
  EXPECT_NE(first, second);
  std::array into{0, 0};
  MPI_Status status{};
  EXPECT_EQ(messages.receive(second, {.buffer = into.data(), .count = 2, .type = MPI_INT}, &status), MPI_SUCCESS);
  EXPECT_EQ(second, MPI_MESSAGE_NULL);
  int count = 0;
  MPI_Get_count(&status, MPI_INT, &count);
  EXPECT_THAT((std::array{status.MPI_SOURCE, status.MPI_TAG, count}), testing::ElementsAre(6, 7, 1));
  const MPI_Message held = first;
  EXPECT_EQ(messages.receive(first, {.buffer = into.data(), .count = 2, .type = MPI_INT}, &status), MPI_SUCCESS);
  EXPECT_THAT(into, testing::ElementsAre(1, 2));
  EXPECT_FALSE(messages.has(held));
  EXPECT_TRUE(messages.empty());
}

TEST(MatchedMessage, that_is_too_long_is_gone_with_an_error) {
  MatchedMessages messages(false);
  MPI_Message message = messages.add(matched(std::array{1, 2}, 3, 4));
  int into = 0;
  EXPECT_EQ(messages.receive(message, {.buffer = &into, .count = 1, .type = MPI_INT}, MPI_STATUS_IGNORE),
            MPI_ERR_TRUNCATE);
  EXPECT_TRUE(messages.empty());
}

TEST(MatchedMessage, that_is_not_one_of_the_carrier_ends_the_process) {
  MatchedMessages messages(false);
  MPI_Message none = MPI_MESSAGE_NULL;
  EXPECT_DEATH(messages.receive(none, {}, MPI_STATUS_IGNORE), "a check failed");
}

}  // namespace
}  // namespace cairn::test
