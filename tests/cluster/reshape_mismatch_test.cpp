// What does not fit is found by all ranks, with the region, the ranks and the range, before anything is written.
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "reshape/transfer.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

using reshape::Block;
using reshape::Cause;
using reshape::Finding;
using reshape::Findings;
using reshape::Kind;
using reshape::OfRank;
using reshape::OldRank;
using reshape::Same;
using reshape::Sequence;
using reshape::Share;
using reshape::Unsaid;
using reshape::Wanted;

using Lengths = std::vector<std::uint64_t>;
using Ranks = std::vector<std::uint32_t>;

RegionInfo region(const std::string& name, const Lengths& shape) {
  RegionInfo info;
  info.name = name;
  info.type = ElementType::int32;
  info.element_bytes = 4;
  info.shape = shape;
  return info;
}

RegionInfo placed(const std::string& name, const Lengths& shape, const Lengths& global, const Lengths& offset) {
  RegionInfo info = region(name, shape);
  info.global_shape = global;
  info.global_offset = offset;
  return info;
}

// Old ranks and new ones, by what each has and wants. Regions that may be resized have no bytes before.
struct Case {
  std::uint32_t old_ranks = 2;
  std::uint32_t new_ranks = 3;
  std::function<std::vector<RegionInfo>(std::uint32_t)> old;
  struct Want {
    RegionInfo info;
    Share share;
    bool resizable = false;
  };
  std::function<std::vector<Want>(std::uint32_t)> now;
  std::function<std::byte(std::uint32_t)> value = [](std::uint32_t) { return std::byte{1}; };  // of all bytes of a rank
  std::function<Ranks(std::uint32_t)> holds = {};  // by new rank; empty: by turns

  [[nodiscard]] Ranks held_by(std::uint32_t rank) const {
    if (holds) return holds(rank);
    Ranks held;
    for (std::uint32_t old_rank = rank; old_rank < old_ranks; old_rank += new_ranks) held.push_back(old_rank);
    return held;
  }
};

// The finding, which all members must have. None: restored.
Findings play(const Case& one) {
  std::vector<Findings> findings(one.new_ranks);
  run_cluster(one.new_ranks, [&](Comm& comm) {
    const std::uint32_t rank = comm.rank().value;
    reshape::Input input{one.old_ranks, {}, {}};
    for (const std::uint32_t held : one.held_by(rank)) {
      const std::byte value = one.value(held);
      input.held.push_back({Rank{held}, one.old(held), [value](std::size_t, std::span<const reshape::Run> runs) {
                              for (const reshape::Run& run : runs) std::ranges::fill(run.into, value);
                              return Status{};
                            }});
    }
    std::vector<Buffer> memory;
    const auto wants = one.now(rank);
    memory.reserve(wants.size());
    for (const Case::Want& want : wants) {
      Buffer& bytes = memory.emplace_back();
      Wanted& wanted = input.wanted.emplace_back(Wanted{want.info, want.share, MutableBytes{}});
      if (want.resizable) {
        wanted.memory = [&bytes, row = want.info.shape.size() > 1 ? want.info.shape[1] * 4 : 4](std::uint64_t steps) {
          bytes.resize(steps * row);
          return MutableBytes(bytes);
        };
      } else {
        bytes.resize(want.info.size_bytes());
        wanted.memory = MutableBytes(bytes);
      }
    }
    const auto finding = reshape::reshape(comm, input);
    ASSERT_TRUE(finding) << finding.error().text();
    findings[rank] = *finding;
  });
  for (const Findings& finding : findings) EXPECT_EQ(finding, findings.front());
  return findings.front();
}

// Expects that cause, for region x, of those ranks.
void expect(const Case& one, Cause cause, const Ranks& ranks, const reshape::Box& range = {}) {
  const Findings found = play(one);
  ASSERT_TRUE(found) << "restored";
  EXPECT_EQ(found->cause, cause) << error_of(*found).text();
  EXPECT_EQ(found->region, "x");
  EXPECT_EQ(found->ranks, ranks) << error_of(*found).text();
  EXPECT_EQ(found->range, range) << error_of(*found).text();
  EXPECT_EQ(error_of(*found).code, cause == Cause::impossible ? Code::invalid_argument : Code::mismatch);
}

