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

// Rank 1 sends two numbers with one tag, and then one with another. Rank 0 looks for both by turns, and is replaced.
class ProbesByTurns : public CarriedMessages {
 protected:
  static constexpr int kAdd = 1;
  static constexpr int kSubtract = 2;
  explicit ProbesByTurns(bool restores = true) : CarriedMessages(64 * kMiB, restores) {}
  void send(int value, int tag) const {
    if (me_ == 1) MPI_Send(&value, 1, MPI_INT, 0, tag, comm_);
  }
  // 0: there is none.
  [[nodiscard]] int look_for(int tag) const {
    int found = 0;
    int value = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status{};
    MPI_Improbe(MPI_ANY_SOURCE, tag, comm_, &found, &message, &status);
    if (found == 0) return 0;
    EXPECT_EQ(status.MPI_TAG, tag);
    MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    return value;
  }
  [[nodiscard]] int wait_for(int tag) const {
    int value = 0;
    while (me_ == 0 && value == 0) value = look_for(tag);
    return value;
  }
  // The dead rank's messages: 10 and 20, and 5.
  void exchange() {
    send(10, kAdd);
    send(20, kAdd);
    const int first = wait_for(kAdd);
    const int nothing = look_for(kSubtract);
    const int second = wait_for(kAdd);
    all_come_here();
    send(5, kSubtract);
    EXPECT_THAT((std::array{first, nothing, second, wait_for(kSubtract)}),
                testing::ElementsAreArray(me_ == 0 ? std::array{10, 0, 20, 5} : std::array{0, 0, 0, 0}));
  }
  // As the log of rank 1 has them.
  static void log_in(replay::Journal& sender) {
    const std::array<int, 3> sent{10, 20, 5};
    const std::array<int, 3> tags{kAdd, kAdd, kSubtract};
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(sender.sends({0, tags[i]}, std::as_bytes(std::span(&sent[i], 1))));
  }
  void expect_the_same() const {
    std::vector<int> found;
    for (const int tag : {kAdd, kSubtract, kAdd, kSubtract}) found.push_back(look_for(tag));
    EXPECT_THAT(found, testing::ElementsAre(10, 0, 20, 5));
  }
  // If all ranks roll back, a call returns an error here.
  void expect_refusal() {
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    EXPECT_NE(MPI_Probe(MPI_ANY_SOURCE, kSubtract, comm_, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_TRUE(journal_.obstacle());
  }
};

class ProbesAfterRestore : public ProbesByTurns {
 protected:
  // Only rank 0 goes on.
  void replace() {
    journal_.choices().records_in(memory_, 7, {});
    exchange();
    if (me_ != 0) return;
    const auto known = *replay::read_choices(memory_, 7, 0);
    is_replaced();
    replay::Journal sender(1, kMiB);
    EXPECT_TRUE(sender.start(0));
    log_in(sender);
    const replay::Agreement agreement{.newest = 1, .version = 1, .taken = {}, .replaced = {0}};
    EXPECT_TRUE(journal_.start(0));
    memory_ = Buffer(4096);
    journal_.choices().records_in(memory_, 7, known);
    ASSERT_TRUE(journal_.goes_on(agreement, 0, {{1, sender.shipments(agreement, 0).value().at(0)}}));
  }
  Buffer memory_ = Buffer(4096);
};

TEST_F(ProbesAfterRestore, of_a_replacement_find_what_the_same_probes_of_the_dead_rank_have_found) {
  replace();
  if (me_ == 0) expect_the_same();
  all_come_here();
}

TEST_F(ProbesAfterRestore, of_a_replacement_do_not_wait_for_a_message_that_the_dead_rank_found_later) {
  replace();
  if (me_ == 0) expect_refusal();
  all_come_here();
}

class ProbesBeforeRestore : public ProbesByTurns {
 protected:
  ProbesBeforeRestore() : ProbesByTurns(false) {}
  // Only rank 0 goes on.
  void replace() {
    exchange();
    if (me_ != 0) return;
    replay::Journal sender(1, kMiB);
    log_in(sender);
    sender.prologue().keep_choices({{0, journal_.prologue().choices_by_peer().at(1)}});
    is_replaced();
    ASSERT_TRUE(journal_.replays_prologue({{1, sender.prologue_for(0)}}, 2));
  }
};

TEST_F(ProbesBeforeRestore, of_a_replacement_find_what_the_same_probes_of_the_dead_rank_have_found) {
  replace();
  if (me_ == 0) expect_the_same();
  all_come_here();
}

TEST_F(ProbesBeforeRestore, of_a_replacement_do_not_wait_for_a_message_that_the_dead_rank_found_later) {
  replace();
  if (me_ == 0) expect_refusal();
  all_come_here();
}

}  // namespace
}  // namespace cairn::test
