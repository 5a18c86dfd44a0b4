// Ranks make and free communicators in programs drawn from seeds, and one is replaced: it makes what it had kept at the
// restored snapshot again, and then the calls of the dead rank, and gets the same communicators without the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <vector>

#include "base/mix.hpp"
#include "replay/channel_book.hpp"

namespace cairn::test {
namespace {

using replay::Birthplace;
using replay::ChannelBook;
using replay::ChannelFacts;
using replay::Neighbourhood;
using Known = ChannelBook::Known;

constexpr int kAll = -1;  // session.comm()

struct ChannelCall {
  enum class Kind { make, free, snapshot };
  Kind kind = Kind::snapshot;
  int parent = kAll;         // the call that has made it
  std::vector<int> colors;   // by rank; negative: it gets none
  bool is_of_group = false;  // only those that get it make the call
  int which = 0;             // is freed
};

struct ChannelProgram {
  std::uint32_t ranks = 0;
  std::vector<ChannelCall> calls;
  // Ranks that are in a communicator with this one, which it gets from that call.
  [[nodiscard]] std::vector<std::uint32_t> members(int call, std::uint32_t me) const {
    std::vector<std::uint32_t> all;
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      if (call == kAll || are_together(call, me, rank)) all.push_back(rank);
    return all;
  }
  [[nodiscard]] bool are_together(int call, std::uint32_t one, std::uint32_t other) const {
    if (call == kAll) return true;
    const ChannelCall& made = calls[static_cast<std::size_t>(call)];
    return made.colors[one] >= 0 && made.colors[one] == made.colors[other] && are_together(made.parent, one, other);
  }
};

ChannelProgram draw_channels(std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return static_cast<int>(random() % n); };
  ChannelProgram program{.ranks = 3 + static_cast<std::uint32_t>(below(3)), .calls = {}};
  std::vector<int> open{kAll};
  bool is_early = true;  // before the first snapshot
  for (int i = 0; i < 30; ++i) {
    const int what = below(6);
    if (what < 3) {
      ChannelCall call{
          .kind = ChannelCall::Kind::make, .parent = open[static_cast<std::size_t>(below(open.size()))], .colors = {}};
      // If its parent were freed, ranks with another parent of the same call could not tell that they make it again.
      call.is_of_group = call.parent == kAll && below(3) == 0;
      const int colors = call.is_of_group ? 1 : 1 + below(2);
      const bool some_are_out = is_early || call.is_of_group;
      for (std::uint32_t rank = 0; rank < program.ranks; ++rank)
        call.colors.push_back(
            some_are_out && below(call.is_of_group ? 3 : 8) == 0 ? -1 : below(static_cast<std::uint64_t>(colors)));
      const bool some_get_none = std::ranges::min(call.colors) < 0;
      open.push_back(i);
      program.calls.push_back(std::move(call));
      // If all others get none, they do not know whether the only member still has it.
      for (std::uint32_t rank = 0; rank < program.ranks && some_get_none; ++rank)
        if (program.members(i, rank).size() == 1) program.calls.back().colors[rank] = -1;
    } else if (what == 3 && open.size() > 1) {
      const auto at = open.begin() + 1 + below(open.size() - 1);
      program.calls.push_back({.kind = ChannelCall::Kind::free, .colors = {}, .which = *at});
      open.erase(at);
    } else {
      program.calls.push_back({});
      is_early = false;
    }
  }
  return program;
}

enum class ChannelMutant { none, nothing_was_kept, tells_no_end, without_parents, counts_groups_together };

// What one rank does with its book.
class ChannelRank {
 public:
  ChannelRank(const ChannelProgram& program, std::uint32_t me) : book(me), program_(program), me_(me) {
    numbers_.resize(program.calls.size());
  }
  ChannelBook book;

