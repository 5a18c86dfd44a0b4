// Symptoms about nodes that have no verdict yet: kept in the node's store, since the life may end at any moment. The
// node's head takes them up in the next life, and ckpt-run collects them if MPI has ended the job. Those about ranks
// are not kept: their processes are gone by then. Local.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/log.hpp"
#include "format/sealer.hpp"
#include "format/symptom_file.hpp"
#include "localize/fault.hpp"
#include "store/store.hpp"
#include "topology/topology.hpp"

namespace cairn {

// The symptoms of a file about nodes of this job, with ages as of today (seconds since 1970).
[[nodiscard]] std::vector<localize::Observation> aged_symptoms(const SymptomFile& file, const Topology& topology,
                                                               std::uint64_t today);

class SymptomSpool {
 public:
  // Keeps a reference to `topology`. `store`: the node's.
  SymptomSpool(std::shared_ptr<Store> store, const Topology& topology, Sealer sealer, Log log);

  // Syncs, unless nothing has changed since the last time. If nothing is pending, there will be no file. `pending`:
  // their times are ages. `today`: seconds since 1970. False: the store has failed, which is a warning, once.
  bool write(const std::vector<localize::Observation>& pending, std::uint64_t today);
  // What an earlier life has left about nodes of this one, with ages as of today. A file that cannot be read is a
  // warning that names it. If it is damaged, it is removed.
  [[nodiscard]] std::vector<localize::Observation> read(std::uint64_t today);
  void remove();
  // Whether there may be a file.
  [[nodiscard]] bool holds_any() const { return holds_any_; }

 private:
  std::shared_ptr<Store> store_;
  const Topology& topology_;
  Sealer sealer_;
  Log log_;
  bool holds_any_ = true;
  bool unwritable_ = false;              // said once
  std::vector<SpooledSymptom> written_;  // without their ages
};

}  // namespace cairn
