// Whether all processes of a node see one store, and those of other nodes see another. A node is a host name, which
// says nothing of directories. With a private mount for each process, no head finds the shards of its ranks. If two
// nodes share a directory, the loss of one takes the copies that it keeps for the other.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "store/store.hpp"
#include "topology/topology.hpp"

namespace cairn {

// What a process finds in its node's store: what its node has put there, something else, or nothing.
using StoreToken = std::uint64_t;
inline constexpr StoreToken kUnknownToken = 0;  // the store cannot keep one, or cannot be read
inline constexpr StoreToken kNoToken = 1;       // another directory, since nothing is there

// `found`: by world rank. `local`: [storage] local, for the message. Pure.
[[nodiscard]] Status check_one_store(const Topology& topology, const std::vector<StoreToken>& found,
                                     const std::string& local);

// Puts a token into its node's store, if this process is the node's first. Local.
void leave_token(const Topology& topology, Peer process, Store& store);
// Takes it away again. Local.
void remove_token(const Topology& topology, Peer process, Store& store);
// Whether all processes have opened their stores, and find in them what they must. `store`: this one's, or why there is
// none. The same outcome for all. Collective over the world, which has met in another call since leave_token().
[[nodiscard]] Status check_one_store(Comm& world, const Topology& topology, const Result<std::shared_ptr<Store>>& store,
                                     const std::string& local);

}  // namespace cairn
