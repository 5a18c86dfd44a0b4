// A node that earlier runs have found sick: other nodes keep nothing there, as far as there are enough of them.
#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/sick_nodes.hpp"
#include "format/health_file.hpp"
#include "format/manifest.hpp"
#include "store/names.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"
#include "topology/topology.hpp"

namespace cairn::test {
namespace {

using localize::Fault;

// Levels by a digit each: which are due at every snapshot.
std::string settings_for(const std::string& levels, const std::string& act = "avoid") {
  const auto due = [&](char level) { return levels.find(level) == std::string::npos ? "off" : "every 1"; };
  return fmt::format(
      "[levels]\nl1 = every 1\nl2 = {}\nl3 = {}\nl4 = off\n[erasure]\nparity = 1\n[restart]\nat_end = continue\n"
      "[localize]\nact = {}\n",
      due('2'), due('3'), act);
}

std::uint64_t now() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
}

HealthEntry entry_about(std::uint32_t node, Fault fault = Fault::store_failing, const std::string& host = "host") {
  HealthEntry entry;
  entry.verdict.fault = fault;
  entry.verdict.suspect.node = NodeId{node};
  entry.host = host;
  entry.text = "it is sick";
  entry.life = {1};
  entry.decided = now();
  entry.expires = now() + 3600;
  return entry;
}

void report_sick(Job& job, const std::vector<std::uint32_t>& nodes) {
  HealthFile health{{1}, {}};
  for (const std::uint32_t node : nodes) health.entries.push_back(entry_about(node));
  ASSERT_TRUE(write_text(job.global_store(), names::health(), to_json(health)));
}

NodeManifest newest_manifest(const MemoryStore& store) {
  NodeManifest newest;
  const auto entries = store.list(DirName{}).value();
  for (const Entry& entry : entries) {
    const auto manifest = read_node_manifest(store, DirName{entry.name}, {});
    if (manifest && manifest->identity.version >= newest.identity.version) newest = *manifest;
  }
  return newest;
}

// What the store keeps of other nodes, of the newest snapshot under the newest layout: copies of nodes, and parity.
std::size_t kept_of_others(const MemoryStore& store) {
  const Holding holding = newest_manifest(store).holdings.at(0);
  return (holding.partner ? holding.partner->held.size() : 0) + (holding.erasure ? holding.erasure->parity.size() : 0);
}

void expect_restore_without_each(Job& job, std::uint32_t step) {
  const Job::Image image = job.image();
  for (std::uint32_t lost = 0; lost < job.nodes(); ++lost) {
    SCOPED_TRACE(testing::Message() << "node " << lost << " is lost");
    job.lose(lost);
    expect_restore(job, step);
    job.put_back(image);
  }
}

TEST(SickNode, keeps_nothing_of_other_nodes_from_the_next_run_on_and_its_own_shards_are_protected) {
  for (const char* levels : {"2", "3", "23"}) {
    SCOPED_TRACE(levels);
    Job job({2, 2, 2, 2}, settings_for(levels));
    take_steps(job, 2);
    EXPECT_GT(kept_of_others(job.node_store(1)), 0U);
    report_sick(job, {1});
    // Snapshots with the old layout are restored as ever.
    expect_restore_without_each(job, 2);
    take_steps(job, 2);
    EXPECT_EQ(newest_manifest(job.node_store(1)).identity.version, Version{4});
    EXPECT_EQ(kept_of_others(job.node_store(1)), 0U);
    for (const std::uint32_t node : {0U, 2U, 3U}) EXPECT_EQ(newest_manifest(job.node_store(node)).holdings.size(), 1U);
    expect_restore_without_each(job, 4);
    // It is well again.
    report_sick(job, {});
    take_steps(job, 1);
    EXPECT_GT(kept_of_others(job.node_store(1)), 0U);
    expect_restore_without_each(job, 5);
  }
}

// What is rebuilt after a restore is not rebuilt there.
TEST(SickNode, gets_nothing_back_that_is_rebuilt) {
  Job job({2, 2, 2, 2}, settings_for("23"));
  take_steps(job, 2);
  report_sick(job, {1});
  job.run([](JobSession& session) { EXPECT_EQ(Steps(session).restore(), 2U); });
  EXPECT_EQ(newest_manifest(job.node_store(1)).identity.version, Version{2});
  EXPECT_EQ(kept_of_others(job.node_store(1)), 0U);
  job.lose_global_snapshots();
  expect_restore_without_each(job, 2);
}

TEST(SickNode, is_avoided_where_nodes_have_changed_places) {
  const std::vector<std::uint32_t> shape = {2, 2, 2, 2};
  for (const char* levels : {"2", "3"}) {
    SCOPED_TRACE(levels);
    Job job(shape, settings_for(levels));
    take_steps(job, 1);
    std::uint32_t step = 1;
    for (const std::vector<std::uint32_t>& sick : {std::vector{1U}, std::vector<std::uint32_t>{}, std::vector{1U}}) {
      job.reshape(shape, step % 2 == 0 ? std::vector{0U, 1U, 2U, 3U} : std::vector{1U, 0U, 3U, 2U});
      report_sick(job, sick);
      expect_restore_without_each(job, step);
      take_steps(job, 1);
      expect_restore_without_each(job, ++step);
    }
  }
}

TEST(SickNode, is_used_where_there_are_too_few_others) {
  for (const std::vector<std::uint32_t>& sick : {std::vector{1U}, std::vector{0U, 1U}}) {
    Job job({2, 2}, settings_for("2"));
    take_steps(job, 1);
    report_sick(job, sick);
    take_steps(job, 1);
    EXPECT_EQ(kept_of_others(job.node_store(1)), 1U);
    expect_restore_without_each(job, 2);
  }
  Job job({2, 2, 2, 2}, settings_for("23"));
  report_sick(job, {0, 1, 2});
  take_steps(job, 1);
  for (std::uint32_t node = 0; node < 4; ++node) EXPECT_GT(kept_of_others(job.node_store(node)), 0U) << node;
  expect_restore_without_each(job, 1);
}

TEST(SickNode, is_used_if_verdicts_are_only_reported) {
  Job job({2, 2, 2, 2}, settings_for("23", "snapshot"));
  report_sick(job, {1});
  take_steps(job, 1);
  EXPECT_EQ(kept_of_others(job.node_store(1)), 2U);
}

TEST(SickNode, is_not_known_if_the_file_is_damaged) {
  Job job({2, 2, 2, 2}, settings_for("2"));
  report_sick(job, {1});
  ASSERT_TRUE(job.global_store().corrupt(names::health(), 40));
  take_steps(job, 1);
  EXPECT_EQ(kept_of_others(job.node_store(1)), 1U);
}

TEST(SickNodes, are_found_by_their_hosts) {
  const auto topology = make_topology({"a", "b", "c", "c"}, {1}, HeadMode::thread).value();
  const auto sick = [&](const HealthEntry& entry) {
    return sick_nodes({entry}, topology, std::chrono::seconds(entry.decided));
  };
  using Nodes = std::vector<NodeId>;
  EXPECT_EQ(sick(entry_about(0, Fault::store_failing, "b")), Nodes{{1}}) << "its number has changed";
  EXPECT_EQ(sick(entry_about(3, Fault::store_failing, "c")), Nodes{{3}});
  EXPECT_EQ(sick(entry_about(7, Fault::store_failing, "c")), (Nodes{{2}, {3}}));
  EXPECT_EQ(sick(entry_about(1, Fault::store_failing, "b.cluster")), Nodes{{1}});
  EXPECT_EQ(sick(entry_about(0, Fault::store_failing, "elsewhere")), Nodes{});
  EXPECT_EQ(sick(entry_about(1, Fault::head_overloaded, "b")), Nodes{});
  HealthEntry old = entry_about(1, Fault::store_failing, "b");
  old.expires = old.decided;
  EXPECT_EQ(sick(old), Nodes{});
}

TEST(SickHosts, where_no_node_is_are_known_for_the_spares_that_wait_there) {
  const auto topology = make_topology({"a", "b"}, {1}, HeadMode::thread).value();
  const std::vector entries{entry_about(0, Fault::store_failing, "b.cluster"),
                            entry_about(2, Fault::store_failing, "s"), entry_about(2, Fault::store_full, "s"),
                            entry_about(3, Fault::head_overloaded, "t")};
  const std::chrono::seconds today(entries[0].decided);
  EXPECT_EQ(sick_hosts_elsewhere(entries, topology, today), std::vector<std::string>{"s"});
  EXPECT_TRUE(sick_hosts_elsewhere(entries, topology, std::chrono::seconds(entries[1].expires)).empty());
}

}  // namespace
}  // namespace cairn::test
