// Letters between members that do not know who gets how many.
#include <random>

#include <gtest/gtest.h>

#include "reshape/finding.hpp"
#include "reshape/post.hpp"
#include "support/faulty_comm.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

using reshape::Letter;
using reshape::Outbox;

// What the member sends in that round. All members can compute it for all.
Outbox letters_of(std::uint32_t member, std::uint32_t members, std::uint64_t round) {
  std::mt19937_64 random(round * 1000 + member);
  Outbox letters;
  if (random() % 3 == 0) return letters;
  for (std::uint32_t to = 0; to < members; ++to) {
    if (random() % 3 != 0) continue;
    const std::size_t bytes = random() % 50 == 0 ? 100'000 : random() % 20;
    letters[to].assign(bytes, static_cast<std::byte>(random()));
  }
  return letters;
}

TEST(Post, brings_each_letter_of_a_round_and_no_other) {
  for (const std::uint32_t members : {1U, 2U, 7U, 16U}) {
    run_cluster(members, [&](Comm& comm) {
      reshape::Post post;
      for (std::uint64_t round = 0; round < 60; ++round) {
        std::vector<std::pair<std::uint32_t, Buffer>> expected;
        for (std::uint32_t from = 0; from < members; ++from) {
          auto letters = letters_of(from, members, round);
          if (letters.contains(comm.rank().value)) expected.emplace_back(from, letters[comm.rank().value]);
        }
        const auto taken = post.exchange(comm, letters_of(comm.rank().value, members, round));
        ASSERT_TRUE(taken);
        std::vector<std::pair<std::uint32_t, Buffer>> got;
        for (const Letter& letter : *taken) got.emplace_back(letter.from.value, letter.bytes);
        ASSERT_EQ(got, expected) << "round " << round;
      }
    });
  }
}

// Member 1 sends nothing to anybody, so only the reduction can tell that it is dead.
TEST(Post, ends_with_an_error_if_a_member_dies_with_which_nothing_is_exchanged) {
  const ThreadWorld world(4);
  std::vector<int> failed(4, 0);
  run_cluster(world, [&](Comm& comm) {
    if (comm.rank().value == 1) return world.kill(Peer{1});
    reshape::Post post;
    Outbox letters;
    letters[comm.rank().value == 0 ? 2 : 0] = Buffer(10);
    const auto taken = post.exchange(comm, letters);
    if (!taken) failed[comm.rank().value] = taken.error().code == Code::communication ? 1 : 2;
  });
  EXPECT_EQ(failed, (std::vector<int>{1, 0, 1, 1}));
}

TEST(Finding, of_the_lowest_member_is_agreed_on_by_all) {
  run_cluster(5, [&](Comm& comm) {
    reshape::Findings mine;
    ASSERT_FALSE(*reshape::agree_on(comm, mine));
    if (comm.rank().value >= 2) {
      mine = reshape::Finding{.cause = reshape::Cause::parts_overlap,
                              .region = "x",
                              .ranks = {comm.rank().value, 9},
                              .range = {{-1, 2}, {3, 4}},
                              .numbers = {1ULL << 60U},
                              .texts = {"a", ""}};
    }
    const auto agreed = reshape::agree_on(comm, mine);
    ASSERT_TRUE(agreed && *agreed);
    EXPECT_EQ(**agreed, (reshape::Finding{.cause = reshape::Cause::parts_overlap,
                                          .region = "x",
                                          .ranks = {2, 9},
                                          .range = {{-1, 2}, {3, 4}},
                                          .numbers = {1ULL << 60U},
                                          .texts = {"a", ""}}));
  });
}

}  // namespace
}  // namespace cairn::test
