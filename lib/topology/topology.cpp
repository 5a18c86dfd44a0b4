#include "topology/topology.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace cairn {
namespace {

std::string counted(std::size_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

Peer peer_of(std::size_t world) { return Peer{static_cast<std::uint32_t>(world)}; }

Node named(std::string name) {
  Node node;
  node.name = std::move(name);
  return node;
}

std::vector<Node> nodes_by_host(const std::vector<std::string>& host_of_world) {
  std::vector<Node> nodes;
  std::map<std::string, std::size_t> node_of_host;
  for (std::size_t world = 0; world < host_of_world.size(); ++world) {
    const auto [at, is_new] = node_of_host.try_emplace(host_of_world[world], nodes.size());
    if (is_new) nodes.push_back(named(host_of_world[world]));
    nodes[at->second].world_ranks.push_back(peer_of(world));
  }
  return nodes;
}

// One size for all, or one a node → one a node that sum to `world_size`.
Result<std::vector<std::uint32_t>> expand_sizes(const std::vector<std::uint32_t>& sizes, std::size_t world_size) {
  if (std::find(sizes.begin(), sizes.end(), 0U) != sizes.end()) {
    return fail(Code::config,
                fmt::format("[topology] node_size = {}: a node must have at least one rank", fmt::join(sizes, ",")));
  }
  if (sizes.size() == 1) {
    std::vector<std::uint32_t> all(world_size / sizes[0], sizes[0]);
    if (const auto rest = world_size % sizes[0]; rest != 0) all.push_back(static_cast<std::uint32_t>(rest));
    return all;
  }
  const auto sum = std::accumulate(sizes.begin(), sizes.end(), std::uint64_t{0});
  if (sum != world_size) {
    return fail(Code::config, fmt::format("[topology] node_size = {}: the nodes have {} in all, but {} were started",
                                          fmt::join(sizes, ","), counted(sum, "rank"), world_size));
  }
  return sizes;
}

Result<std::vector<Node>> nodes_by_size(std::size_t world_size, const std::vector<std::uint32_t>& node_sizes) {
  const auto sizes = expand_sizes(node_sizes, world_size);
  if (!sizes) return fail(sizes.error());
  std::vector<Node> nodes;
  std::size_t world = 0;
  for (const auto size : *sizes) {
    Node node = named(fmt::format("node{:04}", nodes.size()));
    for (std::uint32_t i = 0; i < size; ++i) node.world_ranks.push_back(peer_of(world++));
    nodes.push_back(std::move(node));
  }
  return nodes;
}

Status check_room_for_heads(const std::vector<Node>& nodes, const std::vector<std::uint32_t>& node_sizes,
                            std::size_t world_size) {
  for (const auto& node : nodes) {
    if (node.world_ranks.size() >= 2) continue;
    auto message = fmt::format("node {} has only world rank {}, but [head] mode = rank needs one rank for the head",
                               node.name, node.world_ranks[0].value);
    if (node_sizes.size() == 1 && node_sizes[0] > 1) {
      message += fmt::format(": {} ranks are not a multiple of [topology] node_size = {}", world_size, node_sizes[0]);
    }
    return fail(Code::config, message, "start one rank more per node, or set [head] mode = thread");
  }
  return {};
}

// Fills in the numbers of ranks and nodes, once nodes have their world ranks and heads.
void number_ranks(Topology& topology) {
  topology.node_of_world.resize(topology.host_of_world.size());
  for (std::uint32_t i = 0; i < topology.node_count(); ++i) {
    for (const auto world : topology.nodes[i].world_ranks) topology.node_of_world[world.value] = NodeId{i};
  }
  for (std::size_t world = 0; world < topology.host_of_world.size(); ++world) {
    if (topology.is_dedicated_head(peer_of(world))) continue;
    topology.nodes[topology.node_of_world[world].value].ranks.push_back(Rank{topology.rank_count()});
    topology.world_of_rank.push_back(peer_of(world));
  }
}

}  // namespace

bool Topology::is_dedicated_head(Peer world) const {
  const Node& node = nodes[node_of_world[world.value].value];
  return node.dedicated_head && node.head == world;
}

bool Topology::runs_inline(NodeId node) const { return mode != HeadMode::thread && !nodes[node.value].dedicated_head; }

std::vector<std::string> Topology::hosts() const {
  std::vector<std::string> hosts;
  for (const Node& node : nodes) hosts.push_back(host_of_world[node.head.value]);
  return hosts;
}

std::string Topology::text() const {
  const auto where = counted(node_of_world.size(), "rank") + " on " + counted(nodes.size(), "node");
  if (mode == HeadMode::thread) return where + ": all compute, heads are threads";
  const auto heads = static_cast<std::size_t>(std::ranges::count_if(nodes, &Node::dedicated_head));
  if (heads == 0) return where + ": all compute, no heads";
  return fmt::format("{}: {} compute, {}", where, rank_count(), counted(heads, "head"));
}

Result<Topology> make_topology(const std::vector<std::string>& host_of_world,
                               const std::vector<std::uint32_t>& node_sizes, HeadMode mode) {
  if (host_of_world.empty()) return fail(Code::invalid_argument, "the world has no ranks; it needs at least one");

  Topology topology;
  topology.mode = mode;
  topology.host_of_world = host_of_world;
  if (node_sizes.empty()) {
    topology.nodes = nodes_by_host(host_of_world);
  } else {
    auto nodes = nodes_by_size(host_of_world.size(), node_sizes);
    if (!nodes) return fail(nodes.error());
    topology.nodes = *std::move(nodes);
  }
  if (mode == HeadMode::rank) {
    if (auto room = check_room_for_heads(topology.nodes, node_sizes, host_of_world.size()); !room) {
      return fail(room.error());
    }
  }

  for (auto& node : topology.nodes) {
    node.dedicated_head = mode == HeadMode::rank;
    node.head = node.dedicated_head ? node.world_ranks.back() : node.world_ranks.front();
  }
  number_ranks(topology);
  return topology;
}

Topology make_topology(const std::vector<Seat>& seats, HeadMode mode) {
  Topology topology;
  topology.mode = mode;
  std::vector<std::string> node_of_world;
  for (const Seat& seat : seats) {
    topology.host_of_world.push_back(seat.host);
    node_of_world.push_back(seat.node);
  }
  topology.nodes = nodes_by_host(node_of_world);
  for (auto& node : topology.nodes) {
    const auto head = std::ranges::find_if(node.world_ranks, [&](Peer world) { return seats[world.value].head; });
    node.dedicated_head = head != node.world_ranks.end();
    node.head = node.dedicated_head ? *head : node.world_ranks.front();
  }
  number_ranks(topology);
  return topology;
}

std::uint32_t threads_of_head(const Topology& topology, NodeId node, std::uint32_t processors) {
  constexpr std::uint32_t kMost = 8;
  const std::string& host = topology.host_of_world[topology.nodes[node.value].head.value];
  const auto is_here = [&](Peer world) { return topology.host_of_world[world.value] == host; };
  const auto ranks = static_cast<std::uint32_t>(std::ranges::count_if(topology.world_of_rank, is_here));
  const auto heads = static_cast<std::uint32_t>(std::ranges::count_if(topology.nodes, is_here, &Node::head));
  // Heads share the free processors, because they work at the same time, after the same snapshot. An inline head also
  // has its rank's processor.
  const std::uint32_t free = processors > ranks ? processors - ranks : 0;
  return std::clamp(free / heads + (topology.runs_inline(node) ? 1 : 0), 1U, kMost);
}

Status assign_domains(Topology& topology, const std::string& text) {
  std::map<std::string, std::string> domain_of_host;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string host;
    std::string domain;
    std::string more;
    if (!(words >> host)) continue;
    if (!(words >> domain) || words >> more) {
      return fail(Code::config,
                  fmt::format("[topology] domains: line {}: \"{}\" is not a host and its domain", number, line),
                  "write two words per line: host domain");
    }
    const auto [at, is_new] = domain_of_host.try_emplace(host, domain);
    if (!is_new && at->second != domain) {
      return fail(Code::config,
                  fmt::format("[topology] domains: line {}: host {} is in domain {}, but was in {} before", number,
                              host, domain, at->second),
                  "name each host once");
    }
  }

  // Domains are numbered as they appear, so that every rank gets the same numbers.
  std::vector<std::uint32_t> domains;
  std::map<std::string, std::uint32_t> numbers;
  for (const auto& node : topology.nodes) {
    const auto found = domain_of_host.find(node.name);
    if (found == domain_of_host.end()) {
      return fail(Code::config, fmt::format("[topology] domains: node {} has no domain", node.name),
                  fmt::format("add a line \"{} <domain>\"", node.name));
    }
    domains.push_back(numbers.try_emplace(found->second, static_cast<std::uint32_t>(numbers.size())).first->second);
  }
  topology.domain_of_node = std::move(domains);
  return {};
}

}  // namespace cairn
