// Whether ranks that wait for each other find that out, and no others do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <vector>

#include "replay/deadlock_check.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

using replay::DeadlockCheck;
using replay::Need;
using replay::Pattern;
using replay::Stream;
using replay::Traffic;
using Found = DeadlockCheck::Found;

constexpr Tag kMessage{1};
constexpr Tag kEnd{2};
constexpr std::int32_t kTag = 7;

Pattern from(std::uint32_t peer) { return {.channel = 0, .peer = peer, .tag = kTag}; }

TEST(Traffic, meets_the_need_of_a_message_once_it_is_sent) {
  Traffic sender;
  Traffic receiver;
  const Need need = receiver.message(from(1));
  EXPECT_FALSE(sender.meets(need, 0, 1));
  sender.sent({0, kTag});
  EXPECT_TRUE(sender.meets(need, 0, 1));
  receiver.received({1, kTag});
  EXPECT_FALSE(sender.meets(receiver.message(from(1)), 0, 1));
  for (const Pattern& other : {from(2), Pattern{1, 1, kTag}, Pattern{0, 1, kTag + 1}})
    EXPECT_FALSE(sender.meets(Traffic().message(other), 0, 1));
  EXPECT_FALSE(sender.meets(Traffic().message(from(1)), 2, 1)) << "sent to another rank";
}

TEST(Traffic, meets_the_need_of_a_message_from_any_rank_by_what_has_come_of_each_stream) {
  Traffic sender;
  Traffic receiver;
  sender.sent({0, kTag});
  receiver.received({1, kTag});
  const Pattern any{.channel = 0, .peer = {}, .tag = {}};
  EXPECT_FALSE(sender.meets(receiver.message(any), 0, 1));
  sender.sent({0, -903});
  EXPECT_FALSE(sender.meets(receiver.message(any), 0, 1)) << "a message of Cairn's own";
  sender.sent({0, kTag + 1});
  EXPECT_TRUE(sender.meets(receiver.message(any), 0, 1));
}

TEST(Traffic, meets_the_need_of_a_receiver_once_its_receive_is_posted) {
  Traffic sender;
  Traffic receiver;
  sender.sent({1, kTag});
  sender.sent({1, kTag});
  receiver.posted({0, kTag});
  EXPECT_FALSE(receiver.meets(sender.receiver({1, kTag}), 0, 1));
  receiver.posted({0, kTag});
  EXPECT_TRUE(receiver.meets(sender.receiver({1, kTag}), 0, 1));
}

TEST(Traffic, tells_others_what_a_rank_needs) {
  Traffic traffic;
  for (const std::uint32_t peer : {3U, 1U, 2U}) traffic.received({peer, kTag});
  traffic.sent({1, kTag, 5});
  for (const Need& need : {traffic.message({.channel = 0, .peer = {}, .tag = {}}), traffic.message(from(3)),
                           traffic.receiver({1, kTag, 5})}) {
    ByteWriter out;
    encode(need, out);
    ByteReader in(out.bytes());
    EXPECT_EQ(replay::decode_need(in), need);
    EXPECT_TRUE(in.good() && in.remaining() == 0);
  }
}

// One rank of a program.
class Rank {
 public:
  explicit Rank(Comm& world) : world_(world) { check_.joins(world); }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  [[nodiscard]] std::uint32_t me() const { return world_.rank().value; }
  [[nodiscard]] std::uint32_t next() const { return (me() + 1) % world_.size(); }
  [[nodiscard]] DeadlockCheck& check() { return check_; }
  void send(std::uint32_t to) {
    check_.traffic().sent({to, kTag});
    sent_.push_back(world_.isend(Peer{to}, kMessage, {}));
  }
  // Waits for that message as a call of the application does. Returns whether it has come.
  bool receive(std::uint32_t peer) {
    const auto request = world_.irecv(Peer{peer}, kMessage, {});
    check_.traffic().posted({peer, kTag});
    check_.begins_wait();
    while (!request->test().value()) {
      if (check_.look(true, [&] { return needs(peer); }) == Found::deadlock) return false;
      world_.idle(false);
    }
    check_.traffic().received({peer, kTag});
    return true;
  }
  [[nodiscard]] DeadlockCheck::Needs needs(std::uint32_t peer) { return {check_.traffic().message(from(peer))}; }
  // Rank 0 ends all.
  void tell_all_to_end() {
    for (std::uint32_t rank = 1; rank < world_.size(); ++rank) ASSERT_TRUE(world_.send(Peer{rank}, kEnd, {}));
  }
  bool has_to_end() {
    const auto found = world_.probe(kEnd).value();
    return found && world_.recv_probed(*found);
  }
  // The others have sent what this rank never took. Collective.
  void leave() {
    for (int i = 0; i < 2; ++i) {
      for (const Tag tag : {Tag{907}, Tag{908}})
        while (const auto found = world_.probe(tag).value()) ASSERT_TRUE(world_.recv_probed(*found));
      ASSERT_TRUE(world_.barrier());
    }
    check_.leaves();
  }
  // What rank 0 finds first. That it finds nothing shows when it has asked for long, whatever the others did meanwhile.
  Found ask(const DeadlockCheck::TellNeeds& needs, Found expected) {
    check_.begins_wait();
    Found found = Found::nothing;
    for (int i = 0; found == Found::nothing && (expected != Found::nothing || i < 500); ++i) {
      found = check_.look(true, needs);
      world_.idle(false);
    }
    tell_all_to_end();
    return found;
  }

