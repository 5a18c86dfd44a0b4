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

StoreToken find_token(const Store& store) {
  const auto reader = store.open(names::token());
  if (!reader) return reader.error().code == Code::not_found ? kNoToken : kUnknownToken;
  StoreToken token = kUnknownToken;
  const auto status = (*reader)->read(0, std::as_writable_bytes(std::span(&token, 1)));
  return status ? token : kUnknownToken;
}

bool is_first(const Topology& topology, Peer process) {
  return topology.nodes[topology.node_of_world[process.value].value].world_ranks.front() == process;
}

struct Seen {
  bool all_are_open = true;
  std::vector<StoreToken> found;  // by world rank
};

Result<Seen> look(Comm& world, const Result<std::shared_ptr<Store>>& store) {
  StoreToken mine = store ? find_token(**store) : kUnknownToken;
  if (mine == kNoToken) mine = find_token(**store);  // a store may fail once
  ByteWriter out;
  out.put(store.has_value());
  out.put(mine);
  const auto told = world.allgather(out.bytes());
  if (!told) return fail(told.error());
  Seen seen;
  for (const Buffer& one : *told) {
    ByteReader in(one);
    seen.all_are_open = in.get<bool>() && seen.all_are_open;
    seen.found.push_back(in.get<StoreToken>());
  }
  return seen;
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

// If the store cannot take it, nothing is compared: the snapshots will say why.
void leave_token(const Topology& topology, Peer process, Store& store) {
  if (!is_first(topology, process)) return;
  const auto token = std::max<StoreToken>(drawn_number(), kNoToken + 1);
  (void)write_unsynced(store, names::token(), std::as_bytes(std::span(&token, 1)));
}

void remove_token(const Topology& topology, Peer process, Store& store) {
  if (is_first(topology, process)) (void)store.remove(names::token());
}

Status check_one_store(Comm& world, const Topology& topology, const Result<std::shared_ptr<Store>>& store,
                       const std::string& local) {
  const Status mine = store ? Status{} : fail(store.error());
  auto seen = look(world, store);
  if (!seen) return mine ? fail(seen.error()) : mine;
  // A process that was early may have looked before the token was there.
  if (!seen->all_are_open || !check_one_store(topology, seen->found, local)) {
    if (auto status = agree(world, mine, "world rank"); !status) return status;
    seen = look(world, store);
    if (!seen) return fail(seen.error());
  }
  return check_one_store(topology, seen->found, local);
}

}  // namespace cairn
