#include <algorithm>

#include <fmt/format.h>

#include "base/plain_text.hpp"
#include "commands.hpp"
#include "inspection.hpp"
#include "other_ranks.hpp"
#include "store/names.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::LevelId;
using cairn::NodeId;
using cairn::Rank;
using cairn::RegionInfo;
using Rows = std::vector<std::vector<std::string>>;

// Of a region with more extents than that, the ranks are summed up.
constexpr std::size_t kMostExtents = 8;

// A region on all ranks where it has this extent.
struct Extent {
  RegionInfo info;  // of the first of these ranks
  std::vector<Rank> ranks;
  std::vector<std::vector<std::uint64_t>> offsets;  // by rank, where the region is part of a global array
};

// A region on all ranks where it has this name and type.
using Extents = std::vector<Extent>;

bool are_one_region(const RegionInfo& a, const RegionInfo& b) { return a.name == b.name && cairn::same_type(a, b); }

Extent& extent_of(Extents& extents, const RegionInfo& info) {
  const auto same = std::ranges::find_if(extents, [&](const Extent& extent) {
    return extent.info.shape == info.shape && extent.info.global_shape == info.global_shape;
  });
  return same != extents.end() ? *same : extents.emplace_back(Extent{info, {}, {}});
}

// In the order of the first rank that has each.
std::vector<Extents> fold_regions(const std::vector<RegionGroup>& groups) {
  std::vector<Extents> folded;
  std::multimap<std::string, std::size_t> by_name;  // positions in `folded`
  for (const RegionGroup& group : groups) {
    for (const RegionInfo& info : group.regions) {
      auto [found, end] = by_name.equal_range(info.name);
      while (found != end && !are_one_region(folded[found->second].front().info, info)) ++found;
      if (found == end) {
        found = by_name.emplace(info.name, folded.size());
        folded.emplace_back();
      }
      Extent& extent = extent_of(folded[found->second], info);
      extent.ranks.insert(extent.ranks.end(), group.ranks.begin(), group.ranks.end());
      extent.offsets.insert(extent.offsets.end(), group.ranks.size(), info.global_offset);
    }
  }
  return folded;
}

std::string bracketed(const std::vector<std::uint64_t>& numbers) {
  std::string text;
  for (const std::uint64_t number : numbers) text += fmt::format("[{}]", number);
  return text;
}

std::string sizes_text(std::uint64_t least, std::uint64_t most, std::size_t count) {
  if (least != most) return fmt::format("{} to {} each", size_text(least), size_text(most));
  return size_text(least) + (count == 1 ? "" : " each");
}

// "ranks 0-47: plate float64[600][960], 4.4 MiB each, part of [28800][960]"
std::string text_of(const Extent& extent, bool offsets) {
  const RegionInfo& info = extent.info;
  const std::uint64_t bytes = info.size_bytes();
  std::string text = fmt::format("  {}: {} {}, {}", ranks_text(extent.ranks), cairn::escaped_for_terminal(info.name),
                                 info.type_text(), sizes_text(bytes, bytes, extent.ranks.size()));
  if (info.global_shape.empty()) return text + "\n";
  text += fmt::format(", part of {}\n", bracketed(info.global_shape));
  if (!offsets) return text;
  for (std::size_t i = 0; i < extent.ranks.size(); ++i)
    text += fmt::format("    rank {} at {}\n", extent.ranks[i].value, bracketed(extent.offsets[i]));
  return text;
}

