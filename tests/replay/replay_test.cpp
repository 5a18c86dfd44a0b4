// Ranks die at every step of programs drawn from seeds; those that replace them compute again, alone, and all come to
// the results of a run in which nobody dies.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "codec/crc32c.hpp"
#include "replay/catch_up.hpp"
#include "replay/choices.hpp"
#include "replay/prologue.hpp"
#include "world.hpp"

namespace cairn::test {
namespace {

using replay::Balance;
using replay::CatchUp;
using replay::Choice;
using replay::Content;
using replay::Counter;
using replay::Lane;
using replay::Number;
using replay::Pattern;
using replay::Prologue;
using replay::Receipts;
using replay::SendLog;

constexpr std::uint64_t kMostSteps = 100'000;

struct Case {
  explicit Case(std::uint64_t seed) : random(seed) {
    ranks = 2 + static_cast<std::uint32_t>(random() % 5);
    program = draw_program(random, ranks, 3 + static_cast<std::uint32_t>(random() % 5));
    for (const auto& rank : program)
      for (const Operation& one : rank) is_free = is_free || one.kind == Operation::Kind::receive_any;
    World world(program, seed);
    while (world.step()) {
    }
    EXPECT_TRUE(world.is_finished() && world.fault().empty()) << "seed " << seed << ": " << world.fault();
    EXPECT_EQ(world.balance(), 0U);
    results = world.results();
    steps = world.steps();
  }
  std::mt19937_64 random;
  std::uint32_t ranks = 0;
  Program program;
  bool is_free = false;  // ranks receive from any rank, so each run has another result
  std::vector<std::uint64_t> results;
  std::uint64_t steps = 0;
};

// What is wrong with a run in which ranks die at these steps; empty: nothing.
std::string play(const Case& of, std::uint64_t seed, std::vector<std::uint64_t> deaths, Mutant mutant) {
  World world(of.program, seed, mutant);
  std::mt19937_64 random(seed ^ deaths.front() * 1315423911U);
  while (world.steps() < kMostSteps) {
    while (!deaths.empty() && world.steps() >= deaths.front()) {
      deaths.erase(deaths.begin());
      std::set<std::uint32_t> dead{static_cast<std::uint32_t>(random() % of.ranks)};
      if (random() % 4 == 0 && of.ranks > 2) dead.insert(static_cast<std::uint32_t>(random() % of.ranks));
      world.kill(dead);
    }
    if (!world.step()) break;
    if (!world.fault().empty()) return world.fault();
  }
  if (!world.is_finished()) return "it stands still";
  if (!of.is_free && world.results() != of.results) return "another result";
  return world.balance() == 0 ? "" : "messages are lost or doubled";
}

std::uint64_t seeds() {
  const char* const text = std::getenv("REPLAY_SEEDS");
  return text == nullptr ? 60 : std::strtoull(text, nullptr, 10);
}

TEST(Replay, comes_to_the_same_result_whichever_step_a_rank_dies_at) {
  std::uint64_t runs = 0;
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    const Case of(seed);
    for (std::uint64_t at = 0; at <= of.steps; ++at, ++runs) {
      const std::string fault = play(of, seed, {at}, Mutant::none);
      ASSERT_EQ(fault, "") << "seed " << seed << ", at step " << at << " of " << of.steps;
    }
  }
  RecordProperty("runs", static_cast<int>(runs));
}

TEST(Replay, comes_to_the_same_result_when_ranks_die_again_and_again) {
  for (std::uint64_t seed = 1; seed <= 4 * seeds(); ++seed) {
    Case of(seed);
    for (int run = 0; run < 10; ++run) {
      std::vector<std::uint64_t> deaths;
      for (std::uint64_t at = of.random() % of.steps; deaths.size() < 6; at += of.random() % 40) deaths.push_back(at);
      const std::string fault = play(of, seed, deaths, Mutant::none);
      ASSERT_EQ(fault, "") << "seed " << seed << ", from step " << deaths.front();
    }
  }
}

class ReplayMutants : public testing::TestWithParam<Mutant> {};

TEST_P(ReplayMutants, are_found) {
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) {
    const Case of(seed);
    for (std::uint64_t at = 0; at <= of.steps; at += 3)
      if (!play(of, seed, {at, at + 20}, GetParam()).empty()) return;
  }
  FAIL() << "nothing is wrong without it";
}
INSTANTIATE_TEST_SUITE_P(Each, ReplayMutants,
                         testing::Values(Mutant::no_receipts, Mutant::no_resend, Mutant::restores_own_newest,
                                         Mutant::numbers_go_on, Mutant::keeps_void_snapshots, Mutant::ships_no_prologue,
                                         Mutant::forgets_choices, Mutant::damages_files));

