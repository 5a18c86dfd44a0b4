// Receives and probes after restore() that name no sender, or no tag: a carrier gives each message to the receive to
// which MPI would give it, and records which message that was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <set>
#include <vector>

#include "codec/crc32c.hpp"
#include "mpi/carried_messages.hpp"
#include "mpi/place_in.hpp"
#include "replay/choices.hpp"

namespace cairn::test {
namespace {

class AnyMessages : public CarriedMessages {
 protected:
  void SetUp() override {
    CarriedMessages::SetUp();
    journal_.choices().records_in(memory_, 7, {});
  }
  [[nodiscard]] std::vector<replay::Choices::Entry> recorded() const { return *replay::read_choices(memory_, 7, 0); }
  Buffer memory_ = Buffer(4096);
};

TEST_F(AnyMessages, come_from_all_with_the_status_of_mpi) {
  for (int peer = 0; peer < ranks_; ++peer)
    if (peer != me_) MPI_Send(&me_, 1, MPI_INT, peer, 3, comm_);
  std::set<int> from;
  for (int i = 1; i < ranks_; ++i) {
    int theirs = -1;
    MPI_Status status{};
    MPI_Recv(&theirs, 1, MPI_INT, MPI_ANY_SOURCE, i % 2 == 0 ? MPI_ANY_TAG : 3, comm_, &status);
    EXPECT_EQ(theirs, status.MPI_SOURCE);
    EXPECT_EQ(status.MPI_TAG, 3);
    from.insert(theirs);
  }
  EXPECT_EQ(from.size(), static_cast<std::size_t>(ranks_ - 1));
  EXPECT_EQ(recorded().size(), from.size());
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
}

TEST_F(AnyMessages, are_matched_by_probes_that_are_recorded) {
  for (int peer = 0; peer < ranks_; ++peer)
    if (peer != me_) MPI_Send(&me_, 1, MPI_INT, peer, 3, comm_);
  std::set<int> from;
  for (int i = 1; i < ranks_; ++i) {
    int theirs = -1;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &message, &status);
    MPI_Mrecv(&theirs, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    EXPECT_EQ(theirs, status.MPI_SOURCE);
    from.insert(theirs);
  }
  EXPECT_EQ(from.size(), static_cast<std::size_t>(ranks_ - 1));
  EXPECT_EQ(recorded().size(), from.size());
  EXPECT_TRUE(recorded().front().is_of_probe);
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
}

// MPI would match all of the receives at once.
TEST_F(AnyMessages, go_to_receives_in_the_order_of_these) {
  std::array<int, 4> out{};
  std::array<int, 4> in{-1, -1, -1, -1};
  std::array<MPI_Request, 4> receives{};
  MPI_Irecv(&in[0], 1, MPI_INT, MPI_ANY_SOURCE, 3, comm_, receives.data());
  MPI_Irecv(&in[1], 1, MPI_INT, before_, 3, comm_, &receives[1]);
  MPI_Irecv(&in[2], 1, MPI_INT, before_, MPI_ANY_TAG, comm_, &receives[2]);
  MPI_Irecv(&in[3], 1, MPI_INT, before_, 4, comm_, &receives[3]);
  const std::array<int, 4> tags{3, 3, 5, 4};
  std::array<MPI_Request, 4> sends{};
  for (std::size_t i = 0; i < 4; ++i) {
    out[i] = static_cast<int>(i);
    MPI_Isend(&out[i], 1, MPI_INT, next_, tags[i], comm_, &sends[i]);
  }
  // The last receive cannot get its message before an earlier one that it could go to has another.
  MPI_Wait(&receives[3], MPI_STATUS_IGNORE);
  std::array<MPI_Status, 4> statuses{};
  MPI_Waitall(4, receives.data(), statuses.data());
  MPI_Waitall(4, sends.data(), MPI_STATUSES_IGNORE);
  EXPECT_THAT(in, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(statuses[2].MPI_TAG, 5);
  expect_balance();
}

TEST_F(AnyMessages, do_not_wait_for_receives_that_they_cannot_go_to) {
  int later = -1;
  int now = -1;
  MPI_Request first = MPI_REQUEST_NULL;
  MPI_Request second = MPI_REQUEST_NULL;
  MPI_Irecv(&later, 1, MPI_INT, MPI_ANY_SOURCE, 9, comm_, &first);
  MPI_Irecv(&now, 1, MPI_INT, before_, MPI_ANY_TAG, comm_, &second);
  MPI_Send(&me_, 1, MPI_INT, next_, 5, comm_);
  MPI_Wait(&second, MPI_STATUS_IGNORE);
  EXPECT_EQ(now, before_);
  MPI_Send(&me_, 1, MPI_INT, next_, 9, comm_);
  MPI_Wait(&first, MPI_STATUS_IGNORE);
  EXPECT_EQ(later, before_);
  expect_balance();
}

TEST_F(AnyMessages, are_received_while_the_rank_sends) {
  constexpr std::size_t kLong = 100'000;
  const std::vector<int> out(kLong, me_);
  std::vector<int> in(kLong);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(in.data(), kLong, MPI_INT, MPI_ANY_SOURCE, 3, comm_, &request);
  MPI_Send(out.data(), kLong, MPI_INT, next_, 3, comm_);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(in.back(), before_);
  MPI_Sendrecv(out.data(), kLong, MPI_INT, next_, 4, in.data(), kLong, MPI_INT, MPI_ANY_SOURCE, 4, comm_,
               MPI_STATUS_IGNORE);
  expect_balance();
}

// MPI makes progress with all messages in each call.
TEST_F(AnyMessages, are_received_while_the_rank_tests_others) {
  constexpr std::size_t kLong = 100'000;
  const std::vector<int> out(kLong, me_);
  for (int round = 0; round < 5; ++round) {
    std::vector<int> in(kLong);
    std::array<MPI_Request, 2> requests{};
    MPI_Irecv(in.data(), kLong, MPI_INT, MPI_ANY_SOURCE, 3, comm_, requests.data());
    MPI_Isend(out.data(), kLong, MPI_INT, next_, 3, comm_, &requests[1]);
    int over = 0;
    int index = 7;
    std::array<int, 1> indices{};
    while (over == 0) {
      if (round == 0) MPI_Test(&requests[1], &over, MPI_STATUS_IGNORE);
      if (round == 1) MPI_Testall(1, &requests[1], &over, MPI_STATUSES_IGNORE);
      if (round == 2) MPI_Testany(1, &requests[1], &index, &over, MPI_STATUS_IGNORE);
      if (round == 2 && over == 0) {
        EXPECT_EQ(index, MPI_UNDEFINED);
      }
      if (round == 3) MPI_Testsome(1, &requests[1], &over, indices.data(), MPI_STATUSES_IGNORE);
      if (round == 4) MPI_Request_get_status(requests[1], &over, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
    EXPECT_EQ(in.back(), before_);
  }
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
}

// MPI knows nothing of them while it waits in its own calls.
class AnyMessagesBesideOthers : public AnyMessages {
 protected:
  void begin() {
    MPI_Irecv(in_.data(), kLong, MPI_INT, MPI_ANY_SOURCE, 3, comm_, requests_.data());
    MPI_Irecv(&short_, 1, MPI_INT, before_, MPI_ANY_TAG, comm_, &requests_[1]);
    EXPECT_EQ(journal_.obstacle(), std::nullopt);
  }
  void send() {
    MPI_Ssend(out_.data(), kLong, MPI_INT, next_, 3, comm_);
    MPI_Ssend(&me_, 1, MPI_INT, next_, 3, comm_);
  }
  void expect_both() {
    MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE);
    EXPECT_EQ(in_.back(), before_);
    EXPECT_EQ(short_, before_);
    ASSERT_TRUE(journal_.obstacle());
    EXPECT_THAT(*journal_.obstacle(), testing::HasSubstr(why_));
  }
  static constexpr std::size_t kLong = 100'000;
  std::vector<int> out_ = std::vector<int>(kLong, rank_in(MPI_COMM_WORLD));
  std::vector<int> in_ = std::vector<int>(kLong, -1);
  int short_ = -1;
  std::array<MPI_Request, 2> requests_{};
  const char* why_ = "";
};

TEST_F(AnyMessagesBesideOthers, go_on_while_mpi_waits_in_a_collective) {
  why_ = "MPI_Ibarrier";
  begin();
  if (me_ == 0) send();
  MPI_Request barrier = MPI_REQUEST_NULL;
  MPI_Ibarrier(comm_, &barrier);
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  if (me_ != 0) send();
  expect_both();
}

TEST_F(AnyMessagesBesideOthers, go_on_while_mpi_makes_a_communicator) {
  why_ = "makes a communicator";
  begin();
  if (me_ == 0) send();
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(comm_, &made);
  if (me_ != 0) send();
  expect_both();
  MPI_Comm_free(&made);
}

TEST_F(AnyMessagesBesideOthers, outlive_their_communicator) {
  why_ = "frees a communicator";
  const MPI_Comm all = comm_;
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Comm_dup(all, &made);
  comm_ = made;
  begin();
  std::array<MPI_Request, 2> sends{};
  MPI_Isend(out_.data(), kLong, MPI_INT, next_, 3, comm_, sends.data());
  MPI_Isend(&me_, 1, MPI_INT, next_, 3, comm_, &sends[1]);
  MPI_Comm_free(&made);
  comm_ = all;
  expect_both();
  MPI_Waitall(2, sends.data(), MPI_STATUSES_IGNORE);
}

TEST_F(AnyMessages, are_found_by_probes) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(&me_, 1, MPI_INT, next_, 3, comm_, &request);
  MPI_Status status{};
  MPI_Probe(MPI_ANY_SOURCE, 3, comm_, &status);
  EXPECT_EQ(status.MPI_SOURCE, before_);
  int found = 0;
  while (found == 0) MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &status);
  EXPECT_EQ(status.MPI_TAG, 3);
  int theirs = -1;
  MPI_Recv(&theirs, 1, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm_, MPI_STATUS_IGNORE);
  EXPECT_EQ(theirs, before_);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(recorded().size(), 2U);
  expect_balance();
}

TEST_F(AnyMessages, that_are_too_many_for_the_record_are_an_obstacle) {
  for (std::size_t i = 0; i <= memory_.size() / 2 / replay::Choices::kEntryBytes; ++i) {
    int theirs = -1;
    MPI_Sendrecv(&me_, 1, MPI_INT, next_, 3, &theirs, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm_, MPI_STATUS_IGNORE);
    ASSERT_EQ(theirs, before_);
  }
  EXPECT_TRUE(journal_.obstacle());
  EXPECT_EQ(replay::read_choices(memory_, 7, 0), std::nullopt);
}

// No other rank takes part. Rank 1 had sent 41 with tag 5 and then 42 with tag 4; the dead rank had got only 41.
TEST_F(AnyMessages, of_a_replacement_are_those_of_the_dead_rank) {
  if (me_ == 0) {
    replay::Journal other(1, kMiB);
    EXPECT_TRUE(other.start(4));
    const std::array<int, 3> sent{41, 42, 43};
    const std::array<int, 3> tags{5, 4, 5};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(other.sends({0, tags[i]}, std::as_bytes(std::span(&sent[i], 1))));
    const replay::Agreement agreement{.newest = 5, .version = 1, .taken = {}, .replaced = {0}};
    EXPECT_TRUE(journal_.start(4));
    Buffer memory(4096);
    journal_.choices().records_in(memory, 7,
                                  {{4, false, replay::Choice{1, 5, false}}, {4, true, replay::Choice{1, 4, true}}});
    ASSERT_TRUE(journal_.goes_on(agreement, 4, {{1, other.shipments(agreement, 4).value().at(0)}}));
    int in = 0;
    MPI_Status status{};
    MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &status);
    EXPECT_EQ(in, 41);
    int found = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &found, &status);
    EXPECT_TRUE(found != 0 && status.MPI_TAG == 4);
    // What the dead rank had not got comes in the order in which it was sent.
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &request);
    MPI_Wait(&request, &status);
    EXPECT_EQ(in, 42);
    MPI_Recv(&in, 1, MPI_INT, 1, MPI_ANY_TAG, comm_, &status);
    EXPECT_EQ(in, 43);
    EXPECT_EQ(replay::read_choices(memory, 7, 4)->size(), 4U);
  }
  all_come_here();
}

}  // namespace
}  // namespace cairn::test