// "ranks 0-47: particles float64, 48 shapes, 6.2 KiB to 8.1 KiB each, part of [40000]"
std::string summary_of(const Extents& extents) {
  const RegionInfo& first = extents.front().info;
  RegionInfo element = first;
  element.shape.clear();
  std::vector<Rank> ranks;
  std::uint64_t least = first.size_bytes();
  std::uint64_t most = least;
  bool one_array = !first.global_shape.empty();
  for (const auto& [info, some, offsets] : extents) {
    ranks.insert(ranks.end(), some.begin(), some.end());
    least = std::min(least, info.size_bytes());
    most = std::max(most, info.size_bytes());
    one_array = one_array && info.global_shape == first.global_shape;
  }
  return fmt::format("  {}: {} {}, {}, {}{}\n", ranks_text(ranks), cairn::escaped_for_terminal(element.name),
                     element.type_text(), count_text(extents.size(), "shape"), sizes_text(least, most, ranks.size()),
                     one_array ? ", part of " + bracketed(first.global_shape) : "");
}

std::string regions_text(const Inspection& of, bool details) {
  std::string text = "\nregions\n";
  for (const Extents& extents : fold_regions(of.regions)) {
    if (!details && extents.size() > kMostExtents) {
      text += summary_of(extents);
      continue;
    }
    for (const Extent& extent : extents) text += text_of(extent, details);
  }
  for (const RegionGroup& group : of.regions) {
    if (!group.why_not.empty()) text += fmt::format("  {}: {}\n", ranks_text(group.ranks), group.why_not);
  }
  return text;
}

std::string notes_text(const cairn::SnapshotNotes& notes) {
  std::string text;
  if (!notes.label.empty()) text += fmt::format("label \"{}\"\n", cairn::escaped_for_terminal(notes.label));
  if (notes.attributes.empty()) return text;
  text += "\nattributes\n";
  for (const cairn::Attribute& attribute : notes.attributes) text += "  " + cairn::text_of(attribute) + "\n";
  return text;
}

std::string parity_text(const Home& home) {
  if (home.holding == nullptr || !home.holding->erasure) return "-";
  std::string text;
  for (const auto& entry : home.holding->erasure->parity)
    text += fmt::format("{}column {} row {}", text.empty() ? "" : ", ", entry.column, entry.row);
  return text.empty() ? "-" : text;
}

Rows node_rows(const Inspection& of) {
  const auto& layout = of.snapshot.layout;
  Rows rows{{"  node", "ranks", "copies on", "group", "parity here", "store"}};
  const auto turn = turn_of(of);
  for (std::uint32_t node = 0; node < layout.nodes; ++node) {
    const Home home = home_of(of, NodeId{node});
    rows.push_back({fmt::format("  {}", node), ranks_text(layout.ranks_on(NodeId{node})),
                    turn ? nodes_text(partners_of(layout, NodeId{node}, *turn)) : "-",
                    layout.groups.empty() ? "-" : nodes_text(layout.groups[layout.place_in_group(NodeId{node}).group]),
                    parity_text(home), home.where.empty() ? "not found" : home.where});
  }
  return rows;
}

// Nodes with as many ranks and stores in similar places share a row.
Rows folded_node_rows(const Inspection& of) {
  const auto& layout = of.snapshot.layout;
  struct Alike {
    std::vector<NodeId> nodes;
    std::vector<std::string> stores;
  };
  std::map<std::pair<bool, std::size_t>, Alike> by_kind;
  for (std::uint32_t node = 0; node < layout.nodes; ++node) {
    const std::string where = home_of(of, NodeId{node}).where;
    Alike& alike = by_kind[{where.empty(), layout.ranks_on(NodeId{node}).size()}];
    alike.nodes.push_back(NodeId{node});
    alike.stores.push_back(where);
  }
  Rows rows;
  for (const auto& [kind, alike] : by_kind) {
    for (const PathGroup& places : fold_paths(alike.stores)) {
      std::vector<NodeId> nodes;
      std::vector<Rank> ranks;
      for (const std::size_t member : places.members) {
        nodes.push_back(alike.nodes[member]);
        for (const Rank rank : layout.ranks_on(nodes.back())) ranks.push_back(rank);
      }
      rows.push_back({"  " + nodes_text(nodes),
                      ranks_text(ranks) + (nodes.size() == 1 ? "" : fmt::format(" ({} on each)", kind.second)),
                      kind.first ? "not found" : places.pattern});
    }
  }
  return rows;
}

