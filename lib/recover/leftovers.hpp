// Removes unused files that killed processes have left in a store. Done at the start of the next life, because a chain
// may last for months. Local.
#pragma once

#include <span>

#include "base/ids.hpp"
#include "base/log.hpp"
#include "recover/inventory.hpp"
#include "store/store.hpp"

namespace cairn {

// In a node's store, of which this process holds the lock: files that were being written or removed. Also copies and
// parity that the manifest of their directory does not name: the promotion that wrote them never ended. Logs files
// that cannot be removed.
void remove_leftovers(Store& local, const StoreContents& contents, const Log& log);

// In a node's store, of which this process holds the lock: the MPI calls that ranks of earlier lives recorded until
// they were killed. Those of `kept` stay: these ranks continue, and record their calls in the same files. To be called
// before a new process of this life records calls. Until then `ckpt-tool hang` shows how the earlier life ended.
void remove_recorded_calls(Store& local, std::span<const Rank> kept, const Log& log);

// In a node's store, of which this process holds the lock: files that ranks of earlier lives have written for a
// snapshot. Those of `kept` stay: these ranks continue. To be called before a new process of this life makes such
// files.
void remove_files_of_ranks(Store& local, const StoreContents& contents, std::span<const Rank> kept, const Log& log);

// In the global store: files that were being written or removed. To be called by the life that has taken over, before
// any of its own processes writes there.
void remove_leftovers(Store& global, const Log& log);

}  // namespace cairn
