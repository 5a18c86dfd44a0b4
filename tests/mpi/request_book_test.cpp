// The requests that an application holds for messages of a carrier, of one process.
#include "carrier/request_book.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <memory>
#include <set>
#include <vector>

namespace cairn::test {
namespace {

class RequestBooks : public testing::Test {
 protected:
  MPI_Request add(Channel& channel) {
    PendingMessage message;
    message.channel = &channel;
    return book_.add(message);
  }
  MPI_Request add_persistent(Channel& channel) {
    return book_.add_prepared(channel, std::make_shared<const PreparedMessage>(tap::IncomingMessage{.type = MPI_INT}));
  }

  Channel channel_;
  RequestBook book_{false};
};

TEST_F(RequestBooks, give_each_message_a_request_of_mpi_until_it_has_ended) {
  std::set<MPI_Request> all;
  for (int i = 0; i < 3; ++i) all.insert(add(channel_));
  EXPECT_EQ(all.size(), 3U);
  EXPECT_FALSE(all.contains(MPI_REQUEST_NULL));
  MPI_Request first = *all.begin();
  const PendingMessage* const message = book_.find(first);
  ASSERT_NE(message, nullptr);
  book_.end(first);
  EXPECT_EQ(first, MPI_REQUEST_NULL);
  EXPECT_EQ(book_.find(*all.begin()), nullptr);
  EXPECT_EQ(book_.active(), 2U);
  // The stand-in is used again.
  EXPECT_EQ(add(channel_), *all.begin());
}

TEST_F(RequestBooks, know_their_own_requests_among_those_of_mpi) {
  const MPI_Request mine = add(channel_);
  MPI_Request of_mpi = MPI_REQUEST_NULL;
  MPI_Recv_init(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF, &of_mpi);
  EXPECT_TRUE(book_.has_any(std::array{MPI_REQUEST_NULL, of_mpi, mine}));
  EXPECT_FALSE(book_.has_any(std::array{MPI_REQUEST_NULL, of_mpi}));
  MPI_Request_free(&of_mpi);
}

TEST_F(RequestBooks, keep_a_persistent_request_that_has_ended_and_start_it_again) {
  MPI_Request request = add_persistent(channel_);
  PendingMessage* const message = book_.find(request);
  EXPECT_TRUE(message->done);
  EXPECT_EQ(book_.active(), 0U);
  for (int i = 0; i < 2; ++i) {
    PendingMessage begun;
    begun.channel = &channel_;
    book_.start(*message, begun);
    EXPECT_FALSE(message->done);
    EXPECT_EQ(book_.active(), 1U);
    const MPI_Request before = request;
    book_.end(request);
    EXPECT_EQ(request, before);
    EXPECT_EQ(book_.find(request), message);
    EXPECT_EQ(book_.active(), 0U);
  }
  book_.remove(request);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
}

TEST_F(RequestBooks, have_messages_in_the_order_in_which_they_were_posted) {
  MPI_Request persistent = add_persistent(channel_);
  std::vector<PendingMessage*> posted;
  for (int i = 0; i < 20; ++i) posted.push_back(book_.find(add(channel_)));
  PendingMessage begun;
  begun.channel = &channel_;
  book_.start(*book_.find(persistent), begun);
  posted.push_back(book_.find(persistent));
  EXPECT_EQ(book_.in_order(), posted);
}

TEST_F(RequestBooks, tell_whether_a_request_is_of_a_communicator) {
  Channel other;
  other.facts.number = 7;
  MPI_Request request = add(other);
  EXPECT_TRUE(book_.has_of(7));
  EXPECT_FALSE(book_.has_of(0));
  book_.end(request);
  EXPECT_FALSE(book_.has_of(7));
}

TEST_F(RequestBooks, end_the_process_where_a_request_is_not_theirs) {
  MPI_Request none = MPI_REQUEST_NULL;
  EXPECT_DEATH(book_.end(none), "a check failed");
  MPI_Request active = add(channel_);
  EXPECT_DEATH(book_.start(*book_.find(active), {}), "a check failed");
}

}  // namespace
}  // namespace cairn::test
