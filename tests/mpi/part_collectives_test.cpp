// A part of a lost rank makes its collective calls again, without the other ranks: it gets what the rank got, and has
// sent what the rank had sent.
#include <cairn/cairn.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <array>
#include <chrono>
#include <map>
#include <numeric>
#include <vector>

#include <cairn/error.hpp>
#include <cairn/lost_collectives.hpp>

#include "bind/parts.hpp"
#include "carrier/collectives/collectives.hpp"
#include "mpi/mpi_comm.hpp"
#include "mpi/place_in.hpp"
#include "replay/part_work.hpp"

namespace cairn::test {
namespace {

using replay::kCollectiveTag;
using replay::Number;
using Numbers = std::vector<int>;
namespace calls = tap::collectives;

// Sends and receives, and keeps all that it has sent and received.
class Recorder final : public collectives::Messages {
 public:
  [[nodiscard]] int rank() const override { return rank_in(MPI_COMM_WORLD); }
  [[nodiscard]] int size() const override { return size_of(MPI_COMM_WORLD); }
  void send(const collectives::Source& what, int to) override {
    if (to == MPI_PROC_NULL) return;
    const Buffer& bytes = sent.emplace(sends_.next(stream(to)), collectives::pack(what)).first->second;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Isend(bytes.data(), static_cast<int>(bytes.size()), MPI_BYTE, to, 0, MPI_COMM_WORLD, &request);
    requests_.push_back(request);
  }
  void receive(const collectives::Target& into, int from) override {
    if (from == MPI_PROC_NULL) return;
    MPI_Status status{};
    MPI_Probe(from, 0, MPI_COMM_WORLD, &status);
    int bytes = 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    Buffer& message = received[receives_.next(stream(from))];
    message.resize(static_cast<std::size_t>(bytes));
    MPI_Recv(message.data(), bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    collectives::unpack(message, into);
  }
  void exchange_all(std::span<const collectives::Sent> out, std::span<const collectives::Received> in) override {
    for (const auto& [what, to] : out) send(what, to);
    for (const auto& [into, from] : in) receive(into, from);
  }
  void end() { MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE); }

  std::map<Number, Buffer> sent;
  std::map<Number, Buffer> received;

 private:
  static replay::Stream stream(int peer) { return {static_cast<std::uint32_t>(peer), kCollectiveTag}; }

  replay::Counter sends_;
  replay::Counter receives_;
  std::vector<MPI_Request> requests_;
};

class PartCollectives : public testing::Test {
 protected:
  // Makes the call with the other ranks, then alone, in C++ and in C. `to`: what it fills in, if it does.
  template <class Call, auto InCpp, auto InC, class... Arguments>
  void expect_same(Numbers& to, Arguments... arguments) {
    const Numbers before = to;
    Recorder recorder;
    collectives::make(Call{arguments..., MPI_COMM_NULL}, recorder);
    recorder.end();
    const Numbers expected = to;
    to = before;
    expect_part(recorder, [&](LostPart& part) {
      LostCollectives collectives(part);
      (collectives.*InCpp)(arguments...);
      return Buffer();
    });
    EXPECT_EQ(to, expected);
    to = before;
    const auto in_c = [&](cairn_part* part) { return InC(part, arguments...); };
    const auto run = [](cairn_part* part, void* data) { return (*static_cast<decltype(in_c)*>(data))(part); };
    expect_part(recorder, bind::compute_of(run, const_cast<void*>(static_cast<const void*>(&in_c))));
    EXPECT_EQ(to, expected);
  }

  void expect_part(const Recorder& recorder, const ComputePart& compute) {
    replay::PartWork work(team_, order(recorder.received));
    ASSERT_TRUE(work.next_step().value());
    LostPart part(work);
    EXPECT_NO_THROW((void)compute(part));
    ASSERT_FALSE(work.next_step().value());
    const auto result = std::move(work).result({});
    EXPECT_EQ(result->sent, recorder.sent);
    EXPECT_EQ(result->taken.size(), recorder.received.size());
  }
  [[nodiscard]] replay::PartOrder order(const std::map<Number, Buffer>& received) const {
    const auto number = [](int value) { return static_cast<std::uint32_t>(value); };
    return {{number(me_), number(ranks_), 0, 1, received}, 0, {0, 1}, {}};
  }
  // Of this rank, all different.
  [[nodiscard]] Numbers mine(int count) const {
    Numbers numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 1000 * me_);
    return numbers;
  }
  [[nodiscard]] Numbers each(int value) const { return Numbers(static_cast<std::size_t>(ranks_), value); }
  [[nodiscard]] Numbers places() const {
    Numbers places(static_cast<std::size_t>(ranks_));
    for (int rank = 0; rank < ranks_; ++rank) places[static_cast<std::size_t>(rank)] = kCount * rank;
    return places;
  }

