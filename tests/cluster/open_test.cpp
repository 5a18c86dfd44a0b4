// What one rank alone cannot do while the session opens: all ranks hear of it, and nobody waits for ever.
#include <atomic>
#include <mutex>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/no_threads.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

class Opening : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string settings() { return std::string("[head]\nmode = ") + GetParam() + "\n"; }
};

INSTANTIATE_TEST_SUITE_P(modes, Opening, testing::Values("rank", "thread", "inline"),
                         [](const auto& info) { return std::string(info.param); });

// Ranks and heads of node 1 open the bell one after the other; one of these calls fails.
TEST_P(Opening, ends_on_every_rank_when_one_bell_cannot_be_opened) {
  std::uint32_t failed = 0;
  for (bool reached = true; reached; ++failed) {
    std::atomic<std::uint32_t> calls{0};
    Job job({2, 3, 2}, settings());
    job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != 1) return store;
      auto hooked = std::make_shared<HookedStore>(store, [](const auto&) { return Status{}; });
      hooked->on_bell = [&]() -> Status {
        if (calls++ != failed) return {};
        return fail(Code::io, "node 1: bell: too many open files");
      };
      return hooked;
    };
    const Thrown told = thrown_by([&] { job.run([](JobSession&) {}); });
    reached = calls > failed;
    if (!reached) break;
    EXPECT_THAT(told, Fails(ErrorKind::storage, {"node 1", "too many open files"})) << "call " << failed;
    for (const auto& [rank, failure] : job.errors())
      EXPECT_THAT(failure, Fails(Code::io, {"node 1", "too many open files"}))
          << "world rank " << rank << ", call " << failed;
    EXPECT_EQ(job.errors().size(), 7U) << "call " << failed;
  }
  EXPECT_GE(failed, 3U) << "each process of the node has a bell";
}

TEST(OpeningWithoutLocalRollback, refuses_what_needs_it_on_every_process) {
  Job job({2, 2}, "[recovery]\nmode = respawn\nrollback = lost\n");
  job.can_be_repaired = true;
  job.has_local_rollback = false;
  EXPECT_THAT(thrown_by([&] { job.run([](JobSession&) {}); }),
              Fails(ErrorKind::config, {"rollback = lost", "built without local rollback"}));
  EXPECT_EQ(job.errors().size(), 4U);
}

TEST(OpeningWithThreads, ends_on_every_rank_when_mpi_allows_one_of_them_no_threads) {
  Job job({2, 2}, "[head]\nmode = thread\n");
  job.threads_may_communicate = [](std::uint32_t world_rank) { return world_rank != 2; };
  EXPECT_THAT(thrown_by([&] { job.run([](JobSession&) {}); }), Fails(ErrorKind::config, {"MPI_THREAD_MULTIPLE"}));
  EXPECT_EQ(job.errors().size(), 4U);
}

TEST(OpeningWithThreads, ends_on_every_rank_when_there_is_no_thread_for_a_head) {
  Job job({2, 2}, "[head]\nmode = thread\n");
  std::mutex mutex;
  std::optional<NoThreads> none;
  job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) {
    const std::scoped_lock lock(mutex);
    if (node == 1 && !none) none.emplace();
    return store;
  };
  const Thrown told = thrown_by([&] { job.run([](JobSession&) {}); });
  none.reset();
  EXPECT_THAT(told, Fails(ErrorKind::storage, {std::generic_category().message(EAGAIN)}));
  EXPECT_EQ(job.errors().size(), 4U);
  for (const auto& [rank, failure] : job.errors())
    EXPECT_THAT(failure, Fails(Code::io, {std::generic_category().message(EAGAIN)})) << rank;
}

}  // namespace
}  // namespace cairn::test
