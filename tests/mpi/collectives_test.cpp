// Collectives that a carrier makes of messages have the results of MPI's own, on all ranks and for all roots; and a
// rank that repeats them gets the same bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <climits>
#include <functional>
#include <random>
#include <vector>

#include "carrier/collectives/messages.hpp"
#include "codec/crc32c.hpp"
#include "mpi/carried_messages.hpp"

namespace cairn::test {
namespace {

using Numbers = std::vector<int>;

// For each number of elements: below, at and above the sizes at which another algorithm is used.
constexpr int kCounts[] = {0, 1, 3, 1000, 1024, 1025, 9000, 20'000};

class Collectives : public CarriedMessages {
 protected:
  Collectives() : CarriedMessages(512 * kMiB) {}
  // Runs it with the carrier, and without.
  void expect_same(const std::function<Numbers()>& run) {
    const Numbers carried = run();
    carrying_.reset();
    const Numbers own = run();
    EXPECT_EQ(carried, own);
    carrying_.emplace(*carrier_);
  }
  void TearDown() override {
    EXPECT_EQ(journal_.obstacle(), std::nullopt);
    expect_balance();
    CarriedMessages::TearDown();
  }
  [[nodiscard]] Numbers mine(int count) const {
    Numbers numbers(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int>((i * 7 + 3) % 1009) + 10'000 * me_;
    return numbers;
  }
  [[nodiscard]] Numbers room(int count) const { return Numbers(static_cast<std::size_t>(count), -1); }
  // Of different lengths, rank 1 without any; with a gap of one element between two blocks.
  struct Parts {
    std::vector<int> counts;
    std::vector<int> places;
    int all = 0;
  };
  [[nodiscard]] Parts parts_of(const std::function<int(int)>& count_of) const {
    Parts parts;
    for (int rank = 0; rank < ranks_; ++rank) {
      parts.counts.push_back(count_of(rank));
      parts.places.push_back(parts.all);
      parts.all += parts.counts.back() + 1;
    }
    return parts;
  }
  [[nodiscard]] Parts uneven(int scale) const {
    return parts_of([&](int rank) { return rank == 1 ? 0 : (rank + 1) * scale; });
  }
  [[nodiscard]] bool is_root(int root) const { return me_ == root; }
};

TEST_F(Collectives, send_from_one_to_all) {
  for (const int count : kCounts) {
    for (int root = 0; root < ranks_; ++root) {
      expect_same([&] {
        Numbers data = is_root(root) ? mine(count) : room(count);
        MPI_Bcast(data.data(), count, MPI_INT, root, comm_);
        return data;
      });
      expect_same([&] {
        const Numbers out = is_root(root) ? mine(count * ranks_) : Numbers{};
        Numbers in = room(count);
        MPI_Scatter(out.data(), count, MPI_INT, in.data(), count, MPI_INT, root, comm_);
        return in;
      });
      expect_same([&] {  // the root's part stays where it is
        const Numbers out = is_root(root) ? mine(count * ranks_) : Numbers{};
        Numbers in = room(count);
        void* const to = is_root(root) ? MPI_IN_PLACE : in.data();
        MPI_Scatter(out.data(), count, MPI_INT, to, count, MPI_INT, root, comm_);
        return in;
      });
      expect_same([&] {
        const Parts parts = uneven(count);
        const Numbers out = mine(parts.all);
        Numbers in = room(parts.counts[static_cast<std::size_t>(me_)]);
        MPI_Scatterv(out.data(), parts.counts.data(), parts.places.data(), MPI_INT, in.data(),
                     static_cast<int>(in.size()), MPI_INT, root, comm_);
        return in;
      });
    }
  }
}

TEST_F(Collectives, gather_from_all_at_one) {
  for (const int count : kCounts) {
    for (int root = 0; root < ranks_; ++root) {
      for (const bool in_place : {false, true}) {
        expect_same([&] {
          Numbers in = is_root(root) ? mine(count * ranks_) : Numbers{};
          const Numbers out = mine(count);
          const void* const from = in_place && is_root(root) ? MPI_IN_PLACE : out.data();
          MPI_Gather(from, count, MPI_INT, in.data(), count, MPI_INT, root, comm_);
          return in;
        });
        expect_same([&] {
          const Parts parts = uneven(count);
          Numbers in = is_root(root) ? mine(parts.all) : Numbers{};
          const Numbers out = mine(parts.counts[static_cast<std::size_t>(me_)]);
          const void* const from = in_place && is_root(root) ? MPI_IN_PLACE : out.data();
          MPI_Gatherv(from, static_cast<int>(out.size()), MPI_INT, in.data(), parts.counts.data(), parts.places.data(),
                      MPI_INT, root, comm_);
          return in;
        });
      }
    }
  }
}

TEST_F(Collectives, gather_at_all) {
  for (const int count : kCounts) {
    for (const bool in_place : {false, true}) {
      expect_same([&] {
        Numbers in = mine(count * ranks_);
        const Numbers out = mine(count);
        const void* const from = in_place ? MPI_IN_PLACE : out.data();
        MPI_Allgather(from, count, MPI_INT, in.data(), count, MPI_INT, comm_);
        return in;
      });
      expect_same([&] {
        const Parts parts = uneven(count);
        Numbers in = mine(parts.all);
        const Numbers out = mine(parts.counts[static_cast<std::size_t>(me_)]);
        const void* const from = in_place ? MPI_IN_PLACE : out.data();
        MPI_Allgatherv(from, static_cast<int>(out.size()), MPI_INT, in.data(), parts.counts.data(), parts.places.data(),
                       MPI_INT, comm_);
        return in;
      });
    }
  }
}

TEST_F(Collectives, exchange_with_all) {
  for (const int count : kCounts) {
    for (const bool in_place : {false, true}) {
      expect_same([&] {
        Numbers in = mine(count * ranks_);
        const Numbers out = mine(count * ranks_);
        const void* const from = in_place ? MPI_IN_PLACE : out.data();
        MPI_Alltoall(from, count, MPI_INT, in.data(), count, MPI_INT, comm_);
        return in;
      });
      // Both ranks of a pair send each other as much; some pairs nothing.
      const Parts parts = parts_of([&](int rank) { return (rank + me_) % 3 == 1 ? 0 : (1 + rank + me_) * count; });
      expect_same([&] {
        Numbers in = mine(parts.all);
        const Numbers out = mine(parts.all);
        const void* const from = in_place ? MPI_IN_PLACE : out.data();
        MPI_Alltoallv(from, parts.counts.data(), parts.places.data(), MPI_INT, in.data(), parts.counts.data(),
                      parts.places.data(), MPI_INT, comm_);
        return in;
      });
      expect_same([&] {
        Numbers in = mine(parts.all);
        const Numbers out = mine(parts.all);
        const void* const from = in_place ? MPI_IN_PLACE : out.data();
        std::vector<int> bytes = parts.places;
        for (int& place : bytes) place *= static_cast<int>(sizeof(int));
        const std::vector<MPI_Datatype> types(parts.counts.size(), MPI_INT);
        MPI_Alltoallw(from, parts.counts.data(), bytes.data(), types.data(), in.data(), parts.counts.data(),
                      bytes.data(), types.data(), comm_);
        return in;
      });
    }
  }
}

// Each int is a digit string: a op b is "a, then b", as polynomials modulo a prime. Not commutative.
constexpr std::int64_t kPrime = 46337;
struct Chain {
  int value;
  int factor;
};
void chain(void* left, void* right, int* count, MPI_Datatype* /*type*/) {
  const auto* const a = static_cast<const Chain*>(left);
  auto* const b = static_cast<Chain*>(right);
  for (int i = 0; i < *count; ++i)
    b[i] = {static_cast<int>((std::int64_t{a[i].value} * b[i].factor + b[i].value) % kPrime),
            static_cast<int>(std::int64_t{a[i].factor} * b[i].factor % kPrime)};
}

struct Reduction {
  MPI_Op op;
  MPI_Datatype type;
  int ints;  // of an element
};

class Reductions : public Collectives {
 protected:
  void SetUp() override {
    Collectives::SetUp();
    MPI_Type_contiguous(2, MPI_INT, &pair_);
    MPI_Type_commit(&pair_);
    MPI_Op_create(chain, 0, &chain_);
  }
  void TearDown() override {
    MPI_Op_free(&chain_);
    MPI_Type_free(&pair_);
    Collectives::TearDown();
  }
  [[nodiscard]] std::vector<Reduction> all() const {
    return {{MPI_SUM, MPI_INT, 1}, {MPI_MAX, MPI_INT, 1}, {MPI_MINLOC, MPI_2INT, 2}, {chain_, pair_, 2}};
  }

  MPI_Datatype pair_ = MPI_DATATYPE_NULL;
  MPI_Op chain_ = MPI_OP_NULL;
};

TEST_F(Reductions, have_the_result_of_mpi_at_the_root_and_at_all) {
  for (const int count : kCounts) {
    for (const Reduction& what : all()) {
      for (const bool in_place : {false, true}) {
        for (int root = 0; root < ranks_; ++root) {
          expect_same([&] {
            Numbers in = mine(count * what.ints);
            const Numbers out = mine(count * what.ints);
            const void* const from = in_place && is_root(root) ? MPI_IN_PLACE : out.data();
            MPI_Reduce(from, in.data(), count, what.type, what.op, root, comm_);
            return in;
          });
        }
        expect_same([&] {
          Numbers in = mine(count * what.ints);
          const Numbers out = mine(count * what.ints);
          MPI_Allreduce(in_place ? MPI_IN_PLACE : out.data(), in.data(), count, what.type, what.op, comm_);
          return in;
        });
      }
    }
  }
}

TEST_F(Reductions, have_the_result_of_mpi_in_parts) {
  for (const int count : kCounts) {
    for (const Reduction& what : all()) {
      for (const bool in_place : {false, true}) {
        expect_same([&] {
          Numbers in = mine(count * what.ints * ranks_);
          const Numbers out = in;
          MPI_Reduce_scatter_block(in_place ? MPI_IN_PLACE : out.data(), in.data(), count, what.type, what.op, comm_);
          in.resize(static_cast<std::size_t>(count * what.ints));
          return in;
        });
        expect_same([&] {
          const Parts parts = uneven(count);
          Numbers in = mine(parts.all * what.ints);
          const Numbers out = in;
          MPI_Reduce_scatter(in_place ? MPI_IN_PLACE : out.data(), in.data(), parts.counts.data(), what.type, what.op,
                             comm_);
          in.resize(static_cast<std::size_t>(parts.counts[static_cast<std::size_t>(me_)] * what.ints));
          return in;
        });
      }
    }
  }
}

TEST_F(Reductions, have_the_result_of_mpi_up_to_each_rank) {
  for (const int count : kCounts) {
    for (const Reduction& what : all()) {
      for (const bool in_place : {false, true}) {
        expect_same([&] {
          Numbers in = mine(count * what.ints);
          const Numbers out = in;
          MPI_Scan(in_place ? MPI_IN_PLACE : out.data(), in.data(), count, what.type, what.op, comm_);
          return in;
        });
        expect_same([&] {
          Numbers in = mine(count * what.ints);
          const Numbers out = in;
          MPI_Exscan(in_place ? MPI_IN_PLACE : out.data(), in.data(), count, what.type, what.op, comm_);
          return me_ == 0 ? Numbers{} : in;  // rank 0 gets nothing that is defined
        });
      }
    }
  }
}

TEST(Blocks, may_have_more_elements_in_total_than_an_int) {
  const std::vector counts{INT_MAX, 0, INT_MAX, 3};
  const MPI_Count most = INT_MAX;
  EXPECT_THAT(collectives::begins_of(counts), testing::ElementsAre(0, most, most, 2 * most, 2 * most + 3));
}

// Floating-point sums depend on their order, which must be the same in each run and on each rank.
TEST_F(Collectives, give_all_ranks_the_same_bits_each_time) {
  for (const int count : kCounts) {
    std::mt19937_64 random(static_cast<std::uint64_t>(me_));
    std::uniform_real_distribution<double> values(-1e6, 1e6);
    std::vector<double> out(static_cast<std::size_t>(count));
    for (double& value : out) value = values(random);
    const auto sum_of = [&] {
      std::vector<double> sum(out.size());
      MPI_Allreduce(out.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, comm_);
      return crc32c(std::as_bytes(std::span(sum)));
    };
    const std::uint32_t first = sum_of();
    EXPECT_EQ(sum_of(), first);
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    MPI_Allreduce(&first, &low, 1, MPI_UINT32_T, MPI_MIN, comm_);
    MPI_Allreduce(&first, &high, 1, MPI_UINT32_T, MPI_MAX, comm_);
    EXPECT_EQ(low, high);
  }
}

// Elements with gaps, and another datatype on each side.
TEST_F(Collectives, place_elements_as_their_datatype_says) {
  MPI_Datatype column = MPI_DATATYPE_NULL;
  MPI_Type_vector(4, 1, 3, MPI_INT, &column);
  MPI_Type_commit(&column);
  const Numbers out = mine(12);
  expect_same([&] {
    Numbers in = room(4 * ranks_);
    MPI_Allgather(out.data(), 1, column, in.data(), 4, MPI_INT, comm_);
    return in;
  });
  expect_same([&] {
    Numbers in = room(4 * ranks_);
    MPI_Gather(out.data(), 1, column, in.data(), 4, MPI_INT, ranks_ - 1, comm_);
    return in;
  });
  expect_same([&] {
    Numbers data = me_ == 0 ? mine(12) : room(12);
    me_ == 0 ? MPI_Bcast(data.data(), 1, column, 0, comm_) : MPI_Bcast(data.data(), 4, MPI_INT, 0, comm_);
    return data;
  });
  MPI_Type_free(&column);
}

// A rank waits for all: none leaves before the last one has come.
TEST_F(Collectives, let_no_rank_pass_a_barrier_before_all_have_come) {
  for (int late = 0; late < ranks_; ++late) {
    int token = 0;
    if (me_ == late) {
      // The others wait: what they send after the barrier is not here.
      int flag = 0;
      for (int i = 0; i < 1000; ++i) {
        MPI_Iprobe(MPI_ANY_SOURCE, 8, own_, &flag, MPI_STATUS_IGNORE);
        EXPECT_EQ(flag, 0);
      }
    }
    MPI_Barrier(comm_);
    if (me_ != late)
      MPI_Send(&token, 1, MPI_INT, late, 8, own_);
    else
      for (int i = 1; i < ranks_; ++i) MPI_Recv(&token, 1, MPI_INT, MPI_ANY_SOURCE, 8, own_, MPI_STATUS_IGNORE);
    carrying_.reset();
    MPI_Barrier(own_);
    carrying_.emplace(*carrier_);
  }
  EXPECT_TRUE(journal_.start(0));  // messages on another communicator are an obstacle
}

TEST_F(Collectives, report_wrong_arguments_as_mpi_does) {
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  int number = 0;
  int kind = MPI_SUCCESS;
  MPI_Error_class(MPI_Bcast(&number, 1, MPI_INT, ranks_, comm_), &kind);
  EXPECT_EQ(kind, MPI_ERR_ROOT);
}

}  // namespace
}  // namespace cairn::test
