// Symptoms about nodes that have found no verdict when a life ends, as it does at a repair: kept in the node's store,
// taken up again by the node's head in the next life. Those about ranks are not kept: a repair replaces processes, and
// a head sees by itself what is wrong with those of its node. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.hpp"
#include "format/sealer.hpp"
#include "localize/fault.hpp"
#include "store/store.hpp"
#include "topology/topology.hpp"

namespace cairn {

class SymptomSpool {
 public:
  // Keeps a reference to `topology`. `store`: the node's.
  SymptomSpool(std::shared_ptr<Store> store, const Topology& topology, Sealer sealer, Log log);

  // Syncs. `pending`: their times are ages. `today`: seconds since 1970. An error is a warning.
  void write(const std::vector<localize::Observation>& pending, std::uint64_t today);
  // What an earlier life has left about nodes of this one, with ages as of today. A file that is damaged, or cannot be
  // read, is a warning that names it, and is removed.
  [[nodiscard]] std::vector<localize::Observation> read(std::uint64_t today);
  void remove();

 private:
  std::shared_ptr<Store> store_;
  const Topology& topology_;
  Sealer sealer_;
  Log log_;
};

}  // namespace cairn
