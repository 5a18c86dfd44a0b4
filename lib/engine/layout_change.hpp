// A change of the layout while the job runs: once more nodes are sick, other nodes keep nothing there. Each head works
// out the layout from the nodes that it has been told of, and offers it in its votes. If all heads offer the same one
// in the vote on a version, that version and all later ones are promoted under it. Otherwise nothing changes yet.
//
// Shards are sealed under the layout with which the life began, since heads seal later versions before they know how a
// vote ends. Snapshots under the earlier layout stay as they are. One thread, the head's. Local.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "engine/head.hpp"
#include "engine/vote.hpp"
#include "recover/catalog.hpp"
#include "topology/layout.hpp"

namespace cairn {

class LayoutChange {
 public:
  LayoutChange(const Head& head, const Catalog& catalog) : head_(head), catalog_(catalog) {}

  // The layout that this head would like to change to, which it also puts into the vote; null: it is content.
  [[nodiscard]] std::shared_ptr<const Layout> offer(Vote& vote);
  // After the vote, which is the same on all heads: the layout to change to; none: they do not agree on one. `offered`:
  // by this head in that vote.
  [[nodiscard]] static std::optional<Layout> settle(const Vote& vote, const std::shared_ptr<const Layout>& offered);

 private:
  void work_out();

  const Head& head_;
  const Catalog& catalog_;
  std::size_t known_ = 0;  // sick nodes that `wanted_` takes into account
  std::shared_ptr<const Layout> wanted_;
};

}  // namespace cairn
