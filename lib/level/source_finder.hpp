// Finds the sources that one level has for the shards of one snapshot. Made by Level::sources(). Refers to a
// KnownParts, which must outlive it. Pure, but for one thread only: it caches what it has found.
#pragma once

#include <memory>
#include <optional>

#include "base/ids.hpp"
#include "level/delivery.hpp"
#include "level/known_parts.hpp"

namespace cairn {

// What it takes to get a shard from a level, the cheapest first: a file of its bytes, many files and arithmetic, a
// store that all nodes share.
enum class Effort { file, decode, shared };
inline constexpr Effort kEfforts[] = {Effort::file, Effort::decode, Effort::shared};

class SourceFinder {
 public:
  struct Found {
    int cost = 0;  // among sources of the same effort
    Peer holder;   // of those that cost the same the lowest is taken
    Source source;
  };
  virtual ~SourceFinder() = default;
  // The cheapest source of a rank's shard for the node of `to`; none: the level has none.
  [[nodiscard]] virtual std::optional<Found> find(Rank rank, Peer to) = 0;
};

// Keeps the one that costs less.
void keep_cheaper(std::optional<SourceFinder::Found>& best, SourceFinder::Found other);

// The finder of a level whose store all nodes share, with a file for each rank of a snapshot that it has.
[[nodiscard]] std::unique_ptr<SourceFinder> find_in_shared_store(const KnownParts& known, StoreId store);

}  // namespace cairn
