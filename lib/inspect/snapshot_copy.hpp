// Copies one snapshot to a global store of its own, from which a job can start: from any level, as a restart would read
// it. The stores that it comes from are neither changed nor locked, so a job may run meanwhile; if it retires the
// snapshot, the copy fails.
//
// The store that takes it is a chain of its own (recover/belonging), so that a job which starts there refuses the node
// stores of the job that the copy is of. More snapshots of the same job may be added to it, as long as no run has
// continued there.
//
// Local: no call communicates.
#pragma once

#include "base/error.hpp"
#include "format/manifest.hpp"
#include "inspect/snapshot_reader.hpp"
#include "inspect/survey.hpp"
#include "store/store.hpp"

namespace cairn {

// What a store has of the job, and gets.
struct CopyPlace {
  ChainMark mark;
  bool has_mark = false;
  RunRecord record;  // of the life that took the snapshot
  bool has_record = false;
  bool has_snapshot = false;  // it was copied before: nothing is to be done
};

// `to`: null if it does not exist yet. `fresh`: the id of its chain, if it has none; drawn by the caller.
// Code::mismatch: it has runs that are not of the job in `survey`, or snapshots from before or after a fresh start.
[[nodiscard]] Result<CopyPlace> look_at_copy_place(const Store* to, const Sealer& sealer, const Survey& survey,
                                                   const Identity& snapshot, RunId fresh);

// Writes the files of L4 into a directory that is renamed into place at the end: after a crash the store has all of the
// snapshot or none of it. If a source is damaged, all files are checked once, and only good ones are used. Requires:
// nobody else writes to `to`; `place` was found there; the reader is of this snapshot, and no rank is missing.
// `progress`: bytes of shards.
[[nodiscard]] Status copy_snapshot(SnapshotReader& reader, const SnapshotView& snapshot, const Sealer& sealer,
                                   Store& to, const CopyPlace& place, const SnapshotReader::Progress& progress = {});

// Pins a snapshot in the job's own global store, and writes it there from any level, if it is not there. The pin first:
// after a crash in between, it counts as soon as the snapshot is there. Requires: as copy_snapshot(). `fresh` as above.
// Whether it was there already.
[[nodiscard]] Result<bool> pin_snapshot(const JobStores& stores, const Survey& survey, const SnapshotView& snapshot,
                                        Store& global, RunId fresh, const SnapshotReader::Progress& progress = {});

}  // namespace cairn
