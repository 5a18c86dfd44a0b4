// A fixture: the messages on a communicator of all ranks are made by a carrier.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "carrier/message_carrier.hpp"
#include "mpi/place_in.hpp"
#include "replay/journal.hpp"

namespace cairn::test {

class CarriedMessages : public testing::Test {
 protected:
  explicit CarriedMessages(std::uint64_t memory = 64 * kMiB, bool restores = true)
      : restores_(restores), journal_(static_cast<std::uint32_t>(rank_in(MPI_COMM_WORLD)), memory) {}
  void SetUp() override {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_dup(MPI_COMM_WORLD, &own_);
    me_ = rank_in(comm_);
    ranks_ = size_of(comm_);
    next_ = (me_ + 1) % ranks_;
    before_ = (me_ + ranks_ - 1) % ranks_;
    if (restores_) {
      EXPECT_TRUE(journal_.start(0));
    }
    make_carrier();
  }
  void make_carrier() {
    carrier_ = std::make_unique<MessageCarrier>(MessageCarrier::Setting{.comm = comm_,
                                                                        .own = own_,
                                                                        .journal = journal_,
                                                                        .deadlocks = deadlocks_,
                                                                        .stays = [] { return false; },
                                                                        .limit = std::chrono::minutes(1),

                                                                        .log = Log::silent()},
                                                std::make_shared<Lifeline>(MPI_COMM_NULL, MPI_COMM_NULL));
    carrying_.emplace(*carrier_);
  }
  void TearDown() override {
    carrying_.reset();
    carrier_.reset();
    MPI_Comm_free(&own_);
    MPI_Comm_free(&comm_);
  }
  // Ends the wait of a rank that has another one's messages to be sent yet.
  void all_come_here() {
    carrying_.reset();
    MPI_Barrier(comm_);
    carrying_.emplace(*carrier_);
  }
  // From now on this rank is a replacement, which has exchanged nothing.
  void is_replaced() {
    carrying_.reset();
    carrier_.reset();
    journal_ = replay::Journal(static_cast<std::uint32_t>(me_), 64 * kMiB, replay::Origin::replacement);
    make_carrier();
  }
  // A carrier has only what was sent and received on all ranks.
  void expect_balance() {
    std::uint64_t sum = journal_.balance(0);
    carrying_.reset();
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, comm_);
    EXPECT_EQ(sum, 0U);
    carrying_.emplace(*carrier_);
  }

  bool restores_;  // at once
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm own_ = MPI_COMM_NULL;
  int me_ = 0;
  int ranks_ = 0;
  int next_ = 0;
  int before_ = 0;
  replay::Journal journal_;
  replay::DeadlockCheck deadlocks_;  // joins nobody
  std::unique_ptr<MessageCarrier> carrier_;
  std::optional<tap::Carrying> carrying_;
};

}  // namespace cairn::test
