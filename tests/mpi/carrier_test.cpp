// Messages that a carrier makes in MPI's place are those that MPI would have made: each call, status and request. And
// what a replacement takes from the logs of others it need not receive.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "codec/crc32c.hpp"
#include "guard/repair_calls.hpp"
#include "mpi/carried_messages.hpp"
#include "mpi/whole_count.hpp"

namespace cairn::test {
namespace {

using replay::Agreement;
using replay::Journal;
using replay::Number;

int count_of(const MPI_Status& status, MPI_Datatype type) {
  int count = -1;
  MPI_Get_count(&status, type, &count);
  return count;
}

std::vector<int> numbers(int first, int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), first);
  return all;
}

TEST_F(CarriedMessages, fill_the_status_as_mpi_does) {
  std::vector<int> out = numbers(me_, 10);
  std::vector<int> in(20);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(out.data(), 10, MPI_INT, next_, 3, comm_, &request);
  MPI_Status status{};
  MPI_Probe(before_, 3, comm_, &status);
  EXPECT_EQ(count_of(status, MPI_INT), 10);
  MPI_Recv(in.data(), 20, MPI_INT, before_, 3, comm_, &status);
  EXPECT_THAT((std::array{status.MPI_SOURCE, status.MPI_TAG, count_of(status, MPI_INT)}),
              testing::ElementsAre(before_, 3, 10));
  EXPECT_EQ(in[9], before_ + 9);
  MPI_Wait(&request, &status);
  EXPECT_EQ(request, MPI_REQUEST_NULL);
  MPI_Recv(in.data(), 20, MPI_INT, MPI_PROC_NULL, 3, comm_, &status);
  EXPECT_THAT((std::array{status.MPI_SOURCE, status.MPI_TAG, count_of(status, MPI_INT)}),
              testing::ElementsAre(MPI_PROC_NULL, MPI_ANY_TAG, 0));
  expect_balance();
}

