// The end of a session, once all ranks of all nodes have called finalize: checks that they agree, and ends the chain. A
// finished chain leaves its newest snapshot at L4 and empty node stores. Nothing is removed where a restore failed or a
// rank has left. Collective among heads.
//
// The order is that of loss: the newest snapshot is whole at L4, then node stores are emptied, then the chain is
// recorded as finished. A job that is killed before the record goes on from L4 at its next start.
#pragma once

#include "base/error.hpp"
#include "engine/head.hpp"
#include "engine/life.hpp"
#include "engine/promoter.hpp"
#include "recover/catalog.hpp"

namespace cairn {

class Ending {
 public:
  Ending(Head& head, Catalog& catalog, Life& life, Promoter& promoter)
      : head_(head), catalog_(catalog), life_(life), promoter_(promoter) {}

  // Finds out what all ranks want and whether they have made the same snapshot calls; then does it.
  [[nodiscard]] Status run();

 private:
  [[nodiscard]] Status compare_calls();
  [[nodiscard]] bool has_nothing_of_its_own() const;
  [[nodiscard]] Status end_chain(bool keep_going);
  [[nodiscard]] Status empty_node_store();

  Head& head_;
  Catalog& catalog_;
  Life& life_;
  Promoter& promoter_;
};

}  // namespace cairn
