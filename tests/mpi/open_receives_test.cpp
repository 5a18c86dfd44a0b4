// Which receive gets which message while several are open, of one process: MPI is asked nothing.
#include "carrier/open_receives.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <deque>
#include <vector>

#include "replay/number.hpp"

namespace cairn::test {
namespace {

using Tried = OpenReceives::Tried;
using testing::ElementsAre;

class OpenReceivesInOrder : public testing::Test {
 protected:
  PendingMessage& open(int peer, int tag, Channel& channel) {
    PendingMessage& one = receives_.emplace_back();
    one.channel = &channel;
    one.in.peer = peer;
    one.in.tag = tag;
    one.is_open = true;
    one.order = receives_.size();
    open_.add(one);
    return one;
  }
  PendingMessage& open(int peer, int tag) { return open(peer, tag, channel_); }
  // The places of those that are tried, if each `becomes` something or none does.
  std::vector<std::uint64_t> tried(bool becomes) {
    std::vector<std::uint64_t> all;
    EXPECT_TRUE(open_.advance([&](PendingMessage& one) {
      all.push_back(one.order);
      one.is_open = !becomes;
      return Tried::goes_on;
    }));
    return all;
  }

  Channel channel_;
  std::deque<PendingMessage> receives_;
  OpenReceives open_;
};

TEST_F(OpenReceivesInOrder, put_a_receive_behind_an_earlier_one_that_accepts_its_message) {
  open(MPI_ANY_SOURCE, 5);
  open(2, MPI_ANY_TAG);
  EXPECT_TRUE(open_.is_behind(channel_, 1, 5));
  EXPECT_TRUE(open_.is_behind(channel_, 2, 9));
  EXPECT_FALSE(open_.is_behind(channel_, 1, 9));
  // Of those before the second one.
  EXPECT_FALSE(open_.is_behind(channel_, 2, 9, 2));
  EXPECT_FALSE(open_.is_behind(channel_, 1, 5, 1));
}

TEST_F(OpenReceivesInOrder, keep_communicators_and_collectives_apart) {
  Channel other;
  other.handle = MPI_COMM_SELF;
  open(MPI_ANY_SOURCE, MPI_ANY_TAG);
  EXPECT_FALSE(open_.is_behind(other, 1, 5));
  EXPECT_FALSE(open_.is_behind(channel_, 1, replay::kCollectiveTag));
  EXPECT_FALSE(open_.has_of(MPI_COMM_SELF));
  open(0, MPI_ANY_TAG, other);
  EXPECT_TRUE(open_.has_of(MPI_COMM_SELF));
}

TEST_F(OpenReceivesInOrder, try_a_receive_that_names_all_only_once_none_before_it_may_get_its_message) {
  open(MPI_ANY_SOURCE, 5);
  open(2, 5);
  open(3, MPI_ANY_TAG);
  EXPECT_THAT(tried(false), ElementsAre(1U, 3U));
  EXPECT_THAT(tried(true), ElementsAre(1U, 2U, 3U));
  EXPECT_TRUE(open_.empty());
}

TEST_F(OpenReceivesInOrder, begin_again_where_a_message_belongs_to_an_earlier_receive) {
  PendingMessage& first = open(MPI_ANY_SOURCE, 5);
  PendingMessage& second = open(MPI_ANY_SOURCE, MPI_ANY_TAG);
  std::vector<std::uint64_t> tried;
  EXPECT_TRUE(open_.advance([&](PendingMessage& one) {
    tried.push_back(one.order);
    // A message with tag 5 comes after the first one was tried.
    if (tried.size() == 1) return Tried::goes_on;
    if (&one == &second && first.is_open) return Tried::earlier_gets_it;
    one.is_open = false;
    return Tried::goes_on;
  }));
  EXPECT_THAT(tried, ElementsAre(1U, 2U, 1U, 2U));
  EXPECT_TRUE(open_.empty());
}

TEST_F(OpenReceivesInOrder, stop_where_a_process_has_died) {
  PendingMessage& first = open(MPI_ANY_SOURCE, 5);
  open(MPI_ANY_SOURCE, 6);
  EXPECT_FALSE(open_.advance([](PendingMessage& one) {
    one.is_open = false;
    return Tried::process_has_died;
  }));
  // What it got is not tried again.
  EXPECT_FALSE(first.is_open);
  EXPECT_THAT(tried(false), ElementsAre(2U));
}

TEST_F(OpenReceivesInOrder, give_all_away_in_their_order) {
  open(MPI_ANY_SOURCE, 5);
  PendingMessage& cancelled = open(1, 5);
  open(2, 5);
  open_.remove(cancelled);
  EXPECT_FALSE(cancelled.is_open);
  EXPECT_THAT(open_.take_all(), ElementsAre(&receives_[0], &receives_[2]));
  EXPECT_FALSE(receives_[0].is_open);
  EXPECT_TRUE(open_.empty());
}

TEST_F(OpenReceivesInOrder, end_the_process_where_a_receive_is_not_open) {
  PendingMessage other;
  EXPECT_DEATH(open_.add(other), "a check failed");
  EXPECT_DEATH(open_.remove(other), "a check failed");
}

}  // namespace
}  // namespace cairn::test