  static constexpr int kCount = 3;
  int me_ = rank_in(MPI_COMM_WORLD);
  int ranks_ = size_of(MPI_COMM_WORLD);
  int root_ = ranks_ - 1;
  std::unique_ptr<MpiComm> alone_ = std::move(*MpiComm::duplicate(MPI_COMM_SELF));
  replay::HelperTeam team_{
      {.comm = *alone_, .is_gone = [](std::uint32_t) { return false; }, .limit = std::chrono::minutes(1)}};
  Numbers some_ = mine(kCount);
  Numbers all_ = mine(kCount * ranks_);
  Numbers to_ = Numbers(all_.size(), -1);
  Numbers counts_ = each(kCount);
  Numbers places_ = places();
};

TEST_F(PartCollectives, of_all_ranks_give_the_same_again) {
  using C = LostCollectives;
  expect_same<calls::Barrier, &C::barrier, &cairn_part_barrier>(to_);
  expect_same<calls::Allgather, &C::allgather, &cairn_part_allgather>(to_, some_.data(), kCount, MPI_INT, to_.data(),
                                                                      kCount, MPI_INT);
  expect_same<calls::Allgatherv, &C::allgatherv, &cairn_part_allgatherv>(to_, some_.data(), kCount, MPI_INT, to_.data(),
                                                                         counts_.data(), places_.data(), MPI_INT);
  expect_same<calls::Alltoall, &C::alltoall, &cairn_part_alltoall>(to_, all_.data(), kCount, MPI_INT, to_.data(),
                                                                   kCount, MPI_INT);
  expect_same<calls::Alltoallv, &C::alltoallv, &cairn_part_alltoallv>(
      to_, all_.data(), counts_.data(), places_.data(), MPI_INT, to_.data(), counts_.data(), places_.data(), MPI_INT);
  // Between some ranks there is no message.
  Numbers to_next = each(0);
  Numbers from_last = each(0);
  to_next[static_cast<std::size_t>((me_ + 1) % ranks_)] = kCount;
  from_last[static_cast<std::size_t>((me_ + ranks_ - 1) % ranks_)] = kCount;
  expect_same<calls::Alltoallv, &C::alltoallv, &cairn_part_alltoallv>(
      to_, all_.data(), to_next.data(), places_.data(), MPI_INT, to_.data(), from_last.data(), places_.data(), MPI_INT);
  expect_same<calls::Alltoall, &C::alltoall, &cairn_part_alltoall>(all_, MPI_IN_PLACE, kCount, MPI_INT, all_.data(),
                                                                   kCount, MPI_INT);
  const std::vector<MPI_Datatype> types(counts_.size(), MPI_INT);
  Numbers bytes = places_;
  for (int& place : bytes) place *= static_cast<int>(sizeof(int));
  expect_same<calls::Alltoallw, &C::alltoallw, &cairn_part_alltoallw>(to_, all_.data(), counts_.data(), bytes.data(),
                                                                      types.data(), to_.data(), counts_.data(),
                                                                      bytes.data(), types.data());
}

TEST_F(PartCollectives, with_a_root_give_the_same_again) {
  using C = LostCollectives;
  expect_same<calls::Bcast, &C::bcast, &cairn_part_bcast>(some_, some_.data(), kCount, MPI_INT, root_);
  expect_same<calls::Gather, &C::gather, &cairn_part_gather>(to_, some_.data(), kCount, MPI_INT, to_.data(), kCount,
                                                             MPI_INT, root_);
  expect_same<calls::Gatherv, &C::gatherv, &cairn_part_gatherv>(to_, some_.data(), kCount, MPI_INT, to_.data(),
                                                                counts_.data(), places_.data(), MPI_INT, root_);
  expect_same<calls::Scatter, &C::scatter, &cairn_part_scatter>(to_, all_.data(), kCount, MPI_INT, to_.data(), kCount,
                                                                MPI_INT, root_);
  expect_same<calls::Scatterv, &C::scatterv, &cairn_part_scatterv>(to_, all_.data(), counts_.data(), places_.data(),
                                                                   MPI_INT, to_.data(), kCount, MPI_INT, root_);
}

TEST_F(PartCollectives, that_reduce_give_the_same_again) {
  using C = LostCollectives;
  expect_same<calls::Reduce, &C::reduce, &cairn_part_reduce>(to_, some_.data(), to_.data(), kCount, MPI_INT, MPI_SUM,
                                                             root_);
  expect_same<calls::Allreduce, &C::allreduce, &cairn_part_allreduce>(to_, some_.data(), to_.data(), kCount, MPI_INT,
                                                                      MPI_MAX);
  expect_same<calls::Allreduce, &C::allreduce, &cairn_part_allreduce>(some_, MPI_IN_PLACE, some_.data(), kCount,
                                                                      MPI_INT, MPI_SUM);
  expect_same<calls::Reduce_scatter_block, &C::reduce_scatter_block, &cairn_part_reduce_scatter_block>(
      to_, all_.data(), to_.data(), kCount, MPI_INT, MPI_SUM);
  expect_same<calls::Reduce_scatter, &C::reduce_scatter, &cairn_part_reduce_scatter>(to_, all_.data(), to_.data(),
                                                                                     counts_.data(), MPI_INT, MPI_SUM);
  expect_same<calls::Scan, &C::scan, &cairn_part_scan>(to_, some_.data(), to_.data(), kCount, MPI_INT, MPI_SUM);
  expect_same<calls::Exscan, &C::exscan, &cairn_part_exscan>(to_, some_.data(), to_.data(), kCount, MPI_INT, MPI_SUM);
}

TEST_F(PartCollectives, that_the_lost_rank_has_not_made_are_refused) {
  replay::PartWork work(team_, order({}));
  LostPart part(work);
  LostCollectives collectives(part);
  if (ranks_ == 1) return;
  const auto kind_of = [](const auto& call) {
    try {
      call();
    } catch (const Exception& error) {
      return std::optional(error.kind());
    }
    return std::optional<ErrorKind>();
  };
  EXPECT_EQ(kind_of([&] { collectives.barrier(); }), ErrorKind::usage);  // before the first step
  ASSERT_TRUE(work.next_step().value());
  EXPECT_EQ(kind_of([&] { collectives.barrier(); }), ErrorKind::usage);
  int word = 0;
  EXPECT_EQ(kind_of([&] { collectives.allreduce(MPI_IN_PLACE, &word, -1, MPI_INT, MPI_SUM); }), ErrorKind::usage);
}

}  // namespace
}  // namespace cairn::test
