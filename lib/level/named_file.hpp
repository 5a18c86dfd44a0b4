// A file in a node's store that a manifest names: what the store should have of a snapshot. A value, which refers to
// the manifest's holding.
#pragma once

#include <cstdint>
#include <variant>

#include "base/ids.hpp"
#include "base/sha256.hpp"
#include "format/manifest.hpp"
#include "store/store.hpp"

namespace cairn {

struct NamedFile {
  FileName name;
  const Holding* holding = nullptr;             // the holding that names it
  NodeId node;                                  // whose shard or copy; for parity, who keeps it
  std::variant<ShardEntry, ParityEntry> entry;  // as the manifest has it
  LevelId level = {};                           // whose file it is; filled in by Levels

  // Null: it is parity, of no rank in particular.
  [[nodiscard]] const ShardEntry* shard() const { return std::get_if<ShardEntry>(&entry); }
  [[nodiscard]] std::uint64_t bytes() const {
    return std::visit([](const auto& one) { return one.bytes; }, entry);
  }
  [[nodiscard]] const Sha256& digest() const {
    return std::visit([](const auto& one) -> const Sha256& { return one.digest; }, entry);
  }
};

}  // namespace cairn