Buffer some_bytes(std::size_t length) { return Buffer(length, std::byte{7}); }

// What a message counts that is the first of its sender, receiver and tag in its step.
std::uint64_t first_of(std::uint64_t payload) { return SendLog::bytes_of({}, payload); }

TEST(SendLog, that_is_full_reaches_back_to_the_next_snapshot_only) {
  SendLog log(first_of(60) + 40);
  Counter counter;
  const Buffer sixty = some_bytes(60);
  EXPECT_TRUE(log.keep(counter.next({1, 0}), sixty));
  EXPECT_TRUE(log.reaches(0));
  EXPECT_FALSE(log.keep(counter.next({1, 0}), sixty));
  EXPECT_FALSE(log.keep(counter.next({1, 0}), some_bytes(1)));
  EXPECT_FALSE(log.reaches(0));
  log.cut_what_is_void();
  EXPECT_EQ(log.bytes(), 0U);
  counter.enter(1);
  EXPECT_TRUE(log.keep(counter.next({1, 0}), sixty));
  EXPECT_TRUE(log.reaches(1));
  EXPECT_EQ(log.messages_to(1, 1).size(), 1U);
}

TEST(SendLog, gives_room_back_where_it_is_cut) {
  SendLog log(2 * first_of(40) + 20);
  Counter counter;
  for (std::uint64_t epoch = 1; epoch <= 50; ++epoch) {
    counter.enter(epoch);
    ASSERT_TRUE(log.keep(counter.next({1, 0}), some_bytes(40)));
    log.cut(epoch);
  }
  EXPECT_EQ(log.bytes(), first_of(40));
  EXPECT_FALSE(log.reaches(49));
  log.cut(51);
  EXPECT_EQ(log.bytes(), 0U);
}

TEST(SendLog, has_room_for_so_many_messages_without_bytes_only) {
  constexpr std::size_t kMemory = 10'000;
  SendLog log(kMemory);
  Counter counter;
  std::size_t kept = 0;
  while (kept < kMemory && log.keep(counter.next({1, 0}), {})) ++kept;
  EXPECT_GT(kept, kMemory / 200);
  EXPECT_LT(kept, kMemory / 56) << "each has an entry";
  EXPECT_LE(log.bytes(), kMemory);
  EXPECT_FALSE(log.reaches(0));
  log.cut_what_is_void();
  EXPECT_EQ(log.bytes(), 0U);
}

TEST(CatchUp, refuses_a_message_that_differs_from_what_was_received) {
  Receipts receipts;
  receipts.add({Lane{2, 3, 7}, 0}, {8, 0xaa});
  const auto shipment = ship(1, 3, 2, SendLog(10), receipts.from(3, 2)).value();
  CatchUp catch_up({shipment}, 4);
  const Number number{Lane{2, 1, 7}, 0};
  EXPECT_EQ(catch_up.must_send({Lane{2, 1, 7}, 1}, {8, 0xaa}).value(), true);
  EXPECT_FALSE(catch_up.is_over(4));
  const auto refused = CatchUp(catch_up).must_send(number, {8, 0xab});
  EXPECT_EQ(catch_up.must_send(number, {8, 0xaa}).value(), false);
  EXPECT_TRUE(catch_up.is_over(4));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::mismatch);
}

