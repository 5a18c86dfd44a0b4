#include "format/layout_json.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "store/names.hpp"

namespace cairn {
namespace {

// More ranks or nodes than any machine has; limits the memory that a damaged file can make Cairn allocate.
constexpr std::uint64_t kMostLayoutRanks = 1U << 24U;

// [node, count] for every run of consecutive ranks on one node.
Json run_lengths(const std::vector<NodeId>& nodes) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < nodes.size();) {
    std::size_t end = i;
    while (end < nodes.size() && nodes[end] == nodes[i]) ++end;
    runs.push_back({nodes[i].value, end - i});
    i = end;
  }
  return runs;
}

std::vector<NodeId> nodes_of_runs(const JsonView& from, std::uint32_t nodes) {
  std::vector<NodeId> all;
  for (std::size_t i = 0; i < from.size() && from.good(); ++i) {
    const JsonView run = from.at(i);
    run.expect_size(2);
    const NodeId node{run.at(0).below(nodes)};
    const std::uint64_t count = run.at(1).number(kMostLayoutRanks - all.size());
    all.insert(all.end(), count, node);
  }
  return all;
}

std::vector<std::vector<NodeId>> groups_of(const JsonView& from, std::uint32_t nodes, std::uint32_t parity) {
  std::vector<std::vector<NodeId>> groups;
  std::vector<bool> seen(nodes);
  std::size_t members = 0;
  for (std::size_t g = 0; g < from.size() && from.good(); ++g) {
    const JsonView group = from.at(g);
    if (group.size() <= parity || parity == 0) {
      group.complain(fmt::format(
          "has {} nodes and {} parity rows, should have more nodes than parity rows and at least 1 parity row",
          group.size(), parity));
    }
    groups.emplace_back();
    for (std::size_t i = 0; i < group.size() && group.good(); ++i) {
      const std::uint32_t node = group.at(i).below(nodes);
      if (!group.good()) break;
      if (seen[node]) group.at(i).complain(fmt::format("repeats node {}", node));
      seen[node] = true;
      groups.back().push_back({node});
      ++members;
    }
  }
  if (from.good() && !groups.empty() && members != nodes) {
    from.complain(fmt::format("name {} nodes, should name all {}", members, nodes));
  }
  return groups;
}

}  // namespace

Json json_of(const Layout& layout) {
  Json json;
  json["id"] = names::hex(layout.id());
  json["nodes"] = layout.nodes;
  json["ranks"] = run_lengths(layout.node_of_rank);
  json["domains"] = layout.domain_of_node;
  json["copies"] = layout.copies;
  json["rotation"] = layout.rotation;
  Json groups = Json::array();
  for (const auto& group : layout.groups) {
    Json members = Json::array();
    for (const NodeId node : group) members.push_back(node.value);
    groups.push_back(std::move(members));
  }
  json["groups"] = std::move(groups);
  json["parity"] = layout.parity;
  if (layout.arrangement != 0) json["arrangement"] = layout.arrangement;
  if (!layout.avoided.empty()) {
    Json avoided = Json::array();
    for (const NodeId node : layout.avoided) avoided.push_back(node.value);
    json["avoided"] = std::move(avoided);
  }
  return json;
}

Layout layout_of(const JsonView& from) {
  Layout layout;
  layout.nodes = static_cast<std::uint32_t>(from["nodes"].number(kMostLayoutRanks));
  layout.node_of_rank = nodes_of_runs(from["ranks"], layout.nodes);
  const JsonView domains = from["domains"];
  if (domains.size() != 0) domains.expect_size(layout.nodes);
  for (std::size_t i = 0; i < domains.size() && from.good(); ++i) {
    layout.domain_of_node.push_back(domains.at(i).number32());
  }
  layout.copies = from["copies"].number32();
  if (from.good() && layout.copies != 0) (void)from["copies"].below(layout.nodes);
  layout.rotation = from["rotation"].number32();
  if (from.good() && layout.rotation == 0) from["rotation"].complain("is 0, should be 1 or more");
  layout.parity = from["parity"].number32();
  if (from.has("arrangement")) layout.arrangement = from["arrangement"].number32();
  if (from.has("avoided")) {
    const JsonView avoided = from["avoided"];
    for (std::size_t i = 0; i < avoided.size() && avoided.good(); ++i)
      layout.avoided.push_back({avoided.at(i).below(layout.nodes)});
    if (avoided.good() && layout.avoided.empty()) avoided.complain("names no node, should name some or be left out");
  }
  layout.groups = groups_of(from["groups"], layout.nodes, layout.parity);
  const JsonView id = from["id"];
  const std::string stored = id.text();
  if (!from.good()) return layout;
  if (const std::string real = names::hex(layout.id()); stored != real) {
    id.complain(fmt::format("is \"{}\", should be \"{}\" for this layout", stored, real));
  }
  if (const auto possible = check(layout); !possible) from.complain("is impossible: " + possible.error().message);
  return layout;
}

Json json_of(const std::vector<ShardEntry>& shards) {
  Json json = Json::array();
  for (const auto& shard : shards) {
    json.push_back(Json{{"rank", shard.rank.value}, {"bytes", shard.bytes}, {"sha256", shard.digest.hex()}});
  }
  return json;
}

std::vector<ShardEntry> shards_of(const JsonView& from, const Layout& layout) {
  std::vector<ShardEntry> shards;
  std::vector<std::uint32_t> ranks;
  for (std::size_t i = 0; i < from.size() && from.good(); ++i) {
    const JsonView shard = from.at(i);
    ShardEntry entry;
    entry.rank = {shard["rank"].below(layout.node_of_rank.size())};
    entry.bytes = shard["bytes"].number();
    entry.digest = digest_of(shard["sha256"]);
    ranks.push_back(entry.rank.value);
    shards.push_back(entry);
  }
  std::ranges::sort(ranks);
  const auto twice = std::ranges::adjacent_find(ranks);
  if (twice != ranks.end()) from.complain(fmt::format("name rank {} twice", *twice));
  return shards;
}

void put_identity(Json& to, const Identity& identity) {
  to["incarnation"] = identity.incarnation.value;
  to["version"] = identity.version.value;
  to["run"] = names::hex(identity.run);
}

Identity identity_of(const JsonView& from) {
  const auto number = [&](const char* key) { return static_cast<std::uint32_t>(from[key].number(names::kLastNumber)); };
  return {{number("incarnation")}, {number("version")}, run_of(from["run"])};
}

RunId run_of(const JsonView& from) {
  const std::string text = from.text();
  const auto run = names::parse_run(text);
  if (!run && from.good()) from.complain(fmt::format("is \"{}\", should be 16 hex digits", text));
  return run.value_or(RunId{});
}

Sha256 digest_of(const JsonView& from) {
  const std::string text = from.text();
  const auto digest = Sha256::from_hex(text);
  if (!digest && from.good()) from.complain(fmt::format("is \"{}\", should be 64 hex digits", text));
  return digest.value_or(Sha256{});
}

}  // namespace cairn
