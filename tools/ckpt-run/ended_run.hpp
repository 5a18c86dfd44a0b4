// The run of a job that has just ended, as far as ckpt-run needs it to add to what the job's heads have found out: in
// health.json of the global store. Local.
#pragma once

#include <memory>
#include <optional>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "config/config.hpp"
#include "format/sealer.hpp"
#include "placement.hpp"
#include "store/store.hpp"
#include "topology/topology.hpp"

namespace ckpt_run {

struct EndedRun {
  std::shared_ptr<cairn::Store> global;
  cairn::Topology topology;  // the nodes of the placement on their hosts: all that a keeper of verdicts needs
  cairn::Incarnation life;
  cairn::Sealer sealer;  // of its chain

  // The newest that the global store has a record of. None: there is no such run, or [localize] mode = off.
  [[nodiscard]] static cairn::Result<std::optional<EndedRun>> find(const cairn::Config& config,
                                                                   const Placement& placement);
};

}  // namespace ckpt_run
