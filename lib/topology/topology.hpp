// Which world rank is on which node, and what it becomes there. Pure: the same input gives the same answer on every
// rank, so no communication is needed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"

namespace cairn {

enum class HeadMode { rank, thread, inline_ };

struct Node {
  std::string name;               // host name, or "node0003" of a simulated node
  std::vector<Peer> world_ranks;  // ascending, head included
  Peer head;                      // world rank that acts for the node
  bool dedicated_head = false;    // it does nothing else
  std::vector<Rank> ranks;        // application ranks here, ascending
};

struct Topology {
  HeadMode mode = HeadMode::rank;
  std::vector<Node> nodes;
  std::vector<std::string> host_of_world;     // also if nodes are simulated
  std::vector<NodeId> node_of_world;          // world rank → node
  std::vector<Peer> world_of_rank;            // application rank → world rank
  std::vector<std::uint32_t> domain_of_node;  // failure domain of each node; empty when none are known

  [[nodiscard]] std::uint32_t node_count() const { return static_cast<std::uint32_t>(nodes.size()); }
  [[nodiscard]] std::uint32_t rank_count() const { return static_cast<std::uint32_t>(world_of_rank.size()); }
  [[nodiscard]] bool is_dedicated_head(Peer world) const;
  // True where the node's head is a rank that computes, and does the head's work inside its own calls.
  [[nodiscard]] bool runs_inline(NodeId node) const;
  // By node: that of its head.
  [[nodiscard]] std::vector<std::string> hosts() const;
  // "12 ranks on 4 nodes: 8 compute, 4 heads"
  [[nodiscard]] std::string text() const;
};

// Nodes are the distinct hosts, numbered by their lowest world rank; with `node_sizes` (one number for all,
// or one a node, heads included) they are runs of consecutive world ranks. The head is the highest
// world rank of its node in mode `rank`, else the lowest, which computes too.
[[nodiscard]] Result<Topology> make_topology(const std::vector<std::string>& host_of_world,
                                             const std::vector<std::uint32_t>& node_sizes, HeadMode mode);

// Where one world rank is and what it does there. For a repaired job, whose ranks say this themselves.
struct Seat {
  std::string host;
  std::string node;
  bool head = false;
};

// The same from seats, one a world rank: nodes are numbered by their lowest world rank. In mode `rank` the head of a
// node is the process whose seat is marked as head; if there is none, the node's lowest rank does the head's work
// inline.
[[nodiscard]] Topology make_topology(const std::vector<Seat>& seats, HeadMode mode);

// The number of threads for a node's head, itself included: 1 to 8. It is the head's share of the processors that the
// application ranks of its host leave free, out of the `processors` that may be used there.
[[nodiscard]] std::uint32_t threads_of_head(const Topology& topology, NodeId node, std::uint32_t processors);

// Reads "host domain" lines (# starts a comment) and fills domain_of_node; a node that is not named is an error.
[[nodiscard]] Status assign_domains(Topology& topology, const std::string& text);

}  // namespace cairn
