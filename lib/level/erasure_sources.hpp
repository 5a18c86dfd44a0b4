// Which shards of lost nodes can be decoded, and from what: for each chunk of a node's volume n − m inputs of its
// column, from own shards, copies of them, and parity. Pure.
#pragma once

#include <memory>

#include "level/source_finder.hpp"

namespace cairn {

[[nodiscard]] std::unique_ptr<SourceFinder> find_decodes(const KnownParts& known);

}  // namespace cairn
