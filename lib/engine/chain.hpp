// The chain: the lives of a job, each recorded in the global store with the snapshot it went on from. It says where
// a restart may look back to, and whether there is anything to lose.
#pragma once

#include <optional>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "comm/comm.hpp"
#include "format/manifest.hpp"
#include "format/measured.hpp"
#include "store/store.hpp"

namespace cairn {

struct Chain {
  Incarnation newest;            // 0: none
  Incarnation fresh_start;       // newest life that started fresh; 0: unknown
  bool finished = false;         // the newest life ended the chain
  bool has_snapshots = false;    // a life since the newest fresh start took some
  std::vector<Identity> global;  // complete snapshots in the global store
  Version highest_version;
  RunId next;                        // drawn for the life that begins, in case two take the same number
  std::optional<Measured> measured;  // by earlier lives
};

// Reads the records and the directory of the global store. A record that cannot be read is logged. Local.
[[nodiscard]] Result<Chain> read_chain(const Store& global, const Log& log);

// What head 0 has read, told to all; or why the life could not begin there. Collective.
[[nodiscard]] Result<Chain> share_chain(Comm& heads, const Result<Chain>& mine);

[[nodiscard]] Status write_run_record(Store& global, const RunRecord& record);

}  // namespace cairn