// Two old ranks with 4 elements each, 3 new ranks that want parts of the sequence.
Case sequences(const Share& share = Sequence{}) {
  Case one;
  one.old = [](std::uint32_t) { return std::vector{region("x", {4})}; };
  one.now = [share](std::uint32_t) { return std::vector<Case::Want>{{region("x", {0}), share, true}}; };
  return one;
}

// An array of 8 elements, of which two old ranks have 4 each; new ranks 0 and 1 want 4 each, rank 2 none.
Case blocks() {
  Case one;
  one.old = [](std::uint32_t rank) { return std::vector{placed("x", {4}, {8}, {4ULL * rank})}; };
  one.now = [](std::uint32_t rank) {
    if (rank == 2) return std::vector<Case::Want>{};
    return std::vector<Case::Want>{{region("x", {4}), Block{{8}, {4ULL * rank}, {}, {}, {}}}};
  };
  return one;
}

TEST(ReshapeMismatch, cases_are_restored_where_nothing_is_wrong) {
  EXPECT_FALSE(play(sequences()));
  EXPECT_FALSE(play(blocks()));
  EXPECT_FALSE(play(sequences(Same{})));
  EXPECT_FALSE(play(sequences(OfRank{Rank{1}})));
}

TEST(ReshapeMismatch, of_regions_of_which_nothing_was_said_lists_them_and_what_may_be_meant) {
  Case one;
  one.old = [](std::uint32_t rank) {
    return std::vector{region("different", {rank}), region("equal", {2}), placed("part", {1}, {2}, {rank}),
                       region("like", {rank})};
  };
  one.now = [](std::uint32_t) {
    return std::vector<Case::Want>{{region("different", {0}), Unsaid{}, true},
                                   {region("equal", {2}), Unsaid{}},
                                   {region("part", {1}), Unsaid{}},
                                   {region("like", {0}), Sequence{{}, "different"}, true}};
  };
  const auto found = play(one);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (Finding{.cause = Cause::unsaid,
                             .numbers = {0, reshape::Hint::equal_everywhere,
                                         reshape::Hint::equal_everywhere | reshape::Hint::has_place},
                             .texts = {"different", "equal", "part"}}));
}

TEST(ReshapeMismatch, of_what_the_new_ranks_say) {
  const auto now = [](const Share& of_others, const Share& of_rank_2) {
    Case one = sequences();
    one.now = [=](std::uint32_t rank) {
      return std::vector<Case::Want>{{region("x", {0}), rank == 2 ? of_rank_2 : of_others, true}};
    };
    return one;
  };
  expect(now(Sequence{}, Same{}), Cause::kinds_differ, {0, 2});
  expect(now(Sequence{}, Unsaid{}), Cause::kinds_differ, {0, 2});
  expect(now(Sequence{}, Sequence{{}, "y"}), Cause::kinds_differ, {0, 2});
  expect(sequences(Sequence{{}, "y"}), Cause::like_unknown, {0});
  expect(sequences(Sequence{{}, "x"}), Cause::like_unknown, {0});
  expect(sequences(Block{{8}, {0}, {}, {}, {}}), Cause::impossible, {0});  // a container
  expect(sequences(Sequence{Sequence::Part{0, 1}, "y"}), Cause::impossible, {0});

  Case lacking = sequences();
  lacking.now = [](std::uint32_t rank) {
    if (rank == 1) return std::vector<Case::Want>{};
    return std::vector<Case::Want>{{region("x", {0}), Sequence{}, true}};
  };
  expect(lacking, Cause::not_wanted, {1, 0});
  // Only the last rank has it: its list is not that of rank 0.
  lacking.now = [](std::uint32_t rank) {
    if (rank != 2) return std::vector<Case::Want>{};
    return std::vector<Case::Want>{{region("x", {0}), Same{}, true}};
  };
  expect(lacking, Cause::not_wanted, {0, 2});

  Case other_type = sequences();
  other_type.now = [](std::uint32_t rank) {
    RegionInfo info = region("x", {0});
    if (rank == 1) info.type = ElementType::float32;
    return std::vector<Case::Want>{{info, Sequence{}, true}};
  };
  expect(other_type, Cause::types_differ, {0, 1});
  Case other_rows = sequences();
  other_rows.now = [](std::uint32_t rank) {
    return std::vector<Case::Want>{{region("x", {0, 2 + rank / 2}), Sequence{}, true}};
  };
  expect(other_rows, Cause::shapes_differ, {0, 2});
  Case other_array = blocks();
  other_array.now = [](std::uint32_t rank) {
    return std::vector<Case::Want>{{region("x", {4}), Block{{8 + rank}, {0}, {}, {}, {}}}};
  };
  expect(other_array, Cause::shapes_differ, {0, 1});
  other_array.now = [](std::uint32_t rank) {
    return std::vector<Case::Want>{{region("x", {4}), Block{{8}, {0}, {}, {}, {rank}}}};
  };
  expect(other_array, Cause::shapes_differ, {0, 1});
}