  // Without a failure.
  void make(int call) {
    const ChannelCall& made = program_.calls[static_cast<std::size_t>(call)];
    const auto members = program_.members(call, me_);
    if (!number_of(made.parent) || (made.is_of_group && members.empty())) return;
    const ChannelBook::Request request{.parent = *number_of(made.parent), .group = group_of(call)};
    const Birthplace birth = book.next(request, epoch, restored).value();
    if (members.empty()) return book.made({.birth = birth});
    ChannelFacts facts{
        .number = number(birth, members.front()), .birth = birth, .alike = alike(call), .members = members};
    numbers_[static_cast<std::size_t>(call)] = facts.number;
    book.made(std::move(facts));
  }
  void free(int call) {
    if (const auto number = number_of(call)) book.freed(*number, epoch);
    if (call != kAll) numbers_[static_cast<std::size_t>(call)].reset();
  }
  void play(int call) {
    const ChannelCall& one = program_.calls[static_cast<std::size_t>(call)];
    if (one.kind == ChannelCall::Kind::snapshot) ++epoch;
    if (one.kind == ChannelCall::Kind::make) make(call);
    if (one.kind == ChannelCall::Kind::free) free(one.which);
  }
  // In a replacement. False: others would have to tell more than they can.
  bool make_again(int call, const ChannelRank& dead, bool& is_wrong) {
    const ChannelCall& made = program_.calls[static_cast<std::size_t>(call)];
    if (!number_of(made.parent)) return true;
    const bool is_in = !program_.members(call, me_).empty();
    if (made.is_of_group && !is_in) return true;
    const ChannelBook::Request request{*number_of(made.parent), is_in, alike(call), group_of(call)};
    const auto birth = book.next(request, epoch, restored);
    if (!birth) return false;
    if (program_.members(made.parent, me_).size() == 1) {
      // It needs nobody, and nobody else knows it.
      if (!is_in) return true;
      book.made({.number = number(*birth, me_), .birth = *birth, .members = {me_}});
      numbers_[static_cast<std::size_t>(call)] = number(*birth, me_);
      return true;
    }
    const auto known = book.look_up(*birth, request, program_.members(made.is_of_group ? call : made.parent, me_));
    if (!known) return false;
    const auto its = dead.had_[static_cast<std::size_t>(call)];
    std::optional<std::uint64_t> mine;
    if (*known == Known::nothing) is_wrong = true;
    if (*known == Known::as_member) mine = book.mine(*birth)->number;
    if (*known == Known::as_only_member) mine = number(*birth, me_);
    if (mine != its) is_wrong = true;
    if (*known == Known::as_member) book.made(*book.mine(*birth));
    numbers_[static_cast<std::size_t>(call)] = mine;
    return true;
  }
  void remember() { had_ = numbers_; }
  void keep_all_that_was_made() {
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      if (numbers_[i]) had_[i] = numbers_[i];
  }
  [[nodiscard]] std::optional<std::uint64_t> number_of(int call) const {
    return call == kAll ? std::optional<std::uint64_t>(0) : numbers_[static_cast<std::size_t>(call)];
  }
  std::uint64_t epoch = 0;
  std::uint64_t restored = 0;
  bool counts_groups_together = false;
  std::vector<std::optional<std::uint64_t>> had_;

