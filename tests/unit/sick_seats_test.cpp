// Which nodes of a pool are sick, as all its processes know.
#include "repair/sick_seats.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace cairn {
namespace {

using Nodes = std::set<NodeId>;

std::vector<Seat> seats(std::uint32_t count) {
  std::vector<Seat> nodes;
  for (std::uint32_t i = 0; i < count; ++i)
    nodes.push_back({"c" + std::to_string(i), "node" + std::to_string(i), false});
  return nodes;
}

TEST(SickSeats, are_found_by_the_names_of_their_nodes_or_hosts) {
  const auto found = [](const SickNames& names) { return nodes_of_bits(sick_bits(names, seats(4))); };
  EXPECT_EQ(found({}), Nodes{});
  EXPECT_EQ(found({{"node1", "node9"}, {}}), Nodes{NodeId{1}});
  EXPECT_EQ(found({{"node1"}, {"c3.cluster", "c7"}}), (Nodes{NodeId{1}, NodeId{3}}));
}

TEST(SickSeats, of_a_large_pool_have_a_bit_each) {
  const auto nodes = seats(130);
  const auto bits = sick_bits({{"node0", "node63", "node64", "node129"}, {}}, nodes);
  EXPECT_EQ(bits.size(), 3U);
  EXPECT_EQ(nodes_of_bits(bits), (Nodes{NodeId{0}, NodeId{63}, NodeId{64}, NodeId{129}}));
  EXPECT_EQ(sick_bits({}, nodes).size(), 3U) << "all processes send as much";
}

TEST(SickSeats, make_their_hosts_sick) {
  const std::vector<Seat> nodes{{"a", "n0", false}, {"a", "n1", false}, {"b", "n2", false}};
  EXPECT_EQ(hosts_of({NodeId{1}}, nodes), std::set<std::string>{"a"});
  EXPECT_EQ(hosts_of({NodeId{0}, NodeId{2}}, nodes), (std::set<std::string>{"a", "b"}));
}

}  // namespace
}  // namespace cairn
