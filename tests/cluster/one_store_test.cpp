// A node is a host name. Whether its processes see one directory, and those of another node another, is compared when a
// session opens.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session/one_store.hpp"
#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"

namespace cairn::test {
namespace {

std::optional<Failure> refusal_of(Job& job) {
  (void)thrown_by([&] { job.run([](JobSession& session) { Steps(session).restore(); }); });
  return job.cause();
}

// As in containers that each have a file system of their own.
TEST(OneStore, of_a_node_is_what_all_its_processes_see) {
  Job job({3, 3}, {});
  job.wrap_node = [](std::uint32_t node, std::shared_ptr<Store> store) {
    return node == 1 ? std::make_shared<MemoryStore>() : std::move(store);
  };
  EXPECT_THAT(refusal_of(job), Fails(ErrorKind::config, {"world ranks 3 and", "node0001", "different directories"}));
}

// As with [storage] local on a file system that all hosts mount.
TEST(OneStore, of_two_nodes_is_refused) {
  Job job({2, 2}, {});
  const auto one = std::make_shared<MemoryStore>();
  job.wrap_node = [one](std::uint32_t, std::shared_ptr<Store>) { return one; };
  EXPECT_THAT(refusal_of(job), Fails(ErrorKind::config, {"node0000 and node0001", "share one directory"}));
}

TEST(OneStore, leaves_nothing_behind) {
  Job job({2, 2}, {});
  job.run_well_and_die([&](JobSession& session) {
    Steps(session).restore();
    EXPECT_EQ(job.node_store(0).open(names::token()).error().code, Code::not_found);
  });
}

TEST(OneStore, that_can_keep_no_token_is_not_compared) {
  Job job({2, 2}, {});
  job.wrap_node = [](std::uint32_t, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
    return std::make_shared<HookedStore>(std::move(store), [](const HookedStore::Operation& operation) -> Status {
      if (operation.path != names::token().path) return {};
      return fail(Code::no_space, "the store is full");
    });
  };
  job.run_well_and_die([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 0U); });
}

// What a life before has left, or what cannot be read, is no reason to refuse.
TEST(OneStore, is_judged_by_what_was_found) {
  const auto topology = *make_topology({"a", "a", "b", "b"}, {}, HeadMode::inline_);
  const auto check = [&](std::vector<StoreToken> found) { return check_one_store(topology, found, "/scratch"); };
  EXPECT_TRUE(check({7, 7, 8, 8}));
  EXPECT_TRUE(check({7, kUnknownToken, 8, 8}));
  EXPECT_TRUE(check({kUnknownToken, kNoToken, kNoToken, kUnknownToken}));
  EXPECT_THAT(check({7, kNoToken, 8, 8}), Fails(Code::config, {"world ranks 0 and 1", "host a", "/scratch"}));
  EXPECT_THAT(check({7, 7, 8, 5}), Fails(Code::config, {"world ranks 2 and 3", "host b", "/scratch"}));
  EXPECT_THAT(check({7, 7, 7, 7}), Fails(Code::config, {"hosts a and b", "/scratch"}));
}

}  // namespace
}  // namespace cairn::test
