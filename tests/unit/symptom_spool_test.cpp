// Symptoms that one run of heads leaves to the next.
#include "engine/symptom_spool.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "format/symptom_file.hpp"
#include "store/memory/memory_store.hpp"
#include "store/names.hpp"
#include "support/hooked_store.hpp"
#include "support/log_reading.hpp"

namespace cairn::test {
namespace {

using std::chrono::seconds;

// A node on each of these hosts.
Topology topology_of(const std::vector<std::string>& hosts) {
  Topology topology;
  for (std::uint32_t node = 0; node < hosts.size(); ++node) {
    topology.nodes.emplace_back().head = Peer{node};
    topology.node_of_world.push_back(NodeId{node});
  }
  topology.host_of_world = hosts;
  return topology;
}

localize::Observation observation(std::uint32_t node, std::optional<Rank> rank = std::nullopt) {
  return {SymptomKind::crc_mismatch, {NodeId{node}, rank}, NodeId{7}, seconds(5), seconds(3), seconds(99), 2, 0.25};
}

class SymptomSpooled : public testing::Test {
 protected:
  static constexpr std::uint64_t kToday = 1'700'000'000;
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  Topology before = topology_of({"c1", "c2", "c2"});
  SymptomSpool spool{store, before, {}, Log::silent()};
};

TEST_F(SymptomSpooled, is_read_back_with_the_age_that_it_has_by_then) {
  spool.write({observation(1)}, kToday);
  const auto read = spool.read(kToday + 60);
  ASSERT_EQ(read.size(), 1U);
  localize::Observation older = observation(1);
  older.first += seconds(60);
  older.last += seconds(60);
  EXPECT_EQ(read[0], older);
  spool.remove();
  EXPECT_TRUE(spool.read(kToday).empty());
}

// After a repair, nodes may have other numbers.
TEST_F(SymptomSpooled, follows_the_node_on_its_host) {
  spool.write({observation(2), observation(0)}, kToday);
  const Topology now = topology_of({"c2", "c2", "c9"});
  const auto read = SymptomSpool(store, now, {}, Log::silent()).read(kToday);
  ASSERT_EQ(read.size(), 1U);
  EXPECT_EQ(read[0].suspect.node, NodeId{1});
}

TEST_F(SymptomSpooled, is_not_about_a_rank) {
  spool.write({observation(1, Rank{4})}, kToday);
  EXPECT_FALSE(read_text(*store, names::symptoms()));
}

TEST_F(SymptomSpooled, is_removed_if_it_is_damaged) {
  spool.write({observation(1)}, kToday);
  ASSERT_TRUE(store->corrupt(names::symptoms(), 30));
  EXPECT_TRUE(spool.read(kToday).empty());
  EXPECT_FALSE(read_text(*store, names::symptoms()));
}

TEST_F(SymptomSpooled, that_cannot_be_read_now_stays) {
  spool.write({observation(1)}, kToday);
  const auto hooked = std::make_shared<HookedStore>(store, [](const auto&) { return Status{}; });
  hooked->on_read = [](const std::string&) -> Status { return fail(Code::io, "injected"); };
  EXPECT_TRUE(SymptomSpool(hooked, before, {}, Log::silent()).read(kToday).empty());
  EXPECT_EQ(spool.read(kToday).size(), 1U);
}

TEST_F(SymptomSpooled, is_written_when_it_changes_and_removed_when_nothing_is_pending) {
  int writes = 0;
  const auto hooked = std::make_shared<HookedStore>(store, [&](const HookedStore::Operation& operation) {
    writes += operation.kind == HookedStore::Operation::Kind::create ? 1 : 0;
    return Status{};
  });
  SymptomSpool counted(hooked, before, {}, Log::silent());
  counted.write({observation(1)}, kToday);
  auto older = observation(1);
  older.last += seconds(5);
  counted.write({older}, kToday + 5);
  EXPECT_EQ(writes, 1);
  ++older.count;
  counted.write({older}, kToday + 5);
  EXPECT_EQ(writes, 2);
  counted.write({}, kToday + 5);
  EXPECT_FALSE(read_text(*store, names::symptoms()));
}

TEST_F(SymptomSpooled, that_cannot_be_written_is_said_once_and_tried_again) {
  bool fails = true;
  const auto hooked = std::make_shared<HookedStore>(
      store, [&](const HookedStore::Operation&) -> Status { return fails ? fail(Code::io, "injected") : Status{}; });
  const LogReading log;
  SymptomSpool unlucky(hooked, before, {}, Log());
  EXPECT_FALSE(unlucky.write({observation(1)}, kToday));
  EXPECT_FALSE(unlucky.write({observation(1)}, kToday));
  EXPECT_EQ(log.lines().size(), 1U);
  fails = false;
  EXPECT_TRUE(unlucky.write({observation(1)}, kToday));
  EXPECT_EQ(spool.read(kToday).size(), 1U);
}

TEST_F(SymptomSpooled, is_one_of_so_many) {
  spool.write(std::vector(2 * kMostSpooled, observation(1)), kToday);
  EXPECT_EQ(spool.read(kToday).size(), kMostSpooled);
}

}  // namespace
}  // namespace cairn::test