TEST(Shipment, that_is_cut_short_is_refused) {
  SendLog log(1000);
  Counter counter;
  ASSERT_TRUE(log.keep(counter.next({3, 5}), some_bytes(30)));
  Receipts receipts;
  receipts.add({Lane{0, 3, 7}, 0}, {8, 0xaa});
  const Buffer bytes = encode(ship(1, 3, 0, log, receipts.from(3, 0)).value());
  EXPECT_TRUE(replay::decode_shipment(bytes));
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(replay::decode_shipment(Bytes(bytes).first(length))) << length;
}

// An extra exchange would shift all later messages of its lane, with the same bytes perhaps.
TEST(Balance, finds_a_message_that_only_one_side_has_counted) {
  Balance a;
  Balance b;
  a.sent(0, {Lane{1, 1, 5}, 0}, {8, 1});
  b.received(1, {Lane{1, 0, 5}, 0}, {8, 1});
  EXPECT_EQ(a.since(1) + b.since(1), 0U);
  a.sent(0, {Lane{1, 1, 5}, 1}, {8, 1});
  EXPECT_NE(a.since(1) + b.since(1), 0U);
  EXPECT_EQ(a.since(2) + b.since(2), 0U);
}

// A rank that logs a message at each call, and is asked at each.
TEST(Journal, asks_for_a_snapshot_before_its_log_is_full) {
  replay::Journal journal(0, 10 * first_of(10));
  EXPECT_TRUE(journal.start(0));
  std::vector<std::uint64_t> asked;
  std::uint64_t call = 0;
  const auto make_call = [&] {
    EXPECT_TRUE(journal.sends({1, 0}, some_bytes(10)).value().is_logged);
    if (journal.note_growth()) asked.push_back(call);
    journal.enters(++call);
  };
  while (asked.empty() && call < 20) make_call();
  EXPECT_EQ(asked, std::vector<std::uint64_t>{7}) << "8 of 10 are logged, and 3 more would be too many";
  journal.takes(call, 1);
  make_call();
  EXPECT_EQ(asked.size(), 1U) << "one is under way";
  journal.is_safe(1);
  for (int i = 0; i < 5; ++i) make_call();
  EXPECT_EQ(asked.size(), 1U);
  EXPECT_EQ(journal.obstacle(), std::nullopt);
}

// Its head may need longer for the snapshot than three short calls take.
TEST(Journal, asks_for_a_snapshot_while_a_quarter_of_its_room_is_left) {
  replay::Journal journal(0, 100 * first_of(10));
  EXPECT_TRUE(journal.start(0));
  std::uint64_t call = 0;
  do {
    EXPECT_TRUE(journal.sends({1, 0}, some_bytes(10)).value().is_logged);
    journal.enters(++call);
  } while (!journal.note_growth() && call < 200);
  EXPECT_EQ(call, 76U) << "of 100";
}

// A rank that only receives: MPI_Barrier has no bytes.
class JournalOfAReceiver : public testing::Test {
 protected:
  static constexpr std::size_t kMemory = 1'000'000;
  static constexpr int kMost = 100'000;
  JournalOfAReceiver() { EXPECT_TRUE(journal_.start(0)); }
  void receive() { journal_.received(journal_.awaits({1, replay::kCollectiveTag}), {}); }
  replay::Journal journal_{0, kMemory};
};

