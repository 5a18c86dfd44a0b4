// The record of what receives and probes have got that name no sender, or no tag, after restore(): a file in the node's
// own store, which outlives its process. A replacement reads that of the dead rank, or gets it from a survivor on the
// dead rank's node.
//
// One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "base/log.hpp"
#include "comm/comm.hpp"
#include "replay/journal.hpp"
#include "store/store.hpp"

namespace cairn::rollback {

class ChoiceRecord {
 public:
  // `journal`: of this rank; must outlive this object.
  ChoiceRecord(Rank rank, replay::Journal& journal, const Log& log) : rank_(rank), journal_(journal), log_(log) {}

  // All ranks have restored together: they agree on a stamp, and begin new records. Collective.
  [[nodiscard]] Status begin(Comm& ranks, Store& local);
  // After a failure: a replacement goes on with the record of the dead rank. Collective.
  [[nodiscard]] Status settle(Comm& ranks, Store& local, const replay::Agreement& agreement, std::uint64_t epoch);
  // All ranks have finished: records of ranks that were replaced on another node go, too.
  void remove(Store& local);

 private:
  void open(Store& local, std::uint64_t stamp, const std::vector<replay::Choices::Entry>& known);

  Rank rank_;
  replay::Journal& journal_;
  const Log& log_;
  std::unique_ptr<SharedFile> file_;  // null: there is none
};

}  // namespace cairn::rollback