 private:
  [[nodiscard]] std::uint64_t alike(int call) const {
    return static_cast<std::uint64_t>(program_.calls[static_cast<std::size_t>(call)].colors[me_]);
  }
  [[nodiscard]] std::uint64_t group_of(int call) const {
    if (!program_.calls[static_cast<std::size_t>(call)].is_of_group || counts_groups_together) return 0;
    std::uint64_t sum = 1;
    for (const std::uint32_t member : program_.members(call, me_)) sum = mix(sum ^ member);
    return sum;
  }
  static std::uint64_t number(const Birthplace& birth, std::uint32_t first) {
    return mix(mix(mix(mix(mix(birth.parent) ^ birth.group) ^ birth.epoch) ^ birth.place) ^ first);
  }
  const ChannelProgram& program_;
  std::uint32_t me_;
  std::vector<std::optional<std::uint64_t>> numbers_;
};

// Calls whose communicators a program that restores there has to make again: what is kept, and their parents, which it
// frees again.
// It leaves out what it frees before the next snapshot and before that call.
std::vector<int> kept_at(const ChannelProgram& program, std::size_t snapshot, std::size_t thrifty_until,
                         std::vector<int>& parents) {
  std::vector<int> kept;
  for (std::size_t i = 0; i < snapshot; ++i) {
    const ChannelCall& call = program.calls[i];
    const auto has_it = [&](std::uint32_t rank) { return !program.members(static_cast<int>(i), rank).empty(); };
    if (call.kind == ChannelCall::Kind::make && std::ranges::any_of(program.members(kAll, 0), has_it))
      kept.push_back(static_cast<int>(i));
    if (call.kind == ChannelCall::Kind::free) std::erase(kept, call.which);
  }
  for (std::size_t i = snapshot; i < thrifty_until; ++i) {
    const ChannelCall& call = program.calls[i];
    if (call.kind == ChannelCall::Kind::snapshot) break;
    const bool has_child = std::ranges::any_of(program.calls, [&](const ChannelCall& one) {
      return one.kind == ChannelCall::Kind::make && one.parent == call.which;
    });
    if (call.kind == ChannelCall::Kind::free && !has_child) std::erase(kept, call.which);
  }
  for (std::size_t at = 0; at < kept.size(); ++at) {
    const int parent = program.calls[static_cast<std::size_t>(kept[at])].parent;
    if (parent == kAll || std::ranges::find(kept, parent) != kept.end()) continue;
    kept.push_back(parent);
    parents.push_back(parent);
  }
  std::ranges::sort(kept);
  return kept;
}

struct ChannelOutcome {
  bool is_wrong = false;
  bool is_refused = false;
};

ChannelOutcome play_channels(std::uint64_t seed, ChannelMutant mutant) {
  std::mt19937_64 random(seed);
  const ChannelProgram program = draw_channels(random);
  std::vector<std::size_t> snapshots{0};
  for (std::size_t i = 0; i < program.calls.size(); ++i)
    if (program.calls[i].kind == ChannelCall::Kind::snapshot) snapshots.push_back(i + 1);
  const std::size_t chosen = random() % snapshots.size();
  const std::size_t begin = snapshots[chosen];
  const std::size_t end = begin + random() % (program.calls.size() - begin + 1);
  const auto dead = static_cast<std::uint32_t>(random() % program.ranks);

  std::vector<ChannelRank> ranks;
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    ranks.emplace_back(program, rank).remember();
    ranks.back().counts_groups_together = mutant == ChannelMutant::counts_groups_together;
    for (std::size_t i = 0; i < end; ++i) {
      ranks.back().play(static_cast<int>(i));
      ranks.back().keep_all_that_was_made();
    }
    ranks.back().book.cut(chosen);
  }
  std::vector<std::vector<ChannelFacts>> told(program.ranks);
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank) {
    if (rank == dead) continue;
    told[rank] = ranks[rank].book.facts();
    for (ChannelFacts& facts : told[rank]) {
      if (mutant == ChannelMutant::tells_no_end) facts.freed = replay::kNeverFreed;
      if (mutant == ChannelMutant::without_parents) facts.birth.parent = 0;
    }
  }
  ChannelRank replacement(program, dead);
  replacement.counts_groups_together = mutant == ChannelMutant::counts_groups_together;
  replacement.book.learns(told);
  replacement.epoch = chosen;
  replacement.restored = mutant == ChannelMutant::nothing_was_kept ? 0 : chosen;
  ChannelOutcome outcome;
  std::vector<int> parents;
  for (const int call : kept_at(program, begin, random() % 2 == 0 ? begin : end, parents))
    if (!outcome.is_refused) outcome.is_refused = !replacement.make_again(call, ranks[dead], outcome.is_wrong);
  for (const int call : parents) replacement.free(call);
  for (std::size_t i = begin; i < end && !outcome.is_refused; ++i) {
    if (program.calls[i].kind == ChannelCall::Kind::make)
      outcome.is_refused = !replacement.make_again(static_cast<int>(i), ranks[dead], outcome.is_wrong);
    else
      replacement.play(static_cast<int>(i));
  }
  if (outcome.is_refused) return outcome;
  std::uint64_t sum = replacement.book.balance();
  for (std::uint32_t rank = 0; rank < program.ranks; ++rank)
    if (rank != dead) sum += ranks[rank].book.balance();
  outcome.is_wrong = outcome.is_wrong || sum != 0;
  return outcome;
}