TEST_F(CarriedMessages, exchange_two_messages_in_one_buffer) {
  for (const int count : {1, 100'000}) {
    std::vector<int> both = numbers(me_, count);
    MPI_Sendrecv_replace(both.data(), count, MPI_INT, next_, 1, before_, 1, comm_, MPI_STATUS_IGNORE);
    EXPECT_EQ(both, numbers(before_, count));
    std::vector<int> in(both.size());
    MPI_Sendrecv(both.data(), count, MPI_INT, next_, 2, in.data(), count, MPI_INT, before_, 2, comm_,
                 MPI_STATUS_IGNORE);
    EXPECT_EQ(in, numbers((me_ + 2 * ranks_ - 2) % ranks_, count));
  }
  expect_balance();
}

// Numbers with a gap after each: the 4 bytes of the gap are 0 on all ranks.
void exchange_elements_with_gaps(const std::function<void(std::vector<std::int64_t>&, MPI_Datatype)>& exchange, int me,
                                 int before) {
  MPI_Datatype with_gap = MPI_DATATYPE_NULL;
  MPI_Type_create_resized(MPI_INT, 0, sizeof(std::int64_t), &with_gap);
  MPI_Type_commit(&with_gap);
  for (const int count : {1, 1000}) {
    std::vector<std::int64_t> both(static_cast<std::size_t>(count), me);
    exchange(both, with_gap);
    EXPECT_THAT(both, testing::Each(before));
  }
  MPI_Type_free(&with_gap);
}

TEST_F(CarriedMessages, exchange_elements_with_gaps_in_one_buffer) {
  exchange_elements_with_gaps(
      [this](std::vector<std::int64_t>& both, MPI_Datatype type) {
        MPI_Sendrecv_replace(both.data(), static_cast<int>(both.size()), type, next_, 1, before_, 1, comm_,
                             MPI_STATUS_IGNORE);
      },
      me_, before_);
  expect_balance();
}

// As where all ranks roll back.
TEST_F(CarriedMessages, exchange_elements_with_gaps_in_one_buffer_without_a_carrier) {
  carrying_.reset();
  RepairCalls calls({.stays = [] { return false; }, .limit = std::chrono::minutes(1), .log = Log::silent()},
                    std::make_shared<Lifeline>(MPI_COMM_NULL, MPI_COMM_NULL));
  exchange_elements_with_gaps(
      [&](std::vector<std::int64_t>& both, MPI_Datatype type) {
        const auto count = static_cast<MPI_Count>(both.size());
        EXPECT_EQ(calls.exchange(
                      {.buffer = both.data(), .count = count, .type = type, .peer = next_, .comm = comm_},
                      {.buffer = both.data(), .count = count, .type = type, .peer = before_, .tag = 0, .comm = comm_},
                      MPI_STATUS_IGNORE),
                  MPI_SUCCESS);
      },
      me_, before_);
  carrying_.emplace(*carrier_);
}

// The datatype may be freed at once.
TEST_F(CarriedMessages, keep_the_datatype_of_a_receive_that_is_under_way) {
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  std::array in{-1, -1, -1};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(in.data(), 1, every_other, before_, 3, comm_, &request);
  MPI_Type_free(&every_other);
  // MPI uses its memory again.
  std::array<MPI_Datatype, 20> others{};
  for (MPI_Datatype& other : others) MPI_Type_contiguous(3, MPI_BYTE, &other);
  const std::array out{me_, me_ + 1};
  MPI_Send(out.data(), 2, MPI_INT, next_, 3, comm_);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_THAT(in, testing::ElementsAre(before_, -1, before_ + 1));
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
  for (MPI_Datatype& other : others) MPI_Type_free(&other);
}

TEST(WholeCount, has_all_elements_of_a_count_that_is_too_large) {
  const std::vector<int> from = numbers(0, 3 * 23);
  MPI_Datatype three = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(3, MPI_INT, &three);
  MPI_Type_commit(&three);
  for (const MPI_Count most : {23, 22, 12, 7, 1}) {
    std::vector<int> into(from.size(), -1);
    const WholeCount all(23, three, most);
    EXPECT_EQ(all.count(), most == 23 ? 23 : 1);
    MPI_Sendrecv(from.data(), all.count(), all.type(), 0, 0, into.data(), static_cast<int>(into.size()), MPI_INT, 0, 0,
                 MPI_COMM_SELF, MPI_STATUS_IGNORE);
    EXPECT_EQ(into, from) << most;
  }
  MPI_Type_free(&three);
}

TEST_F(CarriedMessages, have_elements_with_gaps) {
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(8, 1, 8, MPI_INT, &column);
  MPI_Type_commit(&column);
  const std::vector<int> out = numbers(100 * me_, 64);
  std::vector<int> in(64, -1);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(in.data(), 1, column, before_, 0, comm_, &request);
  MPI_Ssend(out.data(), 1, column, next_, 0, comm_);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT_EQ(in[0], 100 * before_);
  EXPECT_EQ(in[56], 100 * before_ + 56);
  EXPECT_EQ(in[57], -1);
  MPI_Type_free(&column);
  expect_balance();
}

// Each rank receives `kMessages` from the one before, with different tags, and completes them in the way of the test.
class CompletedRequests : public CarriedMessages {
 protected:
  static constexpr int kMessages = 6;
  void begin() {
    for (int i = 0; i < kMessages; ++i) {
      MPI_Irecv(&in_.at(static_cast<std::size_t>(i)), 1, MPI_INT, before_, i, comm_, &requests_.at(2 * i));
    }
    out_ = numbers(10 * me_, kMessages);
    for (int i = kMessages; i-- > 0;)
      MPI_Isend(&out_.at(static_cast<std::size_t>(i)), 1, MPI_INT, next_, i, comm_, &requests_.at(2 * i + 1));
  }
  void expect_all() {
    EXPECT_THAT(requests_, testing::Each(MPI_REQUEST_NULL));
    EXPECT_THAT(in_, testing::ElementsAreArray(numbers(10 * before_, kMessages)));
    EXPECT_EQ(journal_.obstacle(), std::nullopt);
    carrier_->passes_safe_point();
    EXPECT_EQ(journal_.obstacle(), std::nullopt);
    expect_balance();
  }
  std::array<MPI_Request, 2 * kMessages> requests_{};
  std::array<MPI_Status, 2 * kMessages> statuses_{};
  std::array<int, kMessages> in_{};
  std::vector<int> out_;
  int all_ = 2 * kMessages;
};

TEST_F(CompletedRequests, are_all_waited_for) {
  begin();
  EXPECT_EQ(MPI_Waitall(all_, requests_.data(), statuses_.data()), MPI_SUCCESS);
  EXPECT_EQ(statuses_.at(4).MPI_TAG, 2);
  expect_all();
}

TEST_F(CompletedRequests, are_all_tested) {
  begin();
  for (int flag = 0; flag == 0;) {
    MPI_Testall(all_, requests_.data(), &flag, MPI_STATUSES_IGNORE);
    const bool any_is_gone = std::ranges::find(requests_, MPI_REQUEST_NULL) != requests_.end();
    EXPECT_EQ(any_is_gone, flag != 0);
  }
  expect_all();
}

TEST_F(CompletedRequests, are_waited_for_one_by_one) {
  begin();
  std::array<bool, 2 * kMessages> seen{};
  for (int i = 0; i < all_; ++i) {
    int index = -1;
    MPI_Status status{};
    MPI_Waitany(all_, requests_.data(), &index, &status);
    ASSERT_FALSE(std::exchange(seen.at(static_cast<std::size_t>(index)), true));
    EXPECT_TRUE(index % 2 == 1 || status.MPI_TAG == index / 2);
  }
  int index = 0;
  MPI_Waitany(all_, requests_.data(), &index, MPI_STATUS_IGNORE);
  EXPECT_EQ(index, MPI_UNDEFINED);
  expect_all();
}

TEST_F(CompletedRequests, are_tested_one_by_one) {
  begin();
  for (int found = 0; found < all_;) {
    int index = -1;
    int flag = 0;
    MPI_Testany(all_, requests_.data(), &index, &flag, MPI_STATUS_IGNORE);
    found += flag;
  }
  expect_all();
}

TEST_F(CompletedRequests, are_waited_for_some_at_a_time) {
  begin();
  std::array<int, 2 * kMessages> indices{};
  for (int found = 0; found < all_;) {
    int done = 0;
    MPI_Waitsome(all_, requests_.data(), &done, indices.data(), statuses_.data());
    ASSERT_GT(done, 0);
    found += done;
  }
  int done = 0;
  MPI_Testsome(all_, requests_.data(), &done, indices.data(), statuses_.data());
  EXPECT_EQ(done, MPI_UNDEFINED);
  expect_all();
}

TEST_F(CompletedRequests, are_tested_some_at_a_time_among_others) {
  begin();
  // One of MPI's own, which nobody carries.
  std::vector<MPI_Request> mixed(requests_.begin(), requests_.end());
  int self = 0;
  mixed.push_back(MPI_REQUEST_NULL);
  mixed.push_back(MPI_REQUEST_NULL);
  MPI_Irecv(&self, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &mixed.back());
  MPI_Send(&me_, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  std::vector<int> indices(mixed.size());
  for (int found = 0; found <= all_;) {
    int done = 0;
    MPI_Testsome(static_cast<int>(mixed.size()), mixed.data(), &done, indices.data(), MPI_STATUSES_IGNORE);
    found += done;
  }
  EXPECT_EQ(self, me_);
  std::copy_n(mixed.begin(), requests_.size(), requests_.begin());
  expect_all();
}

TEST_F(CompletedRequests, can_be_looked_at_before) {
  begin();
  for (MPI_Request& request : requests_) {
    for (int flag = 0; flag == 0;) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    EXPECT_NE(request, MPI_REQUEST_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  expect_all();
}

class Obstacles : public CarriedMessages {};

TEST_F(Obstacles, are_what_cannot_be_replayed) {
  int out = me_;
  int in = -1;
  auto forget = [&, call = 0]() mutable {
    EXPECT_TRUE(journal_.obstacle());
    EXPECT_TRUE(journal_.start(static_cast<std::uint64_t>(++call)));
    EXPECT_FALSE(journal_.obstacle());
  };
  MPI_Sendrecv(&out, 1, MPI_INT, next_, 0, &in, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm_, MPI_STATUS_IGNORE);
  forget();
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&in, 1, MPI_INT, 0, comm_, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  forget();
  MPI_Barrier(MPI_COMM_WORLD);
  forget();
  MPI_Irecv(&in, 1, MPI_INT, before_, 9, comm_, &request);
  carrier_->passes_safe_point();
  forget();
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  forget();
  MPI_Barrier(MPI_COMM_SELF);
  EXPECT_FALSE(journal_.obstacle());
  // For good: what the application makes now it may use later.
  MPI_Win window = MPI_WIN_NULL;
  int* shared = nullptr;
  MPI_Win_allocate(sizeof in, 1, MPI_INFO_NULL, comm_, static_cast<void*>(&shared), &window);
  MPI_Win_free(&window);
  EXPECT_TRUE(journal_.start(20));
  EXPECT_TRUE(journal_.obstacle());
}

// What rank 0 gets from rank 1, if 1 has sent it these numbers, and has received what 0 sent.
std::map<std::uint32_t, Buffer> shipment_of(const std::vector<int>& sent, const std::vector<int>& received) {
  const auto bytes = [](const int& number) { return std::as_bytes(std::span(&number, 1)); };
  Journal other(1, kMiB);
  EXPECT_TRUE(other.start(4));
  for (const int& number : sent) EXPECT_TRUE(other.sends({0, 5}, bytes(number)));
  for (const int& number : received) other.received(other.awaits({0, 6}), {sizeof(int), crc32c(bytes(number))});
  return {{1, other.shipments({.newest = 5, .version = 1, .taken = {}, .replaced = {0}}, 4).value().at(0)}};
}

// No other rank takes part.
TEST_F(CarriedMessages, that_were_shipped_are_not_received_again) {
  if (me_ == 0) {
    EXPECT_TRUE(journal_.start(4));
    const Agreement agreement{.newest = 5, .version = 1, .taken = {}, .replaced = {0}};
    ASSERT_TRUE(journal_.goes_on(agreement, 4, shipment_of({41, 42, 43, 44}, {7, 8})));
    EXPECT_TRUE(journal_.catches_up());
    int in = 0;
    MPI_Status status{};
    int flag = 0;
    MPI_Iprobe(1, 5, comm_, &flag, &status);
    EXPECT_TRUE(flag != 0 && count_of(status, MPI_INT) == 1);
    MPI_Recv(&in, 1, MPI_INT, 1, 5, comm_, &status);
    EXPECT_EQ(in, 41);
    EXPECT_EQ(status.MPI_SOURCE, 1);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Irecv(&in, 1, MPI_INT, 1, 5, comm_, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(in, 42);
    for (int out : {7, 8}) MPI_Sendrecv(&out, 1, MPI_INT, 1, 6, &in, 1, MPI_INT, 1, 5, comm_, MPI_STATUS_IGNORE);
    EXPECT_EQ(in, 44);
    EXPECT_TRUE(journal_.catches_up());
    journal_.enters(5);
    EXPECT_FALSE(journal_.catches_up());
  }
  all_come_here();
}

TEST_F(CarriedMessages, that_differ_from_those_before_send_everyone_back) {
  if (me_ == 0) {
    EXPECT_TRUE(journal_.start(4));
    ASSERT_TRUE(journal_.goes_on({.newest = 5, .version = 1, .taken = {}, .replaced = {0}}, 4, shipment_of({}, {7})));
    int out = 8;
    EXPECT_NE(MPI_Send(&out, 1, MPI_INT, 1, 6, comm_), MPI_SUCCESS);
    EXPECT_TRUE(journal_.obstacle());
  }
  all_come_here();
}

TEST_F(CarriedMessages, that_are_shipped_do_not_meet_a_call_that_is_not_replayed) {
  if (me_ == 0) {
    EXPECT_TRUE(journal_.start(4));
    ASSERT_TRUE(journal_.goes_on({.newest = 5, .version = 1, .taken = {}, .replaced = {0}}, 4, shipment_of({1}, {})));
    MPI_Request request = MPI_REQUEST_NULL;
    EXPECT_NE(MPI_Ibarrier(comm_, &request), MPI_SUCCESS);
    EXPECT_TRUE(journal_.obstacle());
  }
  all_come_here();
}

TEST_F(CarriedMessages, that_do_not_fit_into_the_log_are_sent_all_the_same) {
  std::vector<int> big(static_cast<std::size_t>(3 * kMiB), me_);
  std::vector<int> in(big.size());
  for (int i = 0; i < 8; ++i)
    MPI_Sendrecv(big.data(), static_cast<int>(big.size()), MPI_INT, next_, 0, in.data(), static_cast<int>(in.size()),
                 MPI_INT, before_, 0, comm_, MPI_STATUS_IGNORE);
  EXPECT_EQ(in.back(), before_);
  ASSERT_TRUE(journal_.obstacle());
  EXPECT_THAT(*journal_.obstacle(), testing::HasSubstr("[replay] memory"));
}

}  // namespace
}  // namespace cairn::test
