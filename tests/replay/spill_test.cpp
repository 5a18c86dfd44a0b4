// A log whose memory is full writes payloads to files of the node's store. Whatever happens to these files, a payload
// is either given back as it was, or its loss is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "replay/journal.hpp"
#include "replay/send_log.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/faulty_store.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

using replay::Counter;
using replay::Journal;
using replay::Number;
using replay::SendLog;

constexpr std::size_t kLong = 300'000;

Buffer payload_of(std::size_t bytes, std::size_t seed) {
  Buffer payload(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    payload[i] = std::byte(static_cast<unsigned char>(seed * 31 + i * 7 + i / 251));
  return payload;
}

class SpillTest : public testing::Test {
 protected:
  std::vector<std::filesystem::path> paths() const {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_.path()))
      if (entry.is_regular_file()) found.push_back(entry.path());
    return found;
  }
  std::size_t files() const { return paths().size(); }
  replay::Spill::Open open() {
    return [store = store_] { return store->create(names::spill(Rank{3}), 0, {}); };
  }
  // A log with 1,000 bytes of memory.
  SendLog log(std::uint64_t most) {
    SendLog log(1000);
    log.spills_to(most, open());
    return log;
  }

  TempDirectory directory_{"/tmp"};
  std::shared_ptr<FaultPlan> plan_ = std::make_shared<FaultPlan>();
  std::shared_ptr<Store> store_ =
      std::make_shared<FaultyStore>(PosixStore::open(directory_.path(), "job", {}).value(), plan_);
};

TEST_F(SpillTest, gives_back_what_did_not_fit_into_the_memory) {
  SendLog log = this->log(16 * kMiB);
  Counter counter;
  std::vector<Number> numbers;
  const auto length_of = [](std::size_t i) { return i % 4 == 0 ? kLong + i : 100 + i; };
  for (std::size_t i = 0; i < 40; ++i) {
    numbers.push_back(counter.next({static_cast<std::uint32_t>(i % 3), 7}));
    ASSERT_TRUE(log.keep(numbers.back(), payload_of(length_of(i), i)));
    ASSERT_EQ(log.payload(numbers.back()).value(), payload_of(length_of(i), i)) << "at once: " << i;
  }
  EXPECT_GT(log.bytes(), 2 * kMiB);
  EXPECT_GT(files(), 1U) << "each is at least 1 MiB";
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(log.payload(numbers[i]).value(), payload_of(length_of(i), i)) << i;
  EXPECT_TRUE(log.reaches(0));
}