constexpr std::uint64_t kSeeds = 3000;

TEST(ChannelBook, gives_a_replacement_the_communicators_of_the_dead_rank) {
  std::uint64_t refused = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const ChannelOutcome outcome = play_channels(seed, ChannelMutant::none);
    ASSERT_FALSE(outcome.is_wrong) << "seed " << seed;
    refused += static_cast<std::uint64_t>(outcome.is_refused);
  }
  EXPECT_LT(refused, kSeeds / 3) << "only where the dead rank was alone in a communicator, or the others had none";
}

class ChannelBookMutants : public testing::TestWithParam<ChannelMutant> {};
TEST_P(ChannelBookMutants, are_found) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed)
    if (play_channels(seed, GetParam()).is_wrong) return;
  FAIL() << "nothing is wrong without it";
}
INSTANTIATE_TEST_SUITE_P(Each, ChannelBookMutants,
                         testing::Values(ChannelMutant::nothing_was_kept, ChannelMutant::tells_no_end,
                                         ChannelMutant::without_parents, ChannelMutant::counts_groups_together));

constexpr ChannelBook::Request kFive{0, true, 5};

// ChannelRank 1 of two has kept a communicator that was made at call 2, and is replaced.
class KeptChannel : public testing::Test {
 protected:
  KeptChannel() {
    ChannelBook other(0);
    other.made({.number = 7, .birth = other.next({}, 2, 0).value(), .alike = 5, .members = {0, 1}});
    again_.learns({other.facts(), {}});
  }
  ChannelBook again_{1};
};

TEST_F(KeptChannel, is_made_again_before_the_next_snapshot_call) {
  EXPECT_EQ(again_.next(kFive, 3, 3).value(), (Birthplace{.epoch = 2}));
  EXPECT_EQ(again_.next(kFive, 3, 3).value(), (Birthplace{.epoch = 3}));
}

TEST_F(KeptChannel, is_not_taken_for_one_that_is_made_later) {
  EXPECT_EQ(again_.next(kFive, 4, 3).error().code, Code::mismatch);
}

TEST_F(KeptChannel, is_refused_to_another_call) {
  const std::vector<std::uint32_t> parent{0, 1};
  const Birthplace birth = again_.next(kFive, 3, 3).value();
  EXPECT_EQ(again_.look_up(birth, kFive, parent).value(), Known::as_member);
  EXPECT_EQ(again_.look_up(birth, {0, true, 6}, parent).error().code, Code::mismatch);
  EXPECT_EQ(again_.look_up(birth, {0, false, 5}, parent).error().code, Code::mismatch);
}

TEST_F(KeptChannel, that_the_replacement_lacks_is_noticed_by_the_sum) {
  ChannelBook other(0);
  other.made({.number = 7, .birth = {.epoch = 2}, .members = {0, 1}});
  EXPECT_NE(other.balance() + again_.balance(), 0U);
  again_.made(*again_.mine({.epoch = 2}));
  EXPECT_EQ(other.balance() + again_.balance(), 0U);
}

// The neighbours that rank `rank` of a graph gives.
Neighbourhood neighbours_of(int rank) { return {{rank, 7}, {rank}, true, {1, 2}, {rank}}; }

// A graph of that many ranks, as rank `me` keeps it.
ChannelFacts graph_of(int ranks, int me) {
  ChannelFacts facts{.number = 7, .birth = {.epoch = 2}, .alike = 5};
  for (int rank = 0; rank < ranks; ++rank) {
    facts.members.push_back(static_cast<std::uint32_t>(rank));
    if (replay::keeps(me, rank, ranks)) facts.graph[rank] = neighbours_of(rank);
  }
  return facts;
}

