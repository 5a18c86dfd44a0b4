// To which chain of snapshots a node store belongs. A job finds its node stores by its name alone, and its global store
// by its path. So a copy of a job in another directory finds the node stores of the first. Therefore each chain has an
// id, made with the global store and kept in all stores. A node store with another chain's snapshots is refused. Local.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "format/manifest.hpp"
#include "recover/chain.hpp"
#include "recover/inventory.hpp"
#include "store/store.hpp"

namespace cairn {

// The mark of a store whose top directory has `entries`; Code::not_found: it has none. A mark that cannot be read is
// logged. Code::corrupt: it is damaged. is_others(): this job cannot judge it (recover/unreadable). Any other error:
// the store failed, and the mark may be good.
[[nodiscard]] Result<ChainMark> read_chain_mark(const Store& store, const std::vector<Entry>& entries, const Log& log,
                                                const Sealer& sealer);
[[nodiscard]] Status write_chain_mark(Store& store, const ChainMark& mark, const Sealer& sealer);

// The sealer of all other files in a store with that mark; `sealer` is the one of the job's marks. With a key, files in
// a store whose mark is lost count as damaged; if the mark cannot be read, the files beside it cannot be read either.
[[nodiscard]] Sealer sealer_of(const Result<ChainMark>& mark, const Sealer& sealer);
// The same, but reads the mark from the store.
[[nodiscard]] Sealer sealer_of(const Store& store, const Sealer& sealer);

// Whether the snapshots in a node store are those of the chain `id` of today's global store, which is at `global`.
// `known`: the global store itself has that id. Otherwise the id is new, or was lost; then a store is accepted only if
// its mark names a global store in the same directory.
[[nodiscard]] Status check_belongs(const Store& node_store, const std::optional<ChainMark>& mark, RunId id, bool known,
                                   const std::string& global);

}  // namespace cairn
