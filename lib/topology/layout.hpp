// A Layout says who holds what when a snapshot is protected: ranks on nodes, partners, groups. It is stored with the
// snapshot, because a restore uses the snapshot's own layout and never today's. Within one layout a store is always the
// same node: if nodes have changed places, a new `arrangement` number makes the same shape another layout. Pure data
// and pure functions of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "topology/topology.hpp"

namespace cairn {

// L3: of a group of n nodes, the last `spared` hold no parity: they are sick. Of h = n − spared others, column c has
// its parity row p on member (c + p) mod h, p < m. All other members of the group have a chunk in it: data row d is on
// member (c + m + d) mod h, d < h − m, and then on the spared ones in order. Member i's volume is cut into one chunk
// for each column where it has no parity, which is h − m, or h for a spared member; chunk t goes to column (i + 1 + t)
// mod h.
struct ErasureShape {
  std::uint32_t n = 0;
  std::uint32_t m = 0;
  std::uint32_t spared = 0;  // below n − m

  [[nodiscard]] std::uint32_t data() const { return n - m; }  // rows of a column
  [[nodiscard]] std::uint32_t columns() const { return n - spared; }
  [[nodiscard]] bool holds_parity(std::uint32_t member) const { return member < columns(); }
  [[nodiscard]] std::uint32_t chunks(std::uint32_t member) const {
    return holds_parity(member) ? columns() - m : columns();
  }
  [[nodiscard]] std::uint32_t parity_holder(std::uint32_t column, std::uint32_t row) const {
    return (column + row) % columns();
  }
  [[nodiscard]] std::uint32_t data_holder(std::uint32_t column, std::uint32_t row) const {
    return row < columns() - m ? (column + m + row) % columns() : m + row;
  }
  [[nodiscard]] std::uint32_t column_of_chunk(std::uint32_t member, std::uint32_t chunk) const {
    return (member + 1 + chunk) % columns();
  }
  // The column whose parity row `row` is on `member`, which holds parity.
  [[nodiscard]] std::uint32_t column_of_parity(std::uint32_t member, std::uint32_t row) const {
    return (member + columns() - row) % columns();
  }
  // The chunk that a data member gives to a column, and its data row there.
  [[nodiscard]] std::uint32_t chunk_in_column(std::uint32_t member, std::uint32_t column) const {
    return (column + 2 * columns() - member % columns() - 1) % columns();
  }
  [[nodiscard]] std::uint32_t data_row(std::uint32_t member, std::uint32_t column) const {
    return holds_parity(member) ? (member + 2 * columns() - column - m) % columns() : member - m;
  }
};

struct Layout {
  std::vector<NodeId> node_of_rank;  // application rank → node
  std::uint32_t nodes = 0;
  std::vector<std::uint32_t> domain_of_node;  // empty when none are known
  std::uint32_t copies = 0;                   // L2: further nodes that hold each node's shards; 0: L2 is off
  std::uint32_t rotation = 1;                 // L2: placements that take turns
  std::vector<std::vector<NodeId>> groups;    // L3: members of each group in code order; empty: L3 is off
  std::uint32_t parity = 0;                   // L3: m
  std::uint32_t arrangement = 0;              // 0: the first of this shape
  std::vector<NodeId> avoided = {};           // sick: hold nothing of other nodes where others can; ascending
  friend bool operator==(const Layout&, const Layout&) = default;

  [[nodiscard]] LayoutId id() const;
  // Without its arrangement, and whichever nodes are avoided: layouts of one shape share their arrangements.
  [[nodiscard]] Layout shape() const;
  [[nodiscard]] bool equals_but_for_arrangement(Layout other) const;
  [[nodiscard]] std::vector<Rank> ranks_on(NodeId node) const;

  struct GroupPlace {
    std::uint32_t group;
    std::uint32_t index;  // in the group's members
  };
  // A node that is in no group (L3 is off) is in group groups.size().
  [[nodiscard]] GroupPlace place_in_group(NodeId node) const;
  [[nodiscard]] bool avoids(NodeId node) const;
  // Of a group: the avoided nodes, which are its last members, are spared as far as its parity can be held without
  // them.
  [[nodiscard]] ErasureShape shape_of(std::uint32_t group) const;
};

// Inverse pair; the bytes are little-endian and self-delimiting.
[[nodiscard]] Buffer encode(const Layout& layout);
[[nodiscard]] Result<Layout> decode_layout(Bytes bytes);

// Whether copies can be placed and groups encoded by a layout that came from a file or a message, and whose lists fit
// its nodes. Users of a layout do not check again. Code::corrupt says what is impossible.
[[nodiscard]] Status check(const Layout& layout);

// Nodes that hold a copy of `owner`'s shards, copies 1 … `copies` in order. `turn` is the number of the promotion to
// L2, from 0 and without end, k in the formula: (i + j·DF^(k mod SD) + k mod SD) mod N with DF = copies, SD = rotation,
// j = 1 … copies (Bondarenko, Yakobovskiy 2014, DOI 10.14529/cmse140302); DF = SD = 1 is the ring i → i+1. Where
// failure domains are known, a copy in its owner's domain moves on to the next node outside that holds none yet. A copy
// on an avoided node moves on too, to a node that is not avoided if there is one, even to one in its owner's domain.
[[nodiscard]] std::vector<NodeId> partners_of(const Layout& layout, NodeId owner, std::uint64_t turn);
// The inverse: nodes whose shards `holder` keeps, ascending.
[[nodiscard]] std::vector<NodeId> owners_held_by(const Layout& layout, NodeId holder, std::uint64_t turn);

struct LayoutWishes {
  // What the configuration wants of copies or parity: nothing; as much as the nodes can carry; or exactly what it says.
  enum class Wish { off, where_possible, insisted };
  std::uint32_t copies = 1;
  std::uint32_t rotation = 1;
  std::uint32_t group = 8;
  std::uint32_t parity = 2;
  Wish for_copies = Wish::off;
  Wish for_parity = Wish::off;
  bool restart = false;            // snapshots exist: what the nodes cannot carry is switched off, not refused
  std::vector<NodeId> avoid = {};  // sick nodes: hold nothing of others, where enough others are there
};

struct LayoutDecision {
  Layout layout;                   // with the copies and groups that the nodes can carry
  std::vector<std::string> notes;  // one line each, for the log
  std::vector<std::string> warnings;
};

// The most nodes that are avoided: beyond that, the others would have to hold too much.
[[nodiscard]] constexpr std::uint32_t most_avoided(std::uint32_t nodes) { return nodes / 2; }

// Decides partners and groups for a topology, if they are wanted. If the topology cannot carry a level that was left at
// its default, the level is switched off with a note. If the user set it, the start is refused with the key to change;
// on a restart the level is switched off with a warning instead. Groups are of nearly equal size, at most `group` nodes
// and at least parity + 1; neighbours in a group are from different failure domains where there are enough. Warns if a
// level survives less than its settings suggest: fewer than DF^SD + SD + 1 nodes with copies > 1 and rotation > 1, or
// too few nodes outside a domain. Sick nodes are avoided as far as possible: what cannot be avoided is used, with a
// warning.
[[nodiscard]] Result<LayoutDecision> decide_layout(const Topology& topology, const LayoutWishes& wishes);

}  // namespace cairn
