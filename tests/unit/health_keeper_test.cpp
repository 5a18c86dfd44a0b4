// The file that shows what is sick: what it has of this run, and of earlier ones.
#include "engine/health_keeper.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "store/memory/memory_store.hpp"
#include "store/names.hpp"
#include "support/hooked_store.hpp"

namespace cairn::test {
namespace {

using localize::Fault;
using localize::Verdict;
using std::chrono::hours;
using std::chrono::seconds;

constexpr seconds kDay{1'700'000'000};

Verdict verdict_of(Fault fault, std::uint32_t node, std::optional<Rank> rank = std::nullopt) {
  Verdict verdict;
  verdict.fault = fault;
  verdict.suspect = {NodeId{node}, rank};
  return verdict;
}

class HealthKept : public testing::Test {
 protected:
  HealthKept() {
    for (std::uint32_t node = 0; node < 3; ++node) {
      topology.nodes.emplace_back().head = Peer{node};
      topology.node_of_world.push_back(NodeId{node});
    }
    topology.host_of_world = {"c1", "c2", "c3"};
  }
  [[nodiscard]] HealthKeeper run(std::uint32_t life) { return {store, topology, Incarnation{life}, {}, Log::silent()}; }
  [[nodiscard]] std::vector<HealthEntry> entries() const {
    const auto text = read_text(*store, names::health(), kMostHealthBytes);
    if (!text) return {};
    const auto health = parse_health_file(*text);
    EXPECT_TRUE(health) << health.error().text();
    return health ? health->entries : std::vector<HealthEntry>{};
  }
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  Topology topology;
};

TEST_F(HealthKept, keeps_the_day_of_a_verdict_when_another_one_comes) {
  auto keeper = run(1);
  keeper.take(verdict_of(Fault::store_failing, 1), "sick", kDay);
  keeper.take(verdict_of(Fault::node_down, 2), "sick", kDay + seconds(70));
  ASSERT_EQ(entries().size(), 2U);
  EXPECT_EQ(entries()[0].decided, kDay.count());
  EXPECT_EQ(entries()[1].decided, (kDay + seconds(70)).count());
  EXPECT_EQ(entries()[0].host, "c2");
}

TEST_F(HealthKept, drops_what_was_withdrawn) {
  auto keeper = run(1);
  Verdict verdict = verdict_of(Fault::store_failing, 1);
  keeper.take(verdict, "sick", kDay);
  verdict.withdrawn = true;
  keeper.take(verdict, "sick", kDay + seconds(30));
  EXPECT_TRUE(entries().empty());
}

// A rank that was only late has come.
TEST_F(HealthKept, drops_what_is_about_ranks_when_the_run_ends_well) {
  auto keeper = run(1);
  keeper.take(verdict_of(Fault::rank_stuck, 1, Rank{3}), "sick", kDay);
  keeper.take(verdict_of(Fault::store_failing, 2), "sick", kDay);
  keeper.end(kDay + seconds(70));
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_EQ(entries()[0].verdict.fault, Fault::store_failing);
  EXPECT_TRUE(run(2).standing().empty());
}

// As ckpt-tool health --clear does. The next verdict must not bring the others back.
TEST_F(HealthKept, forgets_what_somebody_has_cleared) {
  auto keeper = run(1);
  EXPECT_FALSE(keeper.notice_clear());
  keeper.take(verdict_of(Fault::store_failing, 1), "sick", kDay);
  EXPECT_FALSE(keeper.notice_clear());
  ASSERT_TRUE(store->remove(names::health()));
  EXPECT_TRUE(keeper.notice_clear());
  EXPECT_FALSE(keeper.notice_clear());
  keeper.take(verdict_of(Fault::node_down, 2), "sick", kDay + seconds(70));
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_EQ(entries()[0].verdict.fault, Fault::node_down);
}

TEST_F(HealthKept, a_verdict_that_holds_does_not_expire) {
  auto keeper = run(1);
  keeper.take(verdict_of(Fault::store_failing, 1), "sick", kDay);
  EXPECT_TRUE(entries()[0].expired((kDay + HealthKeeper::kVerdictLasts).count()));
  keeper.renew(kDay + HealthKeeper::kRenewEvery);
  EXPECT_FALSE(entries()[0].expired((kDay + HealthKeeper::kVerdictLasts).count()));
  EXPECT_EQ(entries()[0].decided, kDay.count());
}

TEST_F(HealthKept, the_next_run_keeps_what_is_about_nodes_until_it_expires) {
  auto before = run(1);
  before.take(verdict_of(Fault::store_failing, 1), "sick", kDay);
  before.take(verdict_of(Fault::process_dead, 2, Rank{5}), "sick", kDay);
  auto keeper = run(2);
  keeper.begin(kDay + seconds(60));
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_EQ(entries()[0].life, Incarnation{1});
  keeper.take(verdict_of(Fault::node_down, 0), "sick", kDay + hours(1));
  EXPECT_EQ(entries().size(), 2U);
  keeper.renew(kDay + hours(30));
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_EQ(entries()[0].life, Incarnation{2});
}

TEST_F(HealthKept, a_fault_that_is_found_again_is_there_once) {
  run(1).take(verdict_of(Fault::store_failing, 1), "sick", kDay);
  run(2).take(verdict_of(Fault::store_failing, 1), "sick", kDay + hours(1));
  ASSERT_EQ(entries().size(), 1U);
  EXPECT_EQ(entries()[0].life, Incarnation{2});
}

TEST_F(HealthKept, another_process_adds_to_what_the_run_has_written) {
  run(2).take(verdict_of(Fault::store_failing, 1), "sick", kDay);
  auto later = run(2);
  later.resume();
  later.put(verdict_of(Fault::node_down, 2), "in other words", kDay + seconds(90));
  ASSERT_TRUE(later.write(kDay + seconds(90)));
  ASSERT_EQ(entries().size(), 2U);
  EXPECT_EQ(entries()[0].decided, kDay.count());
  EXPECT_EQ(entries()[1].host, "c3");
  EXPECT_EQ(entries()[1].text, "in other words");
}

TEST_F(HealthKept, a_damaged_file_is_replaced) {
  run(1).take(verdict_of(Fault::store_failing, 1), "sick", kDay);
  ASSERT_TRUE(store->corrupt(names::health(), 20));
  run(2).begin(kDay);
  EXPECT_TRUE(entries().empty());
}

// health.json is sealed with a key that this run does not have.
class SealedHealth : public HealthKept {
 protected:
  SealedHealth() {
    Buffer bytes(SecretKey::kLeastBytes);
    bytes[0] = std::byte{1};
    auto key = SecretKey::from(std::move(bytes));
    sealer = Sealer(std::make_shared<const SecretKey>(std::move(key.value())), "heat");
    HealthKeeper(store, topology, Incarnation{1}, sealer, Log::silent())
        .take(verdict_of(Fault::store_failing, 1), "sick", kDay);
    text = whole(names::health());
  }
  [[nodiscard]] std::string whole(const FileName& name) const {
    return read_text(*store, name, kMostHealthBytes).value_or("");
  }
  Sealer sealer;
  std::string text;
};

TEST_F(SealedHealth, stays_and_the_verdicts_of_the_run_lie_beside_it) {
  auto keeper = run(2);
  keeper.begin(kDay);
  EXPECT_EQ(store->list(DirName{})->size(), 1U);
  keeper.take(verdict_of(Fault::node_down, 2), "sick", kDay);
  EXPECT_EQ(whole(names::health()), text);
  const auto beside = parse_health_file(whole(names::health_of(Incarnation{2})));
  ASSERT_TRUE(beside);
  ASSERT_EQ(beside->entries.size(), 1U);
  EXPECT_EQ(beside->entries[0].verdict.fault, Fault::node_down);
}

TEST_F(SealedHealth, a_process_that_adds_to_what_the_run_has_written_finds_it_beside) {
  run(2).take(verdict_of(Fault::node_down, 2), "sick", kDay);
  auto later = run(2);
  later.resume();
  later.put(verdict_of(Fault::store_failing, 0), "in other words", kDay);
  ASSERT_TRUE(later.write(kDay));
  EXPECT_EQ(parse_health_file(whole(names::health_of(Incarnation{2})))->entries.size(), 2U);
}

TEST_F(SealedHealth, the_next_run_that_can_read_all_puts_them_together) {
  HealthKeeper(store, topology, Incarnation{2}, {}, Log::silent()).take(verdict_of(Fault::node_down, 2), "sick", kDay);
  ASSERT_TRUE(store->remove(names::health()));
  run(3).take(verdict_of(Fault::store_full, 0), "sick", kDay + seconds(60));
  EXPECT_EQ(entries().size(), 2U);
  EXPECT_EQ(store->list(DirName{})->size(), 1U);
}

TEST_F(HealthKept, a_file_that_cannot_be_read_for_a_while_is_neither_replaced_nor_forgotten) {
  run(1).take(verdict_of(Fault::store_failing, 1), "sick", kDay);
  bool fails = true;
  const auto hooked = std::make_shared<HookedStore>(store, [](const auto&) { return Status{}; });
  hooked->on_read = [&](const std::string& path) -> Status {
    return fails && path == names::health().path ? fail(Code::io, "injected") : Status{};
  };
  HealthKeeper keeper(hooked, topology, Incarnation{2}, {}, Log::silent());
  keeper.begin(kDay);
  keeper.take(verdict_of(Fault::node_down, 2), "sick", kDay);
  ASSERT_EQ(entries().size(), 1U);
  fails = false;
  keeper.take(verdict_of(Fault::store_full, 0), "sick", kDay);
  EXPECT_EQ(entries().size(), 3U);
  EXPECT_FALSE(read_text(*store, names::health_of(Incarnation{2})));
}

TEST_F(HealthKept, a_run_that_finds_nothing_makes_no_file) {
  run(1).begin(kDay);
  EXPECT_FALSE(read_text(*store, names::health()));
}

}  // namespace
}  // namespace cairn::test