TEST_F(SpillTest, removes_files_when_the_log_is_cut_and_when_it_ends) {
  {
    SendLog log = this->log(2 * kMiB);
    Counter counter;
    for (std::uint64_t epoch = 1; epoch <= 30; ++epoch) {
      counter.enter(epoch);
      const Number number = counter.next({1, 0});
      ASSERT_TRUE(log.keep(number, payload_of(kLong, epoch))) << epoch;
      log.cut(epoch);
      ASSERT_EQ(log.payload(number).value(), payload_of(kLong, epoch));
      EXPECT_LE(files(), 2U);
    }
    log.cut(31);
    EXPECT_EQ(files(), 0U);
    EXPECT_EQ(log.bytes(), 0U);
    counter.enter(31);
    ASSERT_TRUE(log.keep(counter.next({1, 0}), payload_of(kLong, 0)));
    EXPECT_EQ(files(), 1U);
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(SpillTest, that_is_full_lets_the_log_reach_back_to_the_next_snapshot_only) {
  SendLog log = this->log(2 * kLong);
  Counter counter;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(log.keep(counter.next({1, 0}), payload_of(kLong, 1)));
  EXPECT_FALSE(log.keep(counter.next({1, 0}), payload_of(kLong, 1)));
  EXPECT_FALSE(log.reaches(0));
  EXPECT_EQ(log.spill_error()->code, Code::no_space);
  log.cut_what_is_void();
  counter.enter(1);
  EXPECT_TRUE(log.keep(counter.next({1, 0}), payload_of(kLong, 1)));
  EXPECT_TRUE(log.reaches(1));
}

// Their entries are in memory.
TEST_F(SpillTest, has_room_for_so_many_messages_without_bytes_only) {
  constexpr std::size_t kMost = 2000;
  SendLog log = this->log(50'000);
  Counter counter;
  std::size_t kept = 0;
  while (kept < kMost && log.keep(counter.next({1, 0}), {})) ++kept;
  EXPECT_GT(kept, 200U);
  EXPECT_LT(kept, kMost);
  EXPECT_EQ(log.spill_error()->code, Code::no_space);
  log.cut_what_is_void();
  EXPECT_EQ(log.bytes(), 0U);
}

// What was kept before an operation of the store failed is still there.
TEST_F(SpillTest, keeps_what_it_has_whichever_operation_fails) {
  for (std::uint64_t failing = 0;; ++failing) {
    plan_->heal();
    plan_->fail_once_at(failing);
    SendLog log = this->log(16 * kMiB);
    Counter counter;
    std::vector<Number> kept;
    bool all = true;
    for (std::size_t i = 0; i < 20 && all; ++i) {
      const Number number = counter.next({1, 0});
      all = log.keep(number, payload_of(kLong / (1 + i % 3), i)).has_value();
      if (all) kept.push_back(number);
    }
    EXPECT_EQ(all, !plan_->has_failed());
    EXPECT_EQ(log.reaches(0), all);
    for (std::size_t i = 0; i < kept.size(); ++i)
      EXPECT_EQ(log.payload(kept[i]).value(), payload_of(kLong / (1 + i % 3), i)) << failing << ", " << i;
    if (!plan_->has_failed()) break;
    EXPECT_EQ(log.spill_error()->code, Code::io);
    // It is used again from the next snapshot() call on.
    log.cut_what_is_void();
    counter.enter(1);
    const Number next = counter.next({1, 0});
    ASSERT_TRUE(log.keep(next, payload_of(kLong, 5))) << failing;
    EXPECT_EQ(log.payload(next).value(), payload_of(kLong, 5));
  }
}

// Rank 0 has sent to rank 1, which is replaced.
class SpillOfARepair : public SpillTest {
 protected:
  SpillOfARepair() {
    EXPECT_TRUE(journal_.start(0));
    journal_.spills_to(16 * kMiB, open());
    agreement_.newest = 0;
    agreement_.replaced = {1};
    agreement_.ranks = 3;
  }
  Journal journal_{0, 1000};
  replay::Agreement agreement_;
};

TEST_F(SpillOfARepair, ships_what_was_spilled) {
  ASSERT_TRUE(journal_.sends({1, 0}, payload_of(kLong, 1)).value().is_logged);
  const auto shipped = journal_.shipments(agreement_, 0);
  ASSERT_TRUE(shipped);
  const auto shipment = replay::decode_shipment(shipped->at(1)).value();
  EXPECT_EQ(shipment.messages.begin()->second.front().payload, payload_of(kLong, 1));
}

TEST_F(SpillOfARepair, refuses_a_damaged_copy) {
  ASSERT_TRUE(journal_.sends({1, 0}, payload_of(kLong, 1)).value().is_logged);
  ASSERT_EQ(files(), 1U);
  std::fstream(paths().front(), std::ios::in | std::ios::out).seekp(kLong / 2).put('x');
  const auto shipped = journal_.shipments(agreement_, 0);
  ASSERT_FALSE(shipped);
  EXPECT_EQ(shipped.error().code, Code::corrupt);
}

TEST_F(SpillOfARepair, tells_that_a_copy_cannot_be_read) {
  ASSERT_TRUE(journal_.sends({1, 0}, payload_of(kLong, 1)).value().is_logged);
  ASSERT_TRUE(journal_.sends({2, 0}, payload_of(kLong, 2)).value().is_logged);
  plan_->heal();
  plan_->crash_at(0, true);
  (void)plan_->operation("it crashes");
  EXPECT_EQ(journal_.shipments(agreement_, 0).error().code, Code::io);
  EXPECT_EQ(journal_.goes_on(agreement_, 0, {}).error().code, Code::io) << "rank 2 has not received its message";
}

TEST_F(SpillOfARepair, names_what_the_store_has_refused) {
  plan_->inject_code(Code::no_space);
  plan_->crash_at(0);
  EXPECT_FALSE(journal_.sends({1, 0}, payload_of(kLong, 1)).value().is_logged);
  const auto obstacle = journal_.obstacle();
  ASSERT_TRUE(obstacle);
  for (const char* named : {"rank 0", "[replay] memory", "spill = 16 MiB", "injected"})
    EXPECT_THAT(*obstacle, testing::HasSubstr(named));
}

}  // namespace
}  // namespace cairn::test