TEST(ReshapeMismatch, of_parts_that_overlap_leave_a_gap_or_lie_outside) {
  const auto parts = [](std::vector<Sequence::Part> of) {
    Case one = sequences();
    one.now = [of](std::uint32_t rank) {
      return std::vector<Case::Want>{{region("x", {0}), Sequence{of[rank], {}}, true}};
    };
    return one;
  };
  EXPECT_FALSE(play(parts({{5, 3}, {0, 5}, {8, 0}})));
  expect(parts({{5, 3}, {0, 6}, {8, 0}}), Cause::parts_overlap, {0, 1}, {{5}, {1}});
  expect(parts({{5, 3}, {0, 4}, {8, 0}}), Cause::parts_leave_gap, {}, {{4}, {1}});
  expect(parts({{5, 4}, {0, 5}, {0, 0}}), Cause::part_outside, {0}, {{5}, {4}});
  expect(parts({{9, 0}, {0, 8}, {0, 0}}), Cause::part_outside, {0}, {{9}, {0}});
  constexpr std::uint64_t kHuge = std::numeric_limits<std::uint64_t>::max();
  expect(parts({{0, 8}, {2, kHuge}, {0, 0}}), Cause::impossible, {1});

  Case overlap = blocks();
  overlap.now = [](std::uint32_t rank) {
    return std::vector<Case::Want>{{region("x", {3}), Block{{8}, {std::min(3ULL * rank, 5ULL)}, {}, {}, {}}}};
  };
  expect(overlap, Cause::parts_overlap, {1, 2}, {{5}, {1}});
  Case outside = blocks();
  outside.now = [](std::uint32_t rank) {
    return std::vector<Case::Want>{{region("x", {4}), Block{{8}, {3ULL * rank}, {}, {}, {}}}};
  };
  expect(outside, Cause::impossible, {2});
}

TEST(ReshapeMismatch, of_the_snapshot) {
  Case one = sequences();
  one.old = [](std::uint32_t) { return std::vector<RegionInfo>{}; };
  expect(one, Cause::not_stored, {});
  one.now = [](std::uint32_t) { return std::vector<Case::Want>{{region("x", {4}), OfRank{Rank{1}}}}; };
  expect(one, Cause::not_stored, {});
  one.old = [](std::uint32_t rank) { return rank == 1 ? std::vector{region("x", {4})} : std::vector<RegionInfo>{}; };
  EXPECT_FALSE(play(one));
  expect(sequences(OfRank{Rank{7}}), Cause::not_stored, {7});
  one = sequences();
  one.old = [](std::uint32_t rank) { return rank == 0 ? std::vector{region("x", {4})} : std::vector<RegionInfo>{}; };
  expect(one, Cause::not_stored, {1});
  one = sequences();
  one.now = [](std::uint32_t) { return std::vector<Case::Want>{}; };
  expect(one, Cause::not_protected, {0});
  one = sequences();
  one.old = [](std::uint32_t rank) {
    RegionInfo info = region("x", {4});
    if (rank == 1) info.type = ElementType::float32;
    return std::vector{info};
  };
  expect(one, Cause::old_type, {1});
  one.old = [](std::uint32_t rank) { return std::vector{rank == 1 ? region("x", {4, 2}) : region("x", {4})}; };
  expect(one, Cause::old_shape, {1});

  Case block = blocks();
  block.old = [](std::uint32_t rank) { return std::vector{rank == 1 ? region("x", {4}) : placed("x", {4}, {8}, {0})}; };
  expect(block, Cause::no_place, {1});
  block.old = [](std::uint32_t rank) { return std::vector{placed("x", {4}, {8 + rank}, {4ULL * rank})}; };
  expect(block, Cause::old_shape, {1});
  block.old = [](std::uint32_t rank) { return std::vector{placed("x", {3}, {8}, {4ULL * rank})}; };
  expect(block, Cause::old_gap, {}, {{3}, {1}});
}

