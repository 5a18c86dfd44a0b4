// Files of the application that snapshots contain, and that are also written to a place of the application's choice
// when a snapshot reaches the store that all nodes share. Other programs read them there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "level/level.hpp"

namespace cairn {

struct Destination {
  std::string region;
  std::string path;  // absolute
  friend bool operator==(const Destination&, const Destination&) = default;
};
using Destinations = std::vector<Destination>;

// Writes the files of ranks whose shards are in this node's store: each under a temporary name, which is renamed when
// the file is on the disk. What has been written stays, also after an error, which names rank and file. Local.
[[nodiscard]] Status write_to_destinations(const NodeContext& node, const Identity& snapshot,
                                           const std::map<Rank, Destinations>& of_ranks);

}  // namespace cairn
