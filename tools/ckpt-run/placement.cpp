#include "placement.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/list_text.hpp"

namespace ckpt_run {
namespace {

using cairn::Code;
using cairn::Config;
using cairn::fail;
using cairn::Result;

std::string counted(std::uint32_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

// `total` in `parts` of nearly equal size, larger ones first.
std::vector<std::uint32_t> split_evenly(std::uint32_t total, std::size_t parts) {
  const auto count = static_cast<std::uint32_t>(parts);
  std::vector<std::uint32_t> sizes(parts, total / count);
  std::fill_n(sizes.begin(), total % count, total / count + 1);
  return sizes;
}

// Application ranks of each simulated node; `head`: how many ranks of a node its head takes, 0 or 1.
Result<std::vector<std::uint32_t>> simulated_nodes(std::uint32_t ranks, const Config& config, std::uint32_t head) {
  const auto& sizes = config.topology.node_size;
  const auto refuse = [&](const std::string& why) {
    return fail(Code::config, fmt::format("[topology] node_size = {}: {}", fmt::join(sizes, ","), why));
  };
  if (std::ranges::min(sizes) <= head) return refuse("each node also has a head, so it must be 2 or more");
  if (sizes.size() == 1) {
    const std::uint32_t of_a_node = sizes[0] - head;
    std::vector<std::uint32_t> nodes(ranks / of_a_node, of_a_node);
    if (ranks % of_a_node != 0) nodes.push_back(ranks % of_a_node);
    return nodes;
  }
  std::vector<std::uint32_t> nodes;
  for (const std::uint32_t size : sizes) nodes.push_back(size - head);
  const auto sum = std::accumulate(nodes.begin(), nodes.end(), std::uint64_t{0});
  if (sum != ranks)
    return refuse(
        fmt::format("beside the heads, the nodes have {} application ranks, but -n is {}; change one", sum, ranks));
  return nodes;
}

// The host of each node.
std::vector<std::size_t> hosts_of_nodes(std::size_t nodes, std::size_t hosts) {
  std::vector<std::size_t> host_of;
  const auto sizes = split_evenly(static_cast<std::uint32_t>(nodes), hosts);
  for (std::size_t host = 0; host < hosts; ++host) host_of.insert(host_of.end(), sizes[host], host);
  return host_of;
}

Result<std::uint32_t> spare_ranks(std::optional<std::uint32_t> wanted, const Config& config, std::size_t spare_hosts) {
  using Mode = Config::Recovery::Mode;
  if (config.recovery.mode == Mode::restart) {
    if (wanted.value_or(0) == 0) return 0;
    return fail(Code::invalid_argument,
                fmt::format("--spares {}: [recovery] mode = restart does not use spares", *wanted),
                "set mode = spares or respawn, or leave --spares out");
  }
  const std::uint32_t spares = wanted.value_or(config.recovery.spares);
  if (config.recovery.mode == Mode::spares) return spares;
  return std::max(spares, static_cast<std::uint32_t>(spare_hosts));
}

}  // namespace

std::uint32_t Placement::most_on_a_host() const {
  return hosts.empty() ? 0 : std::ranges::max(hosts, {}, &HostRanks::ranks).ranks;
}

std::string Placement::text() const {
  auto text = counted(application, "application rank");
  if (heads > 0) text += " + " + counted(heads, "head");
  if (spares > 0) text += " + " + counted(spares, "spare");
  text += " on " + counted(nodes, simulated ? "simulated node" : "node");
  if (simulated && hosts.size() > 1) text += " of " + counted(static_cast<std::uint32_t>(hosts.size()), "host");
  return text;
}

std::string Placement::heads_text() const {
  if (head_ranks.empty()) return {};
  return fmt::format(", whose {} {}", cairn::ranks_text(head_ranks),
                     head_ranks.size() == 1 ? "is a head" : "are heads");
}

bool has_dedicated_heads(const Config& config) {
  return config.head.mode.value_or(cairn::HeadMode::rank) == cairn::HeadMode::rank;
}

std::optional<cairn::StartedWorld> world_of(const Config& config, const Placement& placement) {
  using World = Config::Job::World;
  const bool repairs = config.recovery.mode != Config::Recovery::Mode::restart;
  const bool hides_heads = placement.heads > 0 && !repairs;
  if (config.job.world.value_or(hides_heads ? World::application : World::as_is) == World::as_is) return {};
  return cairn::StartedWorld{config.topology.node_size, placement.spares, repairs};
}

Result<Placement> place(std::uint32_t ranks, std::optional<std::uint32_t> wanted_spares, const Config& config,
                        const std::vector<std::string>& hosts, const std::vector<std::string>& spare_hosts) {
  if (hosts.empty()) return fail(Code::invalid_argument, "the list of hosts is empty", "name hosts with --hosts a,b");
  const auto spares = spare_ranks(wanted_spares, config, spare_hosts.size());
  if (!spares) return fail(spares.error());
  const std::uint32_t head = has_dedicated_heads(config) ? 1 : 0;
  const bool simulated = !config.topology.node_size.empty();
  auto nodes = simulated ? simulated_nodes(ranks, config, head) : split_evenly(ranks, hosts.size());
  if (!nodes) return fail(nodes.error());
  if (nodes->size() < hosts.size() || nodes->back() == 0) {
    return fail(Code::invalid_argument,
                fmt::format("{} cannot be placed on {}", counted(ranks, "application rank"),
                            counted(static_cast<std::uint32_t>(hosts.size()), "host")),
                "name fewer hosts, or start more ranks");
  }

  Placement placement;
  placement.application = ranks;
  placement.spares = *spares;
  placement.simulated = simulated;
  placement.nodes = static_cast<std::uint32_t>(nodes->size());
  placement.heads = head * placement.nodes;
  for (const std::string& host : hosts) placement.hosts.push_back({host, 0, {}, {}});
  const auto host_of = hosts_of_nodes(nodes->size(), hosts.size());
  std::uint32_t rank = 0;
  for (std::uint32_t node = 0; node < placement.nodes; ++node) {
    HostRanks& host = placement.hosts[host_of[node]];
    host.nodes.push_back(node);
    host.ranks += (*nodes)[node] + head;
    for (std::uint32_t i = 0; i < (*nodes)[node]; ++i) host.application_ranks.push_back(rank++);
    if (head > 0) placement.head_ranks.push_back(rank + node);
  }
  if (*spares == 0) return placement;
  if (spare_hosts.empty()) {
    placement.hosts.back().ranks += *spares;
    return placement;
  }
  const auto of_spare_hosts = split_evenly(*spares, spare_hosts.size());
  for (std::size_t i = 0; i < spare_hosts.size(); ++i) {
    if (of_spare_hosts[i] > 0) placement.hosts.push_back({spare_hosts[i], of_spare_hosts[i], {}, {}});
  }
  return placement;
}

}  // namespace ckpt_run