TEST_F(JournalOfAReceiver, asks_for_a_snapshot_before_its_log_is_full) {
  int received = 0;
  do receive();
  while (!journal_.note_growth() && ++received < kMost);
  EXPECT_GT(received, 20'000);
  EXPECT_LT(received, kMost);
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  EXPECT_GT(journal_.logged_millionths(), 700'000U);
  journal_.enters(1);
  journal_.takes(1, 1);
  journal_.is_safe(1);
  for (int i = 0; i < received; ++i) receive();
  EXPECT_EQ(journal_.obstacle(), std::nullopt) << "there is room again";
}

TEST_F(JournalOfAReceiver, is_full_until_a_later_snapshot_is_safe) {
  int received = 0;
  do receive();
  while (!journal_.obstacle() && ++received < kMost);
  EXPECT_LT(received, kMost);
  EXPECT_FALSE(journal_.sends({1, 0}, {}).value().is_logged);
  journal_.enters(1);
  receive();
  EXPECT_TRUE(journal_.obstacle());
  journal_.takes(1, 1);
  journal_.is_safe(1);
  EXPECT_EQ(journal_.obstacle(), std::nullopt);
  EXPECT_TRUE(journal_.sends({1, 0}, {}).value().is_logged);
}

TEST(Journal, is_full_for_good_if_it_was_before_restore) {
  constexpr int kMost = 1000;
  replay::Journal journal(0, 10'000);
  int received = 0;
  for (; !journal.obstacle() && received < kMost; ++received) journal.received(journal.awaits({1, 3}), {});
  EXPECT_LT(received, kMost);
  for (int i = 0; i < kMost; ++i) journal.received(journal.awaits({1, 3}), {});
  EXPECT_LT(journal.prologue().bytes(), 10'100U) << "it grows no more";
  EXPECT_TRUE(journal.start(0));
  EXPECT_TRUE(journal.obstacle());
}

// Rank 1 had sent two messages to rank 0 before restore(), and received one. It is replaced.
class ReplayedPrologue : public testing::Test {
 protected:
  ReplayedPrologue() {
    for (int i = 0; i < 2; ++i) before_.received(before_.awaits({1, 3}), {8, 0});
    EXPECT_TRUE(before_.sends({1, 4}, some_bytes(5)));
    EXPECT_TRUE(again_.replays({{0, before_.shipment_to(1)}}, 3));
  }
  Prologue before_{0, kMiB};  // of rank 0
  Prologue again_{1, kMiB};
};

TEST_F(ReplayedPrologue, sends_nothing_again_and_takes_what_was_shipped) {
  EXPECT_EQ(again_.next_shipped({0, 4}).value(), 5U);
  EXPECT_EQ(again_.shipped(again_.awaits({0, 4})).value(), some_bytes(5));
  // What the messages hold may differ.
  for (std::size_t length : {8U, 9U}) EXPECT_FALSE(again_.sends({0, 3}, some_bytes(length)).value().must_send);
  EXPECT_TRUE(again_.ends());
}

TEST_F(ReplayedPrologue, notices_a_message_too_many_or_too_few) {
  EXPECT_EQ(again_.shipped(again_.awaits({0, 5})).error().code, Code::mismatch);
  EXPECT_EQ(again_.next_shipped({0, 5}).error().code, Code::mismatch);
  EXPECT_EQ(again_.sends({0, 5}, some_bytes(1)).error().code, Code::mismatch);
  EXPECT_EQ(again_.ends().error().code, Code::mismatch);
}

TEST_F(ReplayedPrologue, exchanges_messages_with_another_replacement) {
  EXPECT_TRUE(again_.sends({2, 3}, some_bytes(1)).value().must_send);
  EXPECT_EQ(again_.shipped(again_.awaits({2, 4})).value(), std::nullopt);
}

// Rank 1 has received from any rank: first from rank 0, then, by a probe, from rank 2. It tells them, and is replaced.
class ReplayedChoices : public testing::Test {
 protected:
  ReplayedChoices() {
    Prologue dead(1, kMiB);
    dead.chose(dead.chooses(), {0, 3, false});
    dead.chose(dead.chooses(), {2, 4, true});
    dead.chose(dead.chooses(), {0, 5, false});
    const auto told = dead.choices_by_peer();
    zero_.keep_choices({{1, told.at(0)}});
    two_.keep_choices({{1, told.at(2)}});
    for (const std::int32_t tag : {3, 5}) EXPECT_TRUE(zero_.sends({1, tag}, some_bytes(1)));
    EXPECT_TRUE(two_.sends({1, 4}, some_bytes(1)));
  }
  Prologue zero_{0, kMiB};
  Prologue two_{2, kMiB};
  Prologue again_{1, kMiB};
};

TEST_F(ReplayedChoices, are_those_of_the_dead_rank) {
  ASSERT_TRUE(again_.replays({{0, zero_.shipment_to(1)}, {2, two_.shipment_to(1)}}, 3));
  EXPECT_EQ(again_.next_choice({}, true).value(), std::nullopt) << "the dead rank probed later";
  EXPECT_EQ(again_.next_choice({}, false).value()->tag, 3);
  EXPECT_EQ(again_.next_choice({}, true).value()->peer, 2U);
  EXPECT_EQ(again_.next_choice({}, false).value()->tag, 5);
  EXPECT_EQ(again_.next_choice({}, false).error().code, Code::mismatch);
  // It can tell the next replacement of a peer.
  EXPECT_EQ(again_.choices_by_peer().size(), 2U);
}

TEST_F(ReplayedChoices, are_not_known_if_the_sender_is_replaced_too) {
  ASSERT_TRUE(again_.replays({{0, zero_.shipment_to(1)}}, 3));
  EXPECT_EQ(again_.next_choice({}, false).value()->tag, 3);
  EXPECT_EQ(again_.next_choice({}, true).error().code, Code::mismatch);
}

// Rank 0 has sent two messages with tag 3 and one with tag 4; rank 1 has probed for them by turns, and is replaced.
class ReplayedProbes : public testing::Test {
 protected:
  static constexpr Pattern kThree{.peer = {}, .tag = 3};
  static constexpr Pattern kFour{.peer = {}, .tag = 4};
  ReplayedProbes() {
    Prologue dead(1, kMiB);
    for (const Pattern& pattern : {kThree, kThree, kFour}) dead.chose(dead.chooses(), {0, *pattern.tag, true, pattern});
    zero_.keep_choices({{1, dead.choices_by_peer().at(0)}});
    for (const std::int32_t tag : {3, 3, 4}) EXPECT_TRUE(zero_.sends({1, tag}, some_bytes(1)));
  }
  Prologue zero_{0, kMiB};
  Prologue again_{1, kMiB};
};

TEST_F(ReplayedProbes, get_only_what_the_same_probe_of_the_dead_rank_has_got) {
  ASSERT_TRUE(again_.replays({{0, zero_.shipment_to(1)}}, 2));
  EXPECT_EQ(again_.next_choice(kThree, true).value()->tag, 3);
  EXPECT_EQ(again_.next_choice(kFour, true).value(), std::nullopt);
  EXPECT_EQ(again_.next_choice({.channel = 9, .peer = {}, .tag = 3}, true).value(), std::nullopt);
  EXPECT_EQ(again_.next_choice({.peer = 0, .tag = {}}, true).value(), std::nullopt) << "it could get more";
  EXPECT_EQ(again_.next_choice(kThree, true).value()->tag, 3);
  EXPECT_EQ(again_.next_choice(kThree, true).value(), std::nullopt);
  EXPECT_EQ(again_.next_choice(kFour, true).value()->tag, 4);
}

TEST_F(ReplayedProbes, get_nothing_before_a_known_one_even_if_others_are_not_known) {
  ASSERT_TRUE(again_.replays({{0, zero_.shipment_to(1)}}, 3));
  EXPECT_EQ(again_.next_choice(kFour, true).value(), std::nullopt);
  for (const Pattern& pattern : {kThree, kThree, kFour}) EXPECT_TRUE(again_.next_choice(pattern, true).value());
  EXPECT_EQ(again_.next_choice(kFour, true).error().code, Code::mismatch);
}

TEST_F(ReplayedChoices, are_not_given_to_a_receive_that_excludes_them) {
  ASSERT_TRUE(again_.replays({{0, zero_.shipment_to(1)}, {2, two_.shipment_to(1)}}, 3));
  EXPECT_EQ(again_.next_choice({.peer = {}, .tag = 5}, false).error().code, Code::mismatch);
}

TEST_F(ReplayedChoices, are_kept_by_a_replacement_for_others) {
  Prologue one(1, kMiB);
  ASSERT_TRUE(one.replays({{0, zero_.shipment_to(1)}, {2, two_.shipment_to(1)}}, 3));
  zero_.chose(zero_.chooses(), {1, 7, false});
  ASSERT_TRUE(one.replays({{0, zero_.shipment_to(1)}, {2, two_.shipment_to(1)}}, 3));
  EXPECT_TRUE(one.sends({0, 7}, some_bytes(1)).error().code == Code::mismatch) << "no receipt of it was shipped";
  Prologue zero_again(0, kMiB);
  ASSERT_TRUE(zero_again.replays({{1, one.shipment_to(0)}, {2, two_.shipment_to(0)}}, 3));
  EXPECT_EQ(zero_again.next_choice({}, false).value()->tag, 7);
}

TEST_F(ReplayedChoices, that_are_damaged_are_refused) {
  Buffer bytes = zero_.shipment_to(1);
  bytes.resize(bytes.size() / 2);
  EXPECT_EQ(again_.replays({{0, bytes}}, 3).error().code, Code::invalid_argument);
}

// Otherwise a rank that is replaced now would take a snapshot at a call at which the others take none.
TEST(Agreement, counts_calls_of_ranks_that_have_died_since) {
  replay::Journal survivor(0, 1024);
  ASSERT_TRUE(survivor.start(4));
  replay::Agreement first;
  first.newest = 9;  // of a rank that is dead by now
  first.replaced = {1};
  ASSERT_TRUE(survivor.goes_on(first, 4, {}));
  const auto told = replay::decode_standing(encode(survivor.standing(7, 0)));
  ASSERT_TRUE(told);
  std::vector<replay::Standing> ranks(2);
  ranks[0] = *told;
  ranks[1].replaced = true;
  const auto second = replay::agree_on(ranks, 4);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->newest, survivor.past());
}

TEST(Choices, of_steps_that_helpers_have_made_are_skipped) {
  alignas(std::uint64_t) std::array<std::byte, 4096> memory{};
  const std::vector<replay::Choices::Entry> known{{4, false, Choice{2, 1, false}}, {5, false, Choice{3, 1, false}}};
  replay::Choices choices;
  choices.records_in(memory, 7, known);
  EXPECT_EQ(choices.receives(5, {}, true).error().code, Code::mismatch) << "the first is of an earlier step";
  choices.skips_to(5);
  const auto next = choices.receives(5, {}, true);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->got->peer, 3U);
}

// Of step 4: what the dead rank has got by probes for messages with tag 3, with tag 3 of another communicator, and of
// rank 2.
class ReplayedRecord : public testing::Test {
 protected:
  static constexpr Pattern kThree{.peer = {}, .tag = 3};
  static constexpr Pattern kOther{.channel = 9, .peer = {}, .tag = 3};
  static constexpr Pattern kOfTwo{.peer = 2, .tag = {}};
  ReplayedRecord() {
    choices_.records_in(memory_, 7, {});
    for (const Choice& choice : {Choice{1, 3, true, kThree}, Choice{0, 3, true, kOther}, Choice{2, 5, true, kOfTwo}})
      EXPECT_TRUE(choices_.probed(4, choice));
  }
  // As a replacement gets it.
  void reads_again() {
    const auto read = *replay::read_choices(memory_, 7, 4);
    memory_ = {};
    choices_.records_in(memory_, 7, *replay::decode_choices(encode(read)));
  }
  std::optional<Choice> probe(const Pattern& pattern, std::uint64_t epoch = 4) {
    const auto probe = choices_.probes(epoch, pattern, false, true).value();
    EXPECT_FALSE(probe.is_free);
    return probe.got;
  }
  alignas(std::uint64_t) std::array<std::byte, 4096> memory_{};
  replay::Choices choices_;
};

TEST_F(ReplayedRecord, gives_a_probe_only_what_the_same_probe_of_the_dead_rank_has_got) {
  reads_again();
  EXPECT_EQ(probe(kOther), std::nullopt);
  EXPECT_EQ(probe({}), std::nullopt) << "it could get more";
  EXPECT_EQ(probe(kThree, 3), std::nullopt) << "the dead rank probed in a later step";
  EXPECT_EQ(probe(kThree)->peer, 1U);
  EXPECT_EQ(probe(kThree), std::nullopt);
  EXPECT_EQ(probe(kOther)->pattern, kOther);
  EXPECT_EQ(probe({.peer = 1, .tag = {}}), std::nullopt);
  EXPECT_EQ(probe(kOfTwo)->tag, 5);
  EXPECT_TRUE(choices_.probes(4, kOfTwo, false, true)->is_free) << "the dead rank got no more";
}

TEST_F(ReplayedRecord, refuses_a_probe_that_would_wait_or_that_comes_too_late) {
  reads_again();
  EXPECT_EQ(choices_.probes(4, kOfTwo, true, true).error().code, Code::mismatch);
  EXPECT_EQ(choices_.probes(5, kThree, false, true).error().code, Code::mismatch) << "that of step 4 is left out";
  EXPECT_EQ(choices_.probes(4, kThree, true, true)->got->peer, 1U);
}

TEST(Choices, refuse_a_receive_that_excludes_what_the_dead_rank_got) {
  alignas(std::uint64_t) std::array<std::byte, 4096> memory{};
  const Pattern three{.peer = {}, .tag = 3};
  replay::Choices dead;
  dead.records_in(memory, 7, {});
  dead.chose(*dead.receives(4, three, false)->place, {1, 3, false, three});
  ASSERT_TRUE(dead.receives(4, three, false)->place) << "it has got nothing";
  const auto known = *replay::read_choices(memory, 7, 4);
  memory = {};
  replay::Choices choices;
  choices.records_in(memory, 7, known);
  for (const Pattern& other : {Pattern{.peer = {}, .tag = 5}, Pattern{.channel = 9, .peer = {}, .tag = 3}})
    EXPECT_EQ(choices.receives(4, other, true).error().code, Code::mismatch);
  EXPECT_EQ(choices.receives(4, three, true)->got->peer, 1U);
  EXPECT_FALSE(choices.receives(4, three, true)->got);
}

// After restore(), the others have exchanged what they do not repeat.
TEST(Replacement, is_at_restore_until_its_first_message_even_if_it_has_nothing_to_catch_up_with) {
  constexpr std::uint64_t kCall = 4;
  replay::Agreement agreement;
  agreement.newest = kCall;
  agreement.replaced = {1};
  const auto replacement = [&] {
    replay::Journal journal(1, 1024);
    EXPECT_TRUE(journal.start(kCall));
    EXPECT_FALSE(journal.is_at_restore());
    EXPECT_TRUE(journal.goes_on(agreement, kCall, {}));
    EXPECT_FALSE(journal.catches_up());
    EXPECT_TRUE(journal.began_later());
    EXPECT_TRUE(journal.is_at_restore());
    return journal;
  };
  replay::Journal sends = replacement();
  EXPECT_TRUE(sends.sends({0, 5}, {}));
  EXPECT_FALSE(sends.is_at_restore());
  replay::Journal receives = replacement();
  (void)receives.awaits({0, 5});
  EXPECT_FALSE(receives.is_at_restore());
  replay::Journal saves = replacement();
  saves.enters(kCall + 1);
  EXPECT_FALSE(saves.is_at_restore());
}

}  // namespace
}  // namespace cairn::test
