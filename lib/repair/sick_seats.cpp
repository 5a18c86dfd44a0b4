#include "repair/sick_seats.hpp"

#include <algorithm>

#include "topology/host_name.hpp"

namespace cairn {
namespace {

constexpr std::size_t kBitsPerWord = 64;

}  // namespace

std::vector<std::uint64_t> sick_bits(const SickNames& names, std::span<const Seat> nodes) {
  std::vector<std::uint64_t> bits((nodes.size() + kBitsPerWord - 1) / kBitsPerWord);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto is_here = [&](const std::string& host) { return same_host(host, nodes[i].host); };
    if (names.nodes.contains(nodes[i].node) || std::ranges::any_of(names.hosts, is_here))
      bits[i / kBitsPerWord] |= std::uint64_t{1} << (i % kBitsPerWord);
  }
  return bits;
}

std::set<NodeId> nodes_of_bits(std::span<const std::uint64_t> bits) {
  std::set<NodeId> nodes;
  for (std::size_t i = 0; i < bits.size() * kBitsPerWord; ++i) {
    if ((bits[i / kBitsPerWord] >> (i % kBitsPerWord) & 1U) != 0) nodes.insert(NodeId{static_cast<std::uint32_t>(i)});
  }
  return nodes;
}

std::set<std::string> hosts_of(const std::set<NodeId>& sick, std::span<const Seat> nodes) {
  std::set<std::string> hosts;
  for (const NodeId node : sick) {
    if (node.value < nodes.size()) hosts.insert(nodes[node.value].host);
  }
  return hosts;
}

}  // namespace cairn
