#include "engine/sick_nodes.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "localize/action.hpp"
#include "store/names.hpp"
#include "topology/host_name.hpp"

namespace cairn {
namespace {

bool is_to_be_avoided(const HealthEntry& entry, std::chrono::seconds today) {
  return !entry.expired(static_cast<std::uint64_t>(today.count())) && localize::calls_for_avoiding(entry.verdict);
}

}  // namespace

std::vector<NodeId> sick_nodes(const std::vector<HealthEntry>& entries, const Topology& topology,
                               std::chrono::seconds today) {
  const auto hosts = topology.hosts();
  std::vector<bool> sick(hosts.size());
  for (const HealthEntry& entry : entries) {
    if (!is_to_be_avoided(entry, today)) continue;
    const std::uint32_t number = entry.verdict.suspect.node.value;
    if (number < hosts.size() && same_host(hosts[number], entry.host)) {
      sick[number] = true;
      continue;
    }
    for (std::size_t i = 0; i < hosts.size(); ++i) sick[i] = sick[i] || same_host(hosts[i], entry.host);
  }
  std::vector<NodeId> nodes;
  for (std::uint32_t i = 0; i < sick.size(); ++i)
    if (sick[i]) nodes.push_back(NodeId{i});
  return nodes;
}

std::vector<std::string> sick_hosts_elsewhere(const std::vector<HealthEntry>& entries, const Topology& topology,
                                              std::chrono::seconds today) {
  const auto hosts = topology.hosts();
  std::set<std::string> elsewhere;
  for (const HealthEntry& entry : entries) {
    const auto is_it = [&](const std::string& host) { return same_host(host, entry.host); };
    if (is_to_be_avoided(entry, today) && std::ranges::none_of(hosts, is_it)) elsewhere.insert(entry.host);
  }
  return {elsewhere.begin(), elsewhere.end()};
}

SickPlaces read_sick_nodes(const NodeContext& node, const Topology& topology, const Sealer& sealer) {
  const auto text = read_text(*node.global, names::health(), kMostHealthBytes);
  if (!text && text.error().code == Code::not_found) return {};
  const auto health = text.and_then([&](const std::string& whole) { return parse_health_file(whole, sealer); });
  if (!health) {
    node.log.warning("{}; no node is avoided because of it", health.error().in_file(names::health().path).text());
    return {};
  }
  const auto today = seconds_of_today();
  return {sick_nodes(health->entries, topology, today), sick_hosts_elsewhere(health->entries, topology, today)};
}

}  // namespace cairn
