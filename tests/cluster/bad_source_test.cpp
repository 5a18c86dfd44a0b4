// A source that cannot be read, for whatever reason, is planned around, as one that is damaged.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/code_name.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/read_fault.hpp"
#include "support/steps.hpp"

// HDF5 forgets some bytes of its own when a read fails under it. The leak sanitizer asks for this by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:libhdf5"; }

namespace cairn::test {
namespace {

std::string settings(const std::string& levels) {
  const auto due = [&](char level) { return levels.find(level) == std::string::npos ? "off" : "every 1"; };
  return fmt::format(
      "[storage]\nkeep_global = 2\n[levels]\nl1 = every 1\nl2 = {}\nl3 = {}\nl4 = {}\n[erasure]\nparity = 1\n",
      due('2'), due('3'), due('4'));
}

// Takes two snapshots, loses nodes, and opens and restores with the n-th read failing, for every n. Some version must
// come back, and if it can be had otherwise (`newest`), the newest.
void expect_every_read_may_fail(const std::vector<std::uint32_t>& ranks, const std::string& levels,
                                const std::vector<std::uint32_t>& lost, bool newest) {
  Job job(ranks, settings(levels));
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session, 50);
    steps.restore();
    steps.advance_by(2);
    steps.wait_for_all();
  });
  for (const std::uint32_t node : lost) job.lose(node);
  const Job::Image image = job.image();
  ReadFault fault;
  fault.watch(job);
  for (const Code code : {Code::io, Code::not_found}) {
    for (std::uint64_t n = 0;; ++n) {
      job.put_back(image);
      fault.set({.part = {}, .at = n, .code = code});
      fault.arm();
      job.run_well_and_die([&](JobSession& session) {
        Steps steps(session, 50);
        const std::uint32_t version = steps.restore();
        fault.disarm();
        EXPECT_GE(version, newest ? 2U : 1U);
      });
      ASSERT_FALSE(testing::Test::HasFailure())
          << "L" << levels << ", read " << n << ", of " << fault.path() << ": " << name(code);
      if (!fault.struck()) break;
    }
  }
}

TEST(BadSource, of_any_read_where_nothing_is_lost) {
  expect_every_read_may_fail({2, 3}, "2", {}, true);
  expect_every_read_may_fail({2, 3, 2}, "3", {}, true);
  expect_every_read_may_fail({2, 2}, "4", {}, true);
}

TEST(BadSource, of_any_read_with_a_node_lost) {
  expect_every_read_may_fail({2, 3}, "24", {1}, true);
  expect_every_read_may_fail({2, 2, 2}, "34", {1}, true);
}

TEST(BadSource, of_any_read_with_every_node_lost) { expect_every_read_may_fail({2, 2}, "4", {0, 1}, false); }

// What was written at L4 is as good as it was: an application that asks again, with a store that works, gets it.
TEST(BadTarget, of_a_shard_from_the_global_store_is_not_blamed_on_that) {
  Job job({2, 2}, settings("4"));
  job.run_well_and_die([&](JobSession& session) {
    Steps steps(session, 50);
    steps.restore();
    steps.advance_by(2);
    steps.wait_for_all();
  });
  for (const std::uint32_t node : {0U, 1U}) job.lose(node);
  std::atomic<int> faults = 1;
  job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    return std::make_shared<HookedStore>(std::move(store),
                                         [&faults, node](const HookedStore::Operation& operation) -> Status {
                                           if (node != 1 || !operation.path.ends_with(".shard") || faults-- <= 0)
                                             return {};
                                           return fail(Code::io, operation.path + ": injected");
                                         });
  };
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session, 50);
    EXPECT_THAT(thrown_by([&] { steps.restore(); }), Fails(ErrorKind::storage, {"injected"}));
    EXPECT_EQ(steps.restore(), 2U);
  });
}

}  // namespace
}  // namespace cairn::test
