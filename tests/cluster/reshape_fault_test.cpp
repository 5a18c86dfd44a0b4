// Restart on another number of ranks when ranks die, regions cannot be read, or memory is short.
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>

#include <gtest/gtest.h>

#include "reshape/transfer.hpp"
#include "reshape_model.hpp"
#include "support/faulty_comm.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

using reshape::Cause;
using reshape::Finding;
using reshape::Findings;

// What a member does; whether it was restored, or got an error.
using Restart = std::function<bool(Comm&)>;

// Whether each member got an error, when `victim` dies at its operation number `first_failing`. None: it does not die,
// since it has fewer.
std::optional<std::vector<bool>> play_death(std::uint32_t members, const Restart& restart, std::uint32_t victim,
                                            std::uint64_t first_failing) {
  const ThreadWorld world(members);
  std::vector<char> failed(members, 0);
  const auto plan = std::make_shared<CommFaultPlan>();
  plan->first_failing = first_failing;
  plan->on_first_failure = [&] { world.kill(Peer{victim}); };
  run_cluster(world, [&](Comm& comm) {
    const std::uint32_t rank = comm.rank().value;
    FaultyComm faulty(comm, plan);
    failed[rank] = restart(rank == victim ? faulty : comm) ? 0 : 1;
  });
  if (!plan->failing) return std::nullopt;
  return std::vector<bool>(failed.begin(), failed.end());
}

void expect_errors_of_all(std::uint32_t members, const Restart& restart, std::uint32_t victim) {
  std::uint64_t operation = 0;
  for (;; ++operation) {
    const auto failed = play_death(members, restart, victim, operation);
    if (!failed) break;
    ASSERT_EQ(*failed, std::vector<bool>(members, true)) << "rank " << victim << ", operation " << operation;
  }
  EXPECT_GT(operation, 20U);
}

TEST(ReshapeFault, death_of_a_rank_at_any_operation_ends_all_others_with_an_error) {
  const ReshapeJob job = draw_job(5, 3, 5);
  const Restart restart = [&](Comm& comm) {
    const Member member(job, comm.rank().value);
    const auto finding = reshape::reshape(comm, member.input());
    if (!finding) return false;
    EXPECT_FALSE(*finding);
    EXPECT_EQ(member.wrong(), std::vector<std::string>{});
    return true;
  };
  for (const std::uint32_t victim : {0U, 3U}) expect_errors_of_all(job.new_ranks, restart, victim);
}

// Messages of more than 64 KiB stay with their sender until they are received. All values are 1, and there are two of
// each, which are compared.
TEST(ReshapeFault, death_of_a_rank_while_large_boxes_are_under_way_ends_all_others_with_an_error) {
  constexpr std::uint64_t kElements = 150'000;
  const Restart restart = [](Comm& comm) {
    const std::uint64_t rank = comm.rank().value;
    RegionInfo info;
    info.name = "x";
    info.type = ElementType::int64;
    info.element_bytes = 8;
    info.shape = {kElements};
    RegionInfo old = info;
    old.global_shape = {2 * kElements};
    old.global_offset = {rank / 2 * kElements};
    std::vector<std::uint64_t> memory(rank < 2 ? kElements : 0, 7);
    info.shape = {memory.size()};
    const reshape::Block block{{2 * kElements}, {memory.empty() ? 0 : (1 - rank) * kElements}, {}, {}, {}};
    const auto read = [](std::size_t, std::span<const reshape::Run> runs) {
      for (const reshape::Run& run : runs) std::ranges::fill(run.into, std::byte{1});
      return Status{};
    };
    const reshape::Input input{
        4, {{Rank{comm.rank().value}, {old}, read}}, {{info, block, std::as_writable_bytes(std::span(memory))}}};
    const auto finding = reshape::reshape(comm, input);
    if (!finding) return false;
    EXPECT_FALSE(*finding);
    EXPECT_EQ(std::ranges::count(memory, 0x0101010101010101U), static_cast<std::ptrdiff_t>(memory.size()));
    return true;
  };
  for (const std::uint32_t victim : {1U, 2U}) expect_errors_of_all(4, restart, victim);
}

struct Outcome {
  std::vector<Findings> findings;
  std::vector<std::vector<std::string>> wrong;
};

// `prepare` changes the input of each member.
Outcome play(const ReshapeJob& job, const std::function<void(Member&, std::uint32_t)>& prepare) {
  Outcome outcome{std::vector<Findings>(job.new_ranks), std::vector<std::vector<std::string>>(job.new_ranks)};
  run_cluster(job.new_ranks, [&](Comm& comm) {
    const std::uint32_t rank = comm.rank().value;
    Member member(job, rank);
    prepare(member, rank);
    const auto finding = reshape::reshape(comm, member.input());
    ASSERT_TRUE(finding) << finding.error().text();
    outcome.findings[rank] = *finding;
    outcome.wrong[rank] = member.wrong();
  });
  for (const Findings& finding : outcome.findings) EXPECT_EQ(finding, outcome.findings.front());
  return outcome;
}

