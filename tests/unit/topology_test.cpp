#include "topology/topology.hpp"

#include <gtest/gtest.h>

#include "support/facts.hpp"

namespace cairn {
namespace {

using test::Fails;

std::vector<Peer> peers(std::initializer_list<std::uint32_t> values) {
  std::vector<Peer> out;
  for (const auto value : values) out.push_back(Peer{value});
  return out;
}

std::vector<Rank> ranks(std::initializer_list<std::uint32_t> values) {
  std::vector<Rank> out;
  for (const auto value : values) out.push_back(Rank{value});
  return out;
}

std::vector<std::string> one_host(std::size_t ranks) { return std::vector<std::string>(ranks, "laptop"); }

TEST(Topology, numbers_hosts_by_their_lowest_world_rank) {
  const auto topology = make_topology({"b", "a", "b", "a", "b"}, {}, HeadMode::rank);
  ASSERT_TRUE(topology) << topology.error().text();
  ASSERT_EQ(topology->node_count(), 2U);
  EXPECT_EQ(topology->nodes[0].name, "b");
  EXPECT_EQ(topology->nodes[0].world_ranks, peers({0, 2, 4}));
  EXPECT_EQ(topology->nodes[1].name, "a");
  EXPECT_EQ(topology->nodes[1].world_ranks, peers({1, 3}));
}

TEST(Topology, gives_the_highest_world_rank_of_each_node_to_the_head_in_mode_rank) {
  const auto topology = make_topology({"b", "a", "b", "a", "b"}, {}, HeadMode::rank);
  ASSERT_TRUE(topology) << topology.error().text();
  EXPECT_EQ(topology->nodes[0].head, Peer{4});
  EXPECT_EQ(topology->nodes[1].head, Peer{3});
  EXPECT_EQ(topology->world_of_rank, peers({0, 1, 2}));
  EXPECT_EQ(topology->nodes[0].ranks, ranks({0, 2}));
  EXPECT_EQ(topology->nodes[1].ranks, ranks({1}));
  for (std::uint32_t world = 0; world < 5; ++world) EXPECT_EQ(topology->is_dedicated_head(Peer{world}), world >= 3);
}

TEST(Topology, lets_the_lowest_rank_act_and_compute_in_the_other_modes) {
  for (const auto mode : {HeadMode::thread, HeadMode::inline_}) {
    const auto topology = make_topology({"a", "a", "b"}, {}, mode);
    ASSERT_TRUE(topology) << topology.error().text();
    EXPECT_EQ(topology->nodes[0].head, Peer{0});
    EXPECT_EQ(topology->nodes[1].head, Peer{2});
    EXPECT_EQ(topology->rank_count(), 3U);
    for (std::uint32_t world = 0; world < 3; ++world) EXPECT_FALSE(topology->is_dedicated_head(Peer{world}));
  }
}

TEST(Topology, simulates_nodes_of_one_size_and_gives_the_remainder_to_the_last) {
  const auto topology = make_topology(one_host(11), {3}, HeadMode::rank);
  ASSERT_TRUE(topology) << topology.error().text();
  ASSERT_EQ(topology->node_count(), 4U);
  EXPECT_EQ(topology->nodes[2].world_ranks, peers({6, 7, 8}));
  EXPECT_EQ(topology->nodes[3].name, "node0003");
  EXPECT_EQ(topology->nodes[3].world_ranks, peers({9, 10}));
  EXPECT_EQ(topology->node_of_world[5], NodeId{1});
}

TEST(Topology, simulates_nodes_of_listed_sizes) {
  const auto topology = make_topology(one_host(7), {3, 2, 2}, HeadMode::rank);
  ASSERT_TRUE(topology) << topology.error().text();
  ASSERT_EQ(topology->node_count(), 3U);
  EXPECT_EQ(topology->nodes[0].world_ranks, peers({0, 1, 2}));
  EXPECT_EQ(topology->nodes[2].world_ranks, peers({5, 6}));
  EXPECT_EQ(topology->world_of_rank, peers({0, 1, 3, 5}));
}

TEST(Topology, says_what_the_ranks_became) {
  EXPECT_EQ(make_topology(one_host(12), {3}, HeadMode::rank)->text(), "12 ranks on 4 nodes: 8 compute, 4 heads");
  EXPECT_EQ(make_topology(one_host(2), {}, HeadMode::rank)->text(), "2 ranks on 1 node: 1 compute, 1 head");
  EXPECT_EQ(make_topology(one_host(4), {2}, HeadMode::thread)->text(),
            "4 ranks on 2 nodes: all compute, heads are threads");
  EXPECT_EQ(make_topology(one_host(1), {}, HeadMode::inline_)->text(), "1 rank on 1 node: all compute, no heads");
}

TEST(Topology, refuses_a_node_without_room_for_a_head_and_names_it) {
  EXPECT_THAT(make_topology({"a", "a", "b"}, {}, HeadMode::rank),
              Fails(Code::config, {"node b", "world rank 2", "[head] mode", "rank", "thread"}));
  EXPECT_THAT(make_topology(one_host(10), {3}, HeadMode::rank),
              Fails(Code::config,
                    {"node0003", "world rank 9", "[head] mode", "rank", "10", "[topology] node_size", "3", "thread"}));
  EXPECT_TRUE(make_topology(one_host(10), {3}, HeadMode::thread));
}

TEST(Topology, refuses_sizes_that_do_not_add_up_and_names_both_numbers) {
  EXPECT_THAT(make_topology(one_host(8), {3, 2, 2}, HeadMode::thread),
              Fails(Code::config, {"[topology] node_size", "3,2,2", "7", "8"}));
  EXPECT_THAT(make_topology(one_host(8), {4, 0, 4}, HeadMode::thread),
              Fails(Code::config, {"[topology] node_size", "4,0,4"}));
}

TEST(Topology, refuses_a_world_without_ranks) {
  EXPECT_THAT(make_topology({}, {}, HeadMode::thread), Fails(Code::invalid_argument));
}

TEST(Domains, are_numbered_as_they_appear_on_the_nodes) {
  auto topology = *make_topology({"a", "b", "c", "d"}, {}, HeadMode::thread);
  const auto status = assign_domains(topology, "# racks\nother rack9\nd rack1 # last\n\nb rack1\n a\track2\nc rack3\n");
  ASSERT_TRUE(status) << status.error().text();
  EXPECT_EQ(topology.domain_of_node, (std::vector<std::uint32_t>{0, 1, 2, 1}));
}

TEST(Domains, a_node_that_is_not_named_is_an_error) {
  auto topology = *make_topology({"a", "b"}, {}, HeadMode::thread);
  const auto status = assign_domains(topology, "a rack1\n");
  ASSERT_FALSE(status);
  EXPECT_THAT(status, Fails(Code::config, {"[topology] domains", "node b", "b <domain>"}));
  EXPECT_TRUE(topology.domain_of_node.empty());
}

TEST(Domains, a_line_that_cannot_be_is_an_error_that_names_it) {
  auto topology = *make_topology({"a"}, {}, HeadMode::thread);
  EXPECT_THAT(assign_domains(topology, "a rack1\nb\n"), Fails(Code::config, {"[topology] domains", "line 2", "b"}));
  EXPECT_THAT(assign_domains(topology, "a rack1\na rack2\n"),
              Fails(Code::config, {"[topology] domains", "line 2", "host a", "rack1", "rack2"}));
}

TEST(Seats, say_who_is_where_and_leave_a_node_without_a_head_to_its_lowest_rank) {
  const auto topology = make_topology({{"a", "node0000", false},
                                       {"b", "node0004", false},
                                       {"a", "node0000", false},
                                       {"b", "node0001", false},
                                       {"a", "node0000", true},
                                       {"b", "node0001", true}},
                                      HeadMode::rank);
  ASSERT_EQ(topology.node_count(), 3U);
  EXPECT_EQ(topology.nodes[1].name, "node0004");
  EXPECT_EQ(topology.nodes[0].head, Peer{4});
  EXPECT_EQ(topology.nodes[1].head, Peer{1});
  EXPECT_EQ(topology.nodes[2].head, Peer{5});
  EXPECT_EQ(topology.rank_count(), 4U);
  EXPECT_EQ(topology.nodes[0].ranks, (std::vector<Rank>{Rank{0}, Rank{2}}));
  for (std::uint32_t node = 0; node < 3; ++node) EXPECT_EQ(topology.runs_inline(NodeId{node}), node == 1);
  EXPECT_FALSE(topology.is_dedicated_head(Peer{1}));
  EXPECT_EQ(topology.text(), "6 ranks on 3 nodes: 4 compute, 2 heads");
}

TEST(HeadThreads, share_the_processors_that_the_ranks_of_a_host_leave_free) {
  const auto dedicated = make_topology({"a", "a", "a", "a", "b", "b"}, {}, HeadMode::rank);
  ASSERT_TRUE(dedicated);
  EXPECT_EQ(threads_of_head(*dedicated, NodeId{0}, 3), 1U);
  EXPECT_EQ(threads_of_head(*dedicated, NodeId{0}, 8), 5U);
  EXPECT_EQ(threads_of_head(*dedicated, NodeId{1}, 8), 7U);
  EXPECT_EQ(threads_of_head(*dedicated, NodeId{1}, 128), 8U);
}

TEST(HeadThreads, are_shared_by_simulated_nodes_of_one_host) {
  const auto simulated = make_topology(one_host(12), {3}, HeadMode::rank);
  ASSERT_TRUE(simulated);
  EXPECT_EQ(threads_of_head(*simulated, NodeId{2}, 2), 1U);
  EXPECT_EQ(threads_of_head(*simulated, NodeId{2}, 8), 1U);
  EXPECT_EQ(threads_of_head(*simulated, NodeId{2}, 19), 2U);
  EXPECT_EQ(threads_of_head(*simulated, NodeId{2}, 20), 3U);
}

TEST(HeadThreads, of_an_inline_head_count_the_processor_of_its_rank) {
  const auto inline_heads = make_topology(one_host(4), {2}, HeadMode::inline_);
  ASSERT_TRUE(inline_heads);
  EXPECT_EQ(threads_of_head(*inline_heads, NodeId{0}, 4), 1U);
  EXPECT_EQ(threads_of_head(*inline_heads, NodeId{0}, 8), 3U);
  const auto threads = make_topology(one_host(4), {2}, HeadMode::thread);
  ASSERT_TRUE(threads);
  EXPECT_EQ(threads_of_head(*threads, NodeId{0}, 8), 2U);
}

}  // namespace
}  // namespace cairn
