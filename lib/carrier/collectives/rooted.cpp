// From one rank to all, from all to one, or no data at all.
#include <algorithm>
#include <utility>

#include "carrier/collectives/collectives.hpp"

namespace cairn::collectives {
namespace {

// Short blocks go along a tree, and are packed on their way.
constexpr MPI_Count kShortBlock = 4096;

void check_root(int root, const Messages& messages) {
  if (root < 0 || root >= messages.size()) check(MPI_ERR_ROOT);
}

// Ranks of a tree count from its root.
class Tree {
 public:
  Tree(int root, const Messages& messages) : root_(root), size_(messages.size()) {
    me_ = (messages.rank() - root + size_) % size_;
  }
  [[nodiscard]] int me() const { return me_; }
  [[nodiscard]] int rank_of(int member) const { return (member + root_) % size_; }
  // Binomial: a member's children are those from which it differs in one bit below its lowest one.
  [[nodiscard]] bool has_parent_at(int bit) const { return (me_ & bit) != 0; }
  [[nodiscard]] int parent_at(int bit) const { return rank_of(me_ - bit); }
  [[nodiscard]] bool has_child_at(int bit) const { return me_ + bit < size_; }
  [[nodiscard]] int child_at(int bit) const { return rank_of(me_ + bit); }
  // How many members there are below that child, and itself.
  [[nodiscard]] std::size_t below(int bit) const { return static_cast<std::size_t>(std::min(bit, size_ - me_ - bit)); }
  // The bit at which this member has its parent; for the root one that no member has.
  [[nodiscard]] int top() const {
    int bit = 1;
    while (bit < size_ && !has_parent_at(bit)) bit *= 2;
    return bit;
  }

 private:
  int root_;
  int size_;
  int me_;
};

// Block `i` of what all ranks send to the root, or get from it.
template <class Call>
Target to_block(const Call& call, int i) {
  return {element_of(call.to, MPI_Count{i} * call.to_count, call.to_type), call.to_count, call.to_type};
}
template <class Call>
Source from_block(const Call& call, int i) {
  return {element_of(call.from, MPI_Count{i} * call.from_count, call.from_type), call.from_count, call.from_type};
}

void gather_along_tree(const tap::collectives::Gather& call, const Source& own, Messages& messages) {
  const Tree tree(call.root, messages);
  Buffer blocks = pack(own);
  const std::size_t block = blocks.size();
  int bit = 1;
  for (; bit < messages.size() && !tree.has_parent_at(bit); bit *= 2) {
    if (!tree.has_child_at(bit)) continue;
    const std::size_t had = blocks.size();
    blocks.resize(had + tree.below(bit) * block);
    messages.receive(bytes_target(MutableBytes(blocks).subspan(had)), tree.child_at(bit));
  }
  if (bit < messages.size()) return messages.send(bytes_source(blocks), tree.parent_at(bit));
  for (int i = 0; i < messages.size(); ++i)
    if (i > 0 || call.from != MPI_IN_PLACE)
      unpack(Bytes(blocks).subspan(static_cast<std::size_t>(i) * block, block), to_block(call, tree.rank_of(i)));
}

void scatter_along_tree(const tap::collectives::Scatter& call, std::size_t block, Messages& messages) {
  const Tree tree(call.root, messages);
  Buffer blocks;
  if (tree.me() == 0) {
    for (int i = 0; i < messages.size(); ++i) {
      const Buffer packed = pack(from_block(call, tree.rank_of(i)));
      blocks.insert(blocks.end(), packed.begin(), packed.end());
    }
  } else {
    blocks.resize(static_cast<std::size_t>(std::min(tree.top(), messages.size() - tree.me())) * block);
    messages.receive(bytes_target(blocks), tree.parent_at(tree.top()));
  }
  for (int bit = tree.top() / 2; bit > 0; bit /= 2)
    if (tree.has_child_at(bit))
      messages.send(bytes_source(Bytes(blocks).subspan(static_cast<std::size_t>(bit) * block, tree.below(bit) * block)),
                    tree.child_at(bit));
  if (call.to != MPI_IN_PLACE) unpack(Bytes(blocks).first(block), {call.to, call.to_count, call.to_type});
}

}  // namespace

// Dissemination (Hensgen, Finkel and Manber 1988, DOI 10.1007/BF01379320).
void make(const tap::collectives::Barrier& /*call*/, Messages& messages) {
  const int size = messages.size();
  for (int step = 1; step < size; step *= 2)
    messages.exchange(bytes_source({}), (messages.rank() + step) % size, bytes_target({}),
                      (messages.rank() - step + size) % size);
}

void make(const tap::collectives::Bcast& call, Messages& messages) {
  check_root(call.root, messages);
  const Tree tree(call.root, messages);
  const Target data{call.buffer, call.count, call.type};
  if (tree.me() != 0) messages.receive(data, tree.parent_at(tree.top()));
  for (int bit = tree.top() / 2; bit > 0; bit /= 2)
    if (tree.has_child_at(bit)) messages.send(data, tree.child_at(bit));
}

void make(const tap::collectives::Gather& call, Messages& messages) {
  check_root(call.root, messages);
  const bool is_root = messages.rank() == call.root;
  const Source own = call.from == MPI_IN_PLACE ? Source(to_block(call, call.root))
                                               : Source{call.from, call.from_count, call.from_type};
  const MPI_Count block = bytes_of(own.count, own.type);
  if (block <= kShortBlock) return gather_along_tree(call, own, messages);
  if (!is_root) return messages.send(own, call.root);
  for (int i = 0; i < messages.size(); ++i)
    if (i != call.root) messages.receive(to_block(call, i), i);
  if (call.from != MPI_IN_PLACE) copy(own, to_block(call, call.root));
}

void make(const tap::collectives::Gatherv& call, Messages& messages) {
  check_root(call.root, messages);
  const Source own{call.from, call.from_count, call.from_type};
  if (messages.rank() != call.root) return messages.send(own, call.root);
  for (int i = 0; i < messages.size(); ++i) {
    const Target block{element_of(call.to, call.to_places[i], call.to_type), call.to_counts[i], call.to_type};
    if (i != call.root)
      messages.receive(block, i);
    else if (call.from != MPI_IN_PLACE)
      copy(own, block);
  }
}

void make(const tap::collectives::Scatter& call, Messages& messages) {
  check_root(call.root, messages);
  const bool is_root = messages.rank() == call.root;
  const MPI_Count block = is_root ? bytes_of(call.from_count, call.from_type) : bytes_of(call.to_count, call.to_type);
  if (block <= kShortBlock) return scatter_along_tree(call, static_cast<std::size_t>(block), messages);
  if (!is_root) return messages.receive({call.to, call.to_count, call.to_type}, call.root);
  for (int i = 0; i < messages.size(); ++i)
    if (i != call.root) messages.send(from_block(call, i), i);
  if (call.to != MPI_IN_PLACE) copy(from_block(call, call.root), {call.to, call.to_count, call.to_type});
}

void make(const tap::collectives::Scatterv& call, Messages& messages) {
  check_root(call.root, messages);
  const Target own{call.to, call.to_count, call.to_type};
  if (messages.rank() != call.root) return messages.receive(own, call.root);
  for (int i = 0; i < messages.size(); ++i) {
    const Source block{element_of(call.from, call.from_places[i], call.from_type), call.from_counts[i], call.from_type};
    if (i != call.root)
      messages.send(block, i);
    else if (call.to != MPI_IN_PLACE)
      copy(block, own);
  }
}

}  // namespace cairn::collectives