// Those of the ranks that live tell of it, and the others learn of it.
std::vector<std::vector<ChannelFacts>> told_of_graph(int ranks, const std::vector<int>& dead) {
  std::vector<std::vector<ChannelFacts>> told(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    if (std::ranges::count(dead, rank) == 0) told[static_cast<std::size_t>(rank)] = {graph_of(ranks, rank)};
  return told;
}

TEST(DistributedGraph, is_known_after_the_loss_of_any_rank_and_of_any_two_beside_each_other) {
  for (int ranks = 2; ranks <= 9; ++ranks) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (const std::vector<int>& dead : {std::vector{rank}, std::vector{rank, (rank + 1) % ranks}}) {
        if (dead.size() == 2 && ranks < 4) continue;
        ChannelFacts all = graph_of(ranks, (rank + 2) % ranks);
        for (const auto& facts : told_of_graph(ranks, dead))
          if (!facts.empty()) all.learn(facts.front());
        if (ranks == 2) all.graph.insert({rank, neighbours_of(rank)});
        EXPECT_EQ(missing_in(all.graph, ranks), std::nullopt) << rank << " of " << ranks;
        EXPECT_EQ(all.graph.at(rank), neighbours_of(rank));
      }
    }
  }
}

TEST(DistributedGraph, lacks_a_rank_that_is_lost_with_all_that_keep_its_neighbours) {
  ChannelFacts all = graph_of(6, 5);
  for (const auto& facts : told_of_graph(6, {1, 2, 4}))
    if (!facts.empty()) all.learn(facts.front());
  EXPECT_EQ(missing_in(all.graph, 6), 1);
}

TEST(DistributedGraph, is_kept_by_a_replacement_as_by_the_dead_rank) {
  ChannelBook again(2);
  again.learns(told_of_graph(6, {2, 3}));
  EXPECT_EQ(again.facts().front().graph, graph_of(6, 2).graph);
  again.made(*again.mine({.epoch = 2}));
  EXPECT_EQ(again.facts().front().graph, graph_of(6, 2).graph);
}

TEST(DistributedGraph, is_refused_to_a_replacement_that_gives_other_neighbours_or_weights) {
  ChannelBook again(2);
  again.learns(told_of_graph(6, {2}));
  const std::vector<std::uint32_t> parent{0, 1, 2, 3, 4, 5};
  ChannelBook::Request request{.alike = 5, .neighbours = neighbours_of(2)};
  EXPECT_EQ(again.look_up({.epoch = 2}, request, parent).value(), Known::as_member);
  request.neighbours->source_weights = {1, 3};
  EXPECT_EQ(again.look_up({.epoch = 2}, request, parent).error().code, Code::mismatch);
  request.neighbours = neighbours_of(3);
  EXPECT_EQ(again.look_up({.epoch = 2}, request, parent).error().code, Code::mismatch);
}

TEST(ChannelFacts, are_decoded_as_they_were) {
  const ChannelFacts facts{.number = 7,
                           .birth = {3, 6, 5, 2},
                           .alike = 9,
                           .freed = 8,
                           .is_gone = true,
                           .members = {0, 4, 5},
                           .lengths = {3},
                           .periodic = {1},
                           .index = {1, 2},
                           .edges = {1, 0},
                           .graph = {{2, neighbours_of(2)}}};
  const auto decoded = replay::decode_channel_facts(encode(std::vector<ChannelFacts>{facts, {}}));
  ASSERT_TRUE(decoded);
  ASSERT_EQ(decoded->size(), 2U);
  EXPECT_EQ((*decoded)[0].members, facts.members);
  EXPECT_EQ((*decoded)[0].birth, facts.birth);
  EXPECT_EQ((*decoded)[0].freed, facts.freed);
  EXPECT_EQ((*decoded)[0].graph, facts.graph);
  Buffer damaged = encode(std::vector<ChannelFacts>{facts});
  damaged.pop_back();
  EXPECT_EQ(replay::decode_channel_facts(damaged).error().code, Code::invalid_argument);
}

}  // namespace
}  // namespace cairn::test