 private:
  Comm& world_;
  DeadlockCheck check_;
  std::vector<std::unique_ptr<Request>> sent_;
};

// Rank 0 asks; each of the others does this until it is told to end.
void expect_found_by_rank_0(Found expected, const std::function<void(Rank&)>& others,
                            const std::function<void(Rank&)>& before = {}, bool waits_for_all = false) {
  run_cluster(3, [&](Comm& world) {
    Rank rank(world);
    if (before) before(rank);
    if (rank.me() == 0) {
      const auto needs = [&] { return waits_for_all ? DeadlockCheck::Needs{} : rank.needs(1); };
      EXPECT_EQ(rank.ask(needs, expected), expected);
      return rank.leave();
    }
    rank.check().begins_wait();
    while (!rank.has_to_end()) {
      others(rank);
      world.idle(false);
    }
    rank.leave();
  });
}

void wait_for_next(Rank& rank) {
  EXPECT_EQ(rank.check().look(false, [&] { return rank.needs(rank.next()); }), Found::nothing);
}
void wait_for_all(Rank& rank) {
  EXPECT_EQ(rank.check().look(false, [] { return DeadlockCheck::Needs{}; }), Found::nothing);
}

TEST(DeadlockCheck, finds_that_all_ranks_wait_for_each_other) {
  expect_found_by_rank_0(Found::deadlock, wait_for_next);
}

TEST(DeadlockCheck, finds_that_a_rank_keeps_all_others_from_a_call) {
  expect_found_by_rank_0(Found::deadlock, wait_for_all);
}

TEST(DeadlockCheck, finds_nothing_where_all_have_come_to_one_call) {
  expect_found_by_rank_0(Found::progress, wait_for_all, {}, true);
}

TEST(DeadlockCheck, finds_nothing_while_a_rank_computes) {
  expect_found_by_rank_0(Found::nothing, [](Rank& rank) {
    if (rank.me() == 1) wait_for_next(rank);
  });
}

TEST(DeadlockCheck, finds_nothing_while_a_rank_cannot_tell_what_it_needs) {
  expect_found_by_rank_0(Found::nothing, [](Rank& rank) {
    if (rank.me() == 1) return wait_for_next(rank);
    EXPECT_EQ(rank.check().look(false, [] { return std::nullopt; }), Found::nothing);
  });
}

TEST(DeadlockCheck, finds_progress_while_a_message_is_under_way) {
  const auto send_to_0 = [](Rank& rank) {
    if (rank.me() == 1) rank.check().traffic().sent({0, kTag});
  };
  expect_found_by_rank_0(Found::progress, wait_for_next, send_to_0);
}

TEST(DeadlockCheck, finds_progress_if_a_rank_waits_in_another_call_meanwhile) {
  // Each answer is of another wait, also where one look gives two.
  expect_found_by_rank_0(Found::progress, [](Rank& rank) {
    const auto needs_in_another_call = [&] {
      rank.check().begins_wait();
      return rank.needs(rank.next());
    };
    EXPECT_EQ(rank.check().look(false, needs_in_another_call), Found::nothing);
  });
}

// All ask whenever they wait, and messages come in another order each time.
TEST(DeadlockCheck, finds_no_deadlock_in_a_program_that_has_none) {
  constexpr std::uint32_t kRanks = 4;
  run_cluster(kRanks, [&](Comm& world) {
    Rank rank(world);
    std::mt19937 same_on_all(1);
    std::array<std::uint32_t, kRanks> to{};
    std::iota(to.begin(), to.end(), 0U);
    for (int step = 0; step < 400; ++step) {
      std::ranges::shuffle(to, same_on_all);
      const auto sender = static_cast<std::uint32_t>(std::ranges::find(to, rank.me()) - to.begin());
      const bool receives_first = same_on_all() % kRanks != rank.me() && step % 3 == 0 && sender < rank.me();
      ASSERT_TRUE(!receives_first || rank.receive(sender));
      rank.send(to[rank.me()]);
      ASSERT_TRUE(receives_first || rank.receive(sender));
    }
    rank.leave();
  });
}

}  // namespace
}  // namespace cairn::test
