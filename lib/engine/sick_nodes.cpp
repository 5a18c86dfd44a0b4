#include "engine/sick_nodes.hpp"

#include <string>

#include "localize/action.hpp"
#include "store/names.hpp"
#include "topology/host_name.hpp"

namespace cairn {

std::vector<NodeId> sick_nodes(const std::vector<HealthEntry>& entries, const Topology& topology,
                               std::chrono::seconds today) {
  const auto hosts = topology.hosts();
  std::vector<bool> sick(hosts.size());
  for (const HealthEntry& entry : entries) {
    if (entry.expired(static_cast<std::uint64_t>(today.count())) || !localize::calls_for_avoiding(entry.verdict))
      continue;
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

std::vector<NodeId> read_sick_nodes(const NodeContext& node, const Topology& topology, const Sealer& sealer) {
  const auto text = read_text(*node.global, names::health(), kMostHealthBytes);
  if (!text && text.error().code == Code::not_found) return {};
  const auto health = text.and_then([&](const std::string& whole) { return parse_health_file(whole, sealer); });
  if (!health) {
    node.log.warning("{}; no node is avoided because of it", health.error().in_file(names::health().path).text());
    return {};
  }
  const auto today = std::chrono::system_clock::now().time_since_epoch();
  return sick_nodes(health->entries, topology, std::chrono::duration_cast<std::chrono::seconds>(today));
}

}  // namespace cairn