TEST(ReshapeMismatch, of_old_ranks_that_nobody_or_more_than_one_holds) {
  Case one = sequences();
  one.holds = [](std::uint32_t rank) { return rank == 0 ? Ranks{0} : Ranks{}; };
  auto found = play(one);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (Finding{.cause = Cause::rank_not_held, .ranks = {1}}));
  one.holds = [](std::uint32_t rank) { return rank < 2 ? Ranks{1 - rank, 0} : Ranks{}; };
  found = play(one);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (Finding{.cause = Cause::rank_held_twice, .ranks = {0}}));
  one.holds = [](std::uint32_t rank) { return Ranks{rank}; };
  found = play(one);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (Finding{.cause = Cause::rank_not_held, .ranks = {2}}));
}

TEST(ReshapeMismatch, of_values_that_are_to_be_equal) {
  Case one = sequences(Same{});
  one.old_ranks = 6;
  one.value = [](std::uint32_t rank) { return rank == 2 || rank == 5 ? std::byte{2} : std::byte{1}; };
  expect(one, Cause::values_differ, {0, 2});
  Case lengths = sequences(Same{});
  lengths.old = [](std::uint32_t rank) { return std::vector{region("x", {4 + rank})}; };
  expect(lengths, Cause::values_differ, {0, 1});

  Case overlap = blocks();
  overlap.old = [](std::uint32_t rank) { return std::vector{placed("x", {5}, {8}, {3ULL * rank})}; };
  EXPECT_FALSE(play(overlap));
  overlap.value = [](std::uint32_t rank) { return static_cast<std::byte>(rank); };
  expect(overlap, Cause::values_differ, {0, 1}, {{3}, {1}});
}

TEST(ReshapeMismatch, of_sequences_that_cannot_be_cut_alike) {
  const auto of = [](Lengths lengths, Lengths others) {
    Case one;
    one.old = [=](std::uint32_t rank) {
      return std::vector{region("x", {lengths[rank]}), region("y", {others[rank]})};
    };
    one.now = [](std::uint32_t) {
      return std::vector<Case::Want>{{region("x", {0}), Sequence{{}, "y"}, true}, {region("y", {0}), Sequence{}, true}};
    };
    return one;
  };
  EXPECT_FALSE(play(of({3, 5}, {3, 5})));
  EXPECT_FALSE(play(of({6, 10}, {3, 5})));
  EXPECT_FALSE(play(of({0, 0}, {3, 5})));
  EXPECT_FALSE(play(of({0, 0}, {0, 0})));
  expect(of({3, 5}, {5, 3}), Cause::like_counts, {0});
  expect(of({6, 11}, {3, 5}), Cause::like_counts, {0});
  expect(of({1, 0}, {0, 0}), Cause::like_counts, {0});
}

TEST(ReshapeMismatch, of_memory_that_has_another_size_than_its_part) {
  Case one = sequences();
  one.now = [](std::uint32_t rank) {
    return std::vector<Case::Want>{{region("x", {rank == 1 ? 4ULL : 3ULL}), Sequence{}, rank == 2}};
  };
  expect(one, Cause::size_differs, {1}, {{3}, {3}});
  Case own = sequences();
  own.now = [](std::uint32_t) { return std::vector<Case::Want>{{region("x", {5}), OfRank{Rank{1}}}}; };
  expect(own, Cause::old_shape, {1});
}

// Rows of 0 bytes may be as many as you like. 64 bits are not enough for their sum.
TEST(ReshapeMismatch, of_a_sequence_whose_length_overflows) {
  Case one = sequences();
  one.old_ranks = 300;
  one.old = [](std::uint32_t) { return std::vector{region("x", {1ULL << 56U, 0})}; };
  one.now = [](std::uint32_t) { return std::vector<Case::Want>{{region("x", {0, 0}), Sequence{}, true}}; };
  expect(one, Cause::too_long, {});
  // So few elements, but so many bytes.
  one.old = [](std::uint32_t) { return std::vector{region("x", {1ULL << 24U, 1ULL << 30U})}; };
  one.now = [](std::uint32_t) { return std::vector<Case::Want>{{region("x", {0, 1ULL << 30U}), Sequence{}, true}}; };
  expect(one, Cause::too_long, {});
}

}  // namespace
}  // namespace cairn::test
