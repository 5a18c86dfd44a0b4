// Reports of ckpt-tool health, as a head takes them from the global store.
#include "engine/suspicion_box.hpp"

#include <gtest/gtest.h>

#include "format/suspicion_file.hpp"
#include "store/memory/memory_store.hpp"
#include "store/names.hpp"
#include "support/hooked_store.hpp"
#include "support/log_reading.hpp"

namespace cairn::test {
namespace {

constexpr std::uint64_t kToday = 1'700'000'000;

class Suspicious : public testing::Test {
 protected:
  // Two nodes on host c1 and one on host c2, each with a rank and a head.
  Suspicious() {
    for (std::uint32_t node = 0; node < 3; ++node) {
      topology.nodes.emplace_back().head = Peer{2 * node};
      topology.world_of_rank.push_back(Peer{2 * node + 1});
      for (int i = 0; i < 2; ++i) {
        topology.node_of_world.push_back(NodeId{node});
        topology.host_of_world.emplace_back(node < 2 ? "c1" : "c2");
      }
    }
  }
  void put(const SuspicionFile& file, std::uint64_t number = 1) {
    ASSERT_TRUE(write_text(*store, names::suspicion(number), to_json(file)));
  }
  [[nodiscard]] std::vector<Suspicion> take() { return SuspicionBox(store, topology, {}, Log::silent()).take(kToday); }
  [[nodiscard]] bool is_empty() const { return store->list(DirName{})->empty(); }
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  Topology topology;
};

TEST_F(Suspicious, nodes_ranks_and_hosts_are_found_in_the_job) {
  put({kToday, NodeId{2}, "a"}, 1);
  put({kToday, Rank{1}, "b"}, 2);
  put({kToday, std::string("c1"), "c"}, 3);
  EXPECT_EQ(take(), (std::vector<Suspicion>{{{NodeId{2}, std::nullopt}, "a"},
                                            {{NodeId{1}, Rank{1}}, "b"},
                                            {{NodeId{0}, std::nullopt}, "c"},
                                            {{NodeId{1}, std::nullopt}, "c"}}));
  EXPECT_TRUE(is_empty());
}

TEST_F(Suspicious, a_host_is_found_with_its_domain_and_without) {
  put({kToday, std::string("c2.cluster.org"), "c"});
  EXPECT_EQ(take(), (std::vector<Suspicion>{{{NodeId{2}, std::nullopt}, "c"}}));
  put({kToday, std::string("c2x"), "c"});
  EXPECT_TRUE(take().empty());
}

TEST_F(Suspicious, what_is_not_in_the_job_is_not_taken) {
  put({kToday, NodeId{3}, "a"}, 1);
  put({kToday, Rank{3}, "b"}, 2);
  put({kToday, std::string("c3"), "c"}, 3);
  EXPECT_TRUE(take().empty());
  EXPECT_TRUE(is_empty());
}

TEST_F(Suspicious, reports_that_are_old_no_longer_count) {
  put({kToday - SuspicionBox::kCountsForSeconds - 1, NodeId{2}, "a"}, 1);
  put({kToday - SuspicionBox::kCountsForSeconds, NodeId{2}, "b"}, 2);
  const auto taken = take();
  ASSERT_EQ(taken.size(), 1U);
  EXPECT_EQ(taken[0].text, "b");
}

TEST_F(Suspicious, a_damaged_report_is_removed) {
  put({kToday, NodeId{2}, "a"});
  ASSERT_TRUE(store->corrupt(names::suspicion(1), 20));
  EXPECT_TRUE(take().empty());
  EXPECT_TRUE(is_empty());
}

TEST_F(Suspicious, a_report_that_cannot_be_read_now_stays_and_is_said_once) {
  put({kToday, NodeId{2}, "a"});
  const auto hooked = std::make_shared<HookedStore>(store, [](const auto&) { return Status{}; });
  hooked->on_read = [](const std::string& path) -> Status {
    return path.empty() ? Status{} : fail(Code::io, "injected");
  };
  const LogReading log;
  SuspicionBox box(hooked, topology, {}, Log());
  EXPECT_TRUE(box.take(kToday).empty());
  EXPECT_TRUE(box.take(kToday).empty());
  EXPECT_EQ(log.lines().size(), 1U);
  EXPECT_FALSE(is_empty());
  EXPECT_EQ(take().size(), 1U);
}

TEST_F(Suspicious, a_report_that_is_sealed_with_another_key_stays) {
  Buffer bytes(SecretKey::kLeastBytes);
  bytes[0] = std::byte{1};
  auto key = SecretKey::from(std::move(bytes));
  const Sealer other(std::make_shared<const SecretKey>(std::move(key.value())), "heat");
  ASSERT_TRUE(write_text(*store, names::suspicion(1), to_json(SuspicionFile{kToday, NodeId{2}, "a"}, other)));
  EXPECT_TRUE(take().empty());
  EXPECT_FALSE(is_empty());
}

TEST_F(Suspicious, other_files_stay) {
  ASSERT_TRUE(write_text(*store, names::health(), "{}"));
  EXPECT_TRUE(take().empty());
  EXPECT_FALSE(is_empty());
}

}  // namespace
}  // namespace cairn::test
