// The bytes of a Layout. Lists are stored as runs (first, step, count), so that the usual numberings (blocks of
// ranks, round robin, groups of neighbours) take a few bytes a node and not a few a rank.
#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "topology/layout.hpp"

namespace cairn {
namespace {

constexpr std::uint32_t kLayoutFormat = 1;       // never change
constexpr std::uint32_t kMaxListed = 1U << 24U;  // far above any machine; a damaged count must not take all memory

void put_runs(ByteWriter& out, const std::vector<std::uint32_t>& values) {
  struct Run {
    std::uint32_t first, step, count;
  };
  std::vector<Run> runs;
  for (const std::uint32_t value : values) {
    if (!runs.empty()) {
      auto& run = runs.back();
      if (run.count == 1) run.step = value - run.first;  // modulo 2^32, so a step may go back
      if (value == static_cast<std::uint32_t>(run.first + run.step * run.count)) {
        ++run.count;
        continue;
      }
    }
    runs.push_back(Run{value, 0, 1});
  }
  out.put(static_cast<std::uint32_t>(values.size()));
  out.put(static_cast<std::uint32_t>(runs.size()));
  for (const auto& run : runs) {
    out.put(run.first);
    out.put(run.step);
    out.put(run.count);
  }
}

Result<std::vector<std::uint32_t>> get_runs(ByteReader& in, std::string_view what) {
  const auto total = in.get<std::uint32_t>();
  const auto runs = in.get<std::uint32_t>();
  if (total > kMaxListed || runs > total || std::uint64_t{runs} * 12 > in.remaining()) {
    return fail(Code::corrupt, fmt::format("layout: {}: {} values in {} runs do not fit into {} bytes", what, total,
                                           runs, in.remaining()));
  }
  std::vector<std::uint32_t> values;
  values.reserve(total);
  for (std::uint32_t r = 0; r < runs; ++r) {
    auto value = in.get<std::uint32_t>();
    const auto step = in.get<std::uint32_t>();
    const auto count = in.get<std::uint32_t>();
    if (count == 0 || count > total - values.size()) {
      return fail(Code::corrupt, fmt::format("layout: {}: run {} has {} values, should have 1 to {}", what, r, count,
                                             total - values.size()));
    }
    for (std::uint32_t i = 0; i < count; ++i, value += step) values.push_back(value);
  }
  if (values.size() != total) {
    return fail(Code::corrupt, fmt::format("layout: {}: {} values, should be {}", what, values.size(), total));
  }
  return values;
}

std::vector<std::uint32_t> numbers_of(const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> numbers;
  numbers.reserve(nodes.size());
  for (const auto node : nodes) numbers.push_back(node.value);
  return numbers;
}

Result<std::vector<NodeId>> get_nodes(ByteReader& in, std::string_view what, std::uint32_t nodes) {
  const auto numbers = get_runs(in, what);
  if (!numbers) return fail(numbers.error());
  std::vector<NodeId> out;
  out.reserve(numbers->size());
  for (const auto number : *numbers) {
    if (number >= nodes) {
      return fail(Code::corrupt, fmt::format("layout: {}: node {}, should be below {}", what, number, nodes));
    }
    out.push_back(NodeId{number});
  }
  return out;
}

Result<std::vector<std::vector<NodeId>>> get_groups(ByteReader& in, std::uint32_t nodes) {
  const auto sizes = get_runs(in, "group sizes");
  if (!sizes) return fail(sizes.error());
  const auto members = get_nodes(in, "group members", nodes);
  if (!members) return fail(members.error());
  std::vector<std::vector<NodeId>> groups;
  std::size_t from = 0;
  for (const auto size : *sizes) {
    if (size > members->size() - from) {
      return fail(Code::corrupt, fmt::format("layout: group {} has {} members, but {} are left", groups.size(), size,
                                             members->size() - from));
    }
    const auto first = members->begin() + static_cast<std::ptrdiff_t>(from);
    groups.emplace_back(first, first + size);
    from += size;
  }
  if (from != members->size()) {
    return fail(Code::corrupt,
                fmt::format("layout: {} group members are listed, but {} are in groups", members->size(), from));
  }
  return groups;
}

Status read_lists(ByteReader& in, Layout& layout) {
  auto node_of_rank = get_nodes(in, "nodes of ranks", layout.nodes);
  if (!node_of_rank) return fail(node_of_rank.error());
  layout.node_of_rank = *std::move(node_of_rank);
  auto domains = get_runs(in, "domains of nodes");
  if (!domains) return fail(domains.error());
  layout.domain_of_node = *std::move(domains);
  if (!layout.domain_of_node.empty() && layout.domain_of_node.size() != layout.nodes) {
    return fail(Code::corrupt,
                fmt::format("layout: {} nodes have domains, should be {}", layout.domain_of_node.size(), layout.nodes));
  }
  auto groups = get_groups(in, layout.nodes);
  if (!groups) return fail(groups.error());
  layout.groups = *std::move(groups);
  return {};
}

}  // namespace

Buffer encode(const Layout& layout) {
  ByteWriter out;
  out.put(kLayoutFormat);
  out.put(layout.nodes);
  out.put(layout.copies);
  out.put(layout.rotation);
  out.put(layout.parity);
  put_runs(out, numbers_of(layout.node_of_rank));
  put_runs(out, layout.domain_of_node);
  std::vector<std::uint32_t> sizes;
  std::vector<std::uint32_t> members;
  for (const auto& group : layout.groups) {
    sizes.push_back(static_cast<std::uint32_t>(group.size()));
    for (const auto node : group) members.push_back(node.value);
  }
  put_runs(out, sizes);
  put_runs(out, members);
  if (layout.arrangement != 0 || !layout.avoided.empty()) out.put(layout.arrangement);
  if (!layout.avoided.empty()) put_runs(out, numbers_of(layout.avoided));
  return out.take();
}

Result<Layout> decode_layout(Bytes bytes) {
  ByteReader in(bytes);
  const auto format = in.get<std::uint32_t>();
  Layout layout;
  layout.nodes = in.get<std::uint32_t>();
  layout.copies = in.get<std::uint32_t>();
  layout.rotation = in.get<std::uint32_t>();
  layout.parity = in.get<std::uint32_t>();
  if (!in.good()) return fail(Code::corrupt, fmt::format("layout: {} bytes are too few", bytes.size()));
  if (format != kLayoutFormat) {
    return fail(Code::corrupt, fmt::format("layout: format {}, should be {}", format, kLayoutFormat));
  }
  if (layout.nodes > kMaxListed) {
    return fail(Code::corrupt, fmt::format("layout: {} nodes, should be at most {}", layout.nodes, kMaxListed));
  }

  if (auto lists = read_lists(in, layout); !lists) return fail(lists.error());
  if (!in.good()) return fail(Code::corrupt, fmt::format("layout: {} bytes, should be more", bytes.size()));
  if (in.remaining() >= sizeof layout.arrangement) layout.arrangement = in.get<std::uint32_t>();
  if (in.remaining() >= sizeof layout.arrangement) {
    auto avoided = get_nodes(in, "avoided nodes", layout.nodes);
    if (!avoided) return fail(avoided.error());
    layout.avoided = *std::move(avoided);
  }
  if (in.remaining() != 0) {
    return fail(Code::corrupt, fmt::format("layout: {} bytes follow its end", in.remaining()));
  }
  if (auto possible = check(layout); !possible) return fail(possible.error().in("layout"));
  // A layout must have exactly one encoding, because its id is a digest of these bytes.
  if (!std::ranges::equal(encode(layout), bytes)) {
    return fail(Code::corrupt, "layout: it is not in the form that encode() writes");
  }
  return layout;
}

}  // namespace cairn
