// Whose snapshots a node store holds. A job's node stores are found by its name alone, its global store by its path; so
// a copy of a job in another directory finds the node stores of the first. Each chain of snapshots has an id, made with
// the global store and kept in all stores, and a store with another's snapshots is refused. Local.
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

// The mark of a store whose top directory has `entries`; Code::not_found: it has none. One that cannot be read is
// logged: Code::corrupt is damaged, is_others() are not for us to judge, any other error is the store's, and the mark
// may be good.
[[nodiscard]] Result<ChainMark> read_chain_mark(const Store& store, const std::vector<Entry>& entries, const Log& log,
                                                const Sealer& sealer);
[[nodiscard]] Status write_chain_mark(Store& store, const ChainMark& mark, const Sealer& sealer);

// How everything else in a store with that mark is sealed, from how the job's marks are. With a key, what is in a store
// whose mark is lost is as if damaged; where there is one that cannot be read, neither can what is beside it.
[[nodiscard]] Sealer sealer_of(const Result<ChainMark>& mark, const Sealer& sealer);
// The same by looking into the store.
[[nodiscard]] Sealer sealer_of(const Store& store, const Sealer& sealer);

// Whether the snapshots in a node store are those of the chain `id` of today's global store, which is at `global`.
// `known`: the global store has that id itself; else it is new, or was lost, and takes up the snapshots of none but of
// one that was in its place.
[[nodiscard]] Status check_belongs(const Store& node_store, const std::optional<ChainMark>& mark, RunId id, bool known,
                                   const std::string& global);

}  // namespace cairn