std::string layout_text(const Inspection& of, bool details) {
  const auto& layout = of.snapshot.layout;
  const std::string sick =
      layout.avoided.empty() ? "" : fmt::format("; sick, and avoided: {}", nodes_text(layout.avoided));
  return fmt::format("\nlayout {}: {}, {} of each shard, {} in {}{}\n{}", cairn::names::hex(layout.id()),
                     count_text(layout.nodes, "node"),
                     layout.copies == 1 ? "1 copy" : fmt::format("{} copies", layout.copies),
                     count_text(layout.parity, "parity row"), count_text(layout.groups.size(), "group"), sick,
                     table_text(details ? node_rows(of) : folded_node_rows(of)));
}

Rows file_rows(const Inspection& of) {
  Rows rows;
  for (const Located& file : of.files) {
    rows.push_back({"  " + level_text(file.level), file.ranks.empty() ? "parity" : ranks_text(file.ranks),
                    size_text(file.bytes), file.path});
  }
  return rows;
}

// Files of a level whose paths differ in numbers only share a row.
Rows folded_file_rows(const Inspection& of) {
  std::map<std::pair<LevelId, bool>, std::vector<const Located*>> by_kind;
  for (const Located& file : of.files) by_kind[{file.level, file.ranks.empty()}].push_back(&file);
  Rows rows;
  for (const auto& [kind, files] : by_kind) {
    std::vector<std::string> paths;
    for (const Located* file : files) paths.push_back(file->path);
    for (const PathGroup& places : fold_paths(paths)) {
      std::vector<Rank> ranks;
      std::uint64_t least = files[places.members.front()]->bytes;
      std::uint64_t most = least;
      for (const std::size_t member : places.members) {
        const Located& file = *files[member];
        ranks.insert(ranks.end(), file.ranks.begin(), file.ranks.end());
        least = std::min(least, file.bytes);
        most = std::max(most, file.bytes);
      }
      rows.push_back({"  " + level_text(kind.first), kind.second ? "parity" : ranks_text(ranks),
                      count_text(places.members.size(), "file"), sizes_text(least, most, places.members.size()),
                      places.pattern});
    }
  }
  return rows;
}

}  // namespace

Home home_of(const Inspection& of, NodeId node) {
  for (const cairn::StoreId holder : of.survey.node_stores()) {
    const auto* manifest = find_manifest(of.survey, holder, of.snapshot.identity);
    const cairn::Holding* holding = manifest != nullptr ? manifest->find(of.snapshot.layout.id()) : nullptr;
    if (holding != nullptr && holding->node == node) return {of.opened.stores.at(holder).where(), holding};
  }
  return {};
}

std::optional<std::uint64_t> turn_of(const Inspection& of) {
  for (std::uint32_t node = 0; node < of.snapshot.layout.nodes; ++node) {
    const Home home = home_of(of, NodeId{node});
    if (home.holding != nullptr && home.holding->partner) return home.holding->partner->turn;
  }
  return {};
}

std::string inspection_text(const Inspection& of, bool details) {
  std::string text = fmt::format("job {}: {}: {}, {}\n", of.opened.job, identity_text(of.snapshot.identity),
                                 levels_text(of.snapshot), size_text(of.snapshot.bytes));
  text += notes_text(of.snapshot.notes);
  text += regions_text(of, details);
  const auto on_ranks = regions_on_ranks(of.regions);
  if (!on_ranks.empty()) text += "\n" + other_ranks_text(on_ranks);
  text += layout_text(of, details);
  text += "\nfiles\n" + table_text(details ? file_rows(of) : folded_file_rows(of));
  if (!details) text += "\nThe option --details shows each rank, node and file.\n";
  return text;
}

}  // namespace ckpt_tool
