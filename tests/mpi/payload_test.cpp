// Elements as bytes and back, and from one datatype to another, also in several pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "carrier/collectives/messages.hpp"
#include "mpi/payload.hpp"

namespace cairn::test {
namespace {

struct Pair {
  double value = 0;
  int place = -1;
  bool operator==(const Pair&) const = default;
};

std::vector<Pair> pairs(int count) {
  std::vector<Pair> all;
  for (int i = 0; i < count; ++i) all.push_back({0.5 * i, i});
  return all;
}

// Two numbers of every three.
class Payloads : public testing::Test {
 protected:
  Payloads() {
    MPI_Datatype two = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &two);
    MPI_Type_create_resized(two, 0, 3 * sizeof(int), &two_of_three_);
    MPI_Type_commit(&two_of_three_);
    MPI_Type_free(&two);
    std::iota(numbers_.begin(), numbers_.end(), 0);
  }
  ~Payloads() override { MPI_Type_free(&two_of_three_); }
  Payloads(const Payloads&) = delete;
  Payloads& operator=(const Payloads&) = delete;

  static constexpr int kElements = 10;
  MPI_Datatype two_of_three_ = MPI_DATATYPE_NULL;
  std::vector<int> numbers_ = std::vector<int>(3 * kElements);
};

TEST_F(Payloads, are_the_same_in_pieces_of_any_length) {
  const auto whole = pack_elements(numbers_.data(), kElements, two_of_three_);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->size(), 2 * kElements * sizeof(int));
  std::vector<int> expected = numbers_;
  for (std::size_t i = 2; i < expected.size(); i += 3) expected[i] = -1;
  for (const MPI_Count piece : {1, 8, 20, 24, 79, 80}) {
    EXPECT_EQ(pack_elements(numbers_.data(), kElements, two_of_three_, piece), whole) << piece;
    std::vector<int> in(numbers_.size(), -1);
    EXPECT_EQ(put_payload(*whole, 0, 0, in.data(), kElements, two_of_three_, MPI_COMM_SELF, MPI_STATUS_IGNORE, piece),
              MPI_SUCCESS);
    EXPECT_EQ(in, expected) << piece;
  }
  for (const MPI_Count piece : {1, 1000}) {
    const auto dense = pack_elements(numbers_.data(), kElements, MPI_INT, piece);
    ASSERT_TRUE(dense);
    EXPECT_TRUE(std::ranges::equal(*dense, std::as_bytes(std::span(numbers_).first(kElements))));
  }
  EXPECT_EQ(pack_elements(nullptr, 0, two_of_three_, 1), Buffer{});
}

TEST_F(Payloads, are_copied_in_pieces_of_any_length) {
  const std::vector<Pair> from = pairs(kElements);
  for (const MPI_Count piece : {1, 12, 30, 119, 120}) {
    std::vector<Pair> to(from.size());
    collectives::copy({from.data(), kElements, MPI_DOUBLE_INT}, {to.data(), kElements, MPI_DOUBLE_INT}, piece);
    EXPECT_EQ(to, from) << piece;
  }
}

// Pieces have whole elements of both.
TEST_F(Payloads, are_copied_from_one_datatype_to_another) {
  MPI_Datatype three = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(3, MPI_INT, &three);
  MPI_Type_commit(&three);
  std::vector<int> expected;
  for (std::size_t i = 0; i < numbers_.size(); ++i)
    if (i % 3 != 2) expected.push_back(numbers_[i]);
  expected.resize(18);
  for (const MPI_Count piece : {1, 12, 24, 30, 48, 71, 72}) {
    std::vector<int> to(18, -1);
    collectives::copy({numbers_.data(), 9, two_of_three_}, {to.data(), 6, three}, piece);
    EXPECT_EQ(to, expected) << piece;
    std::vector<int> back(27, -1);
    collectives::copy({to.data(), 18, MPI_INT}, {back.data(), 9, two_of_three_}, piece);
    EXPECT_THAT((std::vector{back[0], back[2], back[24], back[25], back[26]}), testing::ElementsAre(0, -1, 24, 25, -1));
  }
  MPI_Type_free(&three);
}

}  // namespace
}  // namespace cairn::test
