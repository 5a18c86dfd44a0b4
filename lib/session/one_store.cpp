#include "session/one_store.hpp"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/format.h>

#include "base/bytes.hpp"
#include "base/drawn_number.hpp"
#include "store/names.hpp"

namespace cairn {
namespace {

// If the store cannot take it, nothing is compared: the snapshots will say why.
void put_token(Store& store) {
  const auto token = std::max<StoreToken>(drawn_number(), kNoToken + 1);
  (void)write_unsynced(store, names::token(), std::as_bytes(std::span(&token, 1)));
}

StoreToken find_token(const Store& store) {
  const auto reader = store.open(names::token());
  if (!reader) return reader.error().code == Code::not_found ? kNoToken : kUnknownToken;
  StoreToken token = kUnknownToken;
  const auto status = (*reader)->read(0, std::as_writable_bytes(std::span(&token, 1)));
  return status ? token : kUnknownToken;
}

Status check_node(const Node& node, const std::vector<StoreToken>& found, const std::string& local) {
  const Peer first = node.world_ranks.front();
  for (const Peer other : node.world_ranks) {
    const StoreToken token = found[other.value];
    if (token == kUnknownToken || token == found[first.value]) continue;
    return fail(Code::config,
                fmt::format("world ranks {} and {} of host {} see different directories as [storage] local = {}",
                            first.value, other.value, node.name, local),
                "name a directory that all processes of the host share; in containers, mount the same one into all; "
                "machines need different host names");
  }
  return {};
}

}  // namespace

Status check_one_store(const Topology& topology, const std::vector<StoreToken>& found, const std::string& local) {
  std::map<StoreToken, const Node*> owners;
  for (const Node& node : topology.nodes) {
    const StoreToken token = found[node.world_ranks.front().value];
    if (token == kUnknownToken || token == kNoToken) continue;
    if (auto status = check_node(node, found, local); !status) return status;
    const auto [owner, first] = owners.emplace(token, &node);
    if (first) continue;
    return fail(
        Code::config,
        fmt::format("hosts {} and {} share one directory as [storage] local = {}", owner->second->name, node.name,
                    local),
        "name a directory of each host's own, such as one in /dev/shm or on its disk: a lost host would take the "
        "other's snapshots along");
  }
  return {};
}

Status check_one_store(Comm& world, const Topology& topology, Store& store, const std::string& local) {
  const Node& node = topology.nodes[topology.node_of_world[world.rank().value].value];
  const bool first = world.rank() == node.world_ranks.front();
  if (first) put_token(store);
  if (auto status = world.barrier(); !status) return status;
  StoreToken mine = find_token(store);
  if (mine == kNoToken) mine = find_token(store);  // a store may fail once
  const auto told = world.allgather(std::as_bytes(std::span(&mine, 1)));
  if (first) (void)store.remove(names::token());
  if (!told) return fail(told.error());
  std::vector<StoreToken> found(told->size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = ByteReader(told->at(i)).get<StoreToken>();
  }
  return check_one_store(topology, found, local);
}

}  // namespace cairn