TEST(ReshapeFault, region_that_cannot_be_read_is_named_and_all_others_are_restored) {
  const ReshapeJob job = draw_job(7, 4, 6);
  const auto outcome = play(job, [&](Member& member, std::uint32_t) {
    for (reshape::OldRank& held : member.input().held) {
      if (held.rank != Rank{2}) continue;
      const auto is_bad = [&held](std::size_t region) { return held.regions[region].name == "alike"; };
      held.read = [read = held.read, is_bad](std::size_t region, std::span<const reshape::Run> runs) {
        if (is_bad(region)) return Status(fail(Code::corrupt, "block 3 is damaged", "a hint"));
        return read(region, runs);
      };
    }
  });
  ASSERT_TRUE(outcome.findings.front());
  EXPECT_EQ(*outcome.findings.front(), (Finding{.cause = Cause::unreadable,
                                                .region = "alike",
                                                .ranks = {2},
                                                .numbers = {static_cast<std::uint64_t>(Code::corrupt)},
                                                .texts = {"block 3 is damaged", "a hint", ""}}));
  bool some_wrong = false;
  for (const auto& wrong : outcome.wrong) {
    for (const std::string& name : wrong) {
      EXPECT_EQ(name, "alike");
      some_wrong = true;
    }
  }
  EXPECT_TRUE(some_wrong);
}

// Whether a rank that reads it itself finds it, or one that orders it.
TEST(ReshapeFault, region_that_cannot_be_read_is_found_by_each_way_to_it) {
  constexpr std::uint64_t kElements = 1000;
  RegionInfo info;
  info.name = "x";
  info.shape = {kElements};
  for (const bool reaches : {false, true}) {
    std::array<Findings, 2> findings;
    run_cluster(2, [&](Comm& comm) {
      const std::uint32_t rank = comm.rank().value;
      std::vector<std::byte> memory(rank == 0 ? 0 : kElements);
      RegionInfo wanted = info;
      wanted.shape = {memory.size()};
      const reshape::Sequence::Part part{0, memory.size()};
      const reshape::OldRank bad{Rank{0}, {info}, [](std::size_t, std::span<const reshape::Run>) {
                                   return Status(fail(Code::io, "no disk"));
                                 }};
      reshape::Input input{1, {}, {{wanted, reshape::Sequence{part, {}}, MutableBytes(memory)}}};
      if (rank == 0) input.held.push_back(bad);
      if (reaches) input.reach = [&bad](Rank) { return &bad; };
      const auto finding = reshape::reshape(comm, input);
      ASSERT_TRUE(finding);
      findings[rank] = *finding;
    });
    for (const Findings& finding : findings) {
      ASSERT_TRUE(finding);
      EXPECT_EQ(finding->cause, Cause::unreadable);
      EXPECT_EQ(finding->texts.front(), "no disk");
    }
  }
}

TEST(ReshapeFault, region_of_equal_values_that_cannot_be_read_ends_all_before_memory_is_touched) {
  const ReshapeJob job = draw_job(7, 4, 6);
  std::atomic<int> resized{0};
  const auto outcome = play(job, [&](Member& member, std::uint32_t) {
    for (reshape::OldRank& held : member.input().held)
      held.read = [](std::size_t, std::span<const reshape::Run>) { return Status(fail(Code::io, "no disk")); };
    for (reshape::Wanted& wanted : member.input().wanted) {
      if (auto* resize = std::get_if<reshape::Wanted::Resize>(&wanted.memory))
        *resize = [&resized](std::uint64_t) { return ++resized, MutableBytes{}; };
    }
  });
  ASSERT_TRUE(outcome.findings.front());
  EXPECT_EQ(outcome.findings.front()->cause, Cause::unreadable);
  EXPECT_EQ(outcome.findings.front()->region, "same");
  EXPECT_EQ(resized, 0);
}

TEST(ReshapeFault, rank_without_memory_is_named_by_all_before_bytes_move) {
  ReshapeJob job = draw_job(8, 4, 5);
  for (NewPart& now : job.region("alike").now) now.resizable = true;
  for (const bool throws : {true, false}) {
    std::atomic<int> reads{0};
    const auto outcome = play(job, [&](Member& member, std::uint32_t rank) {
      for (reshape::OldRank& held : member.input().held) {
        held.read = [&reads, &held, read = held.read](std::size_t region, std::span<const reshape::Run> runs) {
          if (held.regions[region].name != "same") ++reads;
          return read(region, runs);
        };
      }
      for (reshape::Wanted& wanted : member.input().wanted) {
        if (rank != 3 || wanted.info.name != "alike") continue;
        wanted.memory = [throws](std::uint64_t) {
          if (throws) throw std::bad_alloc();
          static std::array<std::byte, 12'345> another_size;
          return MutableBytes(another_size);
        };
      }
    });
    ASSERT_TRUE(outcome.findings.front());
    EXPECT_EQ(outcome.findings.front()->cause, Cause::no_memory);
    EXPECT_EQ(outcome.findings.front()->region, "alike");
    EXPECT_EQ(outcome.findings.front()->ranks, (std::vector<std::uint32_t>{3}));
    EXPECT_EQ(reads, 0);
  }
}

}  // namespace
}  // namespace cairn::test
