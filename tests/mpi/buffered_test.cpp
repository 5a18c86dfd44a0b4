// Buffered messages that a carrier makes: calls that send them wait for no receiver.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <thread>
#include <vector>

#include "mpi/carried_messages.hpp"

namespace cairn::test {
namespace {

using Clock = std::chrono::steady_clock;

// They are longer than what MPI sends without a receiver.
class BufferedMessages : public CarriedMessages {
 protected:
  static constexpr int kNumbers = 100'000;
  void SetUp() override {
    CarriedMessages::SetUp();
    MPI_Buffer_attach(buffer_.data(), static_cast<int>(buffer_.size()));
  }
  [[nodiscard]] static std::vector<int> numbers(int first) {
    std::vector<int> all(kNumbers);
    std::iota(all.begin(), all.end(), first);
    return all;
  }
  [[nodiscard]] std::vector<int> received(int tag) {
    std::vector<int> in(kNumbers);
    MPI_Recv(in.data(), kNumbers, MPI_INT, before_, tag, comm_, MPI_STATUS_IGNORE);
    return in;
  }
  void detach() {
    void* buffer = nullptr;
    int bytes = 0;
    EXPECT_EQ(MPI_Buffer_detach(static_cast<void*>(&buffer), &bytes), MPI_SUCCESS);
    EXPECT_EQ(buffer, buffer_.data());
  }

  std::vector<std::byte> buffer_ = std::vector<std::byte>(4 * (kNumbers * sizeof(int) + MPI_BSEND_OVERHEAD));
};

TEST_F(BufferedMessages, are_sent_before_any_rank_receives) {
  std::vector<int> out = numbers(me_);
  EXPECT_EQ(MPI_Bsend(out.data(), kNumbers, MPI_INT, next_, 1, comm_), MPI_SUCCESS);
  std::array requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Ibsend(out.data(), kNumbers, MPI_INT, next_, 2, comm_, requests.data());
  MPI_Bsend_init(out.data(), kNumbers, MPI_INT, next_, 3, comm_, &requests[1]);
  MPI_Start(&requests[1]);
  EXPECT_EQ(MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE), MPI_SUCCESS);
  EXPECT_EQ(requests[0], MPI_REQUEST_NULL);
  std::iota(out.begin(), out.end(), 10 * me_);
  MPI_Start(&requests[1]);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  std::ranges::fill(out, -1);
  for (const int tag : {1, 2, 3}) EXPECT_EQ(received(tag), numbers(before_)) << tag;
  EXPECT_EQ(received(3), numbers(10 * before_));
  MPI_Request_free(&requests[1]);
  detach();
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  expect_balance();
}

TEST_F(BufferedMessages, may_have_elements_with_gaps) {
  MPI_Datatype every_other = MPI_DATATYPE_NULL;
  MPI_Type_vector(kNumbers / 2, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  const std::vector<int> out = numbers(me_);
  MPI_Bsend(out.data(), 1, every_other, next_, 1, comm_);
  MPI_Type_free(&every_other);
  std::vector<int> in(kNumbers / 2);
  MPI_Recv(in.data(), kNumbers / 2, MPI_INT, before_, 1, comm_, MPI_STATUS_IGNORE);
  EXPECT_THAT((std::array{in[0], in[1], in.back()}),
              testing::ElementsAre(before_, before_ + 2, before_ + kNumbers - 2));
  detach();
  expect_balance();
}

TEST_F(BufferedMessages, are_over_when_their_buffer_is_detached) {
  const auto since_boot = [] { return Clock::now().time_since_epoch().count(); };
  if (me_ == 0) {
    const std::vector<int> out = numbers(0);
    MPI_Bsend(out.data(), kNumbers, MPI_INT, next_, 1, comm_);
  }
  detach();
  const auto detached = since_boot();
  if (me_ == 1) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const auto before = since_boot();
    EXPECT_EQ(received(1), numbers(0));
    MPI_Send(&before, sizeof before, MPI_BYTE, 0, 2, comm_);
  } else if (me_ == 0) {
    auto receives = detached;
    MPI_Recv(&receives, sizeof receives, MPI_BYTE, 1, 2, comm_, MPI_STATUS_IGNORE);
    EXPECT_GT(detached, receives);
  }
  expect_balance();
}

}  // namespace
}  // namespace cairn::test
