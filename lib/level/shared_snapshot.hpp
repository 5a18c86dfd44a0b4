// What a store that all nodes share has of one snapshot. Its level reads it for tools that inspect a job's stores:
// whose shards it has, in which files, and whether those are what was written. Local: no call communicates.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/notes.hpp"
#include "format/shard.hpp"
#include "store/store.hpp"
#include "topology/layout.hpp"

namespace cairn {

class SharedSnapshot {
 public:
  // One of its files with data.
  struct Part {
    FileName file;
    std::uint64_t bytes = 0;
    std::vector<Rank> ranks;  // whose data is in the file
    friend bool operator==(const Part&, const Part&) = default;
  };
  // Callbacks of the reader of its files: what to skip, the progress, and the result for each file.
  struct Reading {
    std::function<bool(const FileName& file)> is_told;  // true: the result is known already, and the file is not read
    std::function<void(std::uint64_t bytes)> begin;     // so many bytes are to be read
    std::function<void()> between;                      // after every MiB
    std::function<void()> end;
    std::function<void(const FileName& file, const std::vector<Rank>& ranks, std::uint64_t bytes, const Status& status)>
        tell;
  };

  virtual ~SharedSnapshot() = default;
  [[nodiscard]] virtual const Identity& identity() const = 0;
  [[nodiscard]] virtual const Layout& layout() const = 0;
  [[nodiscard]] virtual const std::vector<ShardEntry>& shards() const = 0;  // by rank
  [[nodiscard]] virtual std::vector<Part> parts() const = 0;
  [[nodiscard]] virtual SnapshotNotes notes() const { return {}; }
  // Whether it is still the same as when `other` was read.
  [[nodiscard]] virtual bool is_same(const SharedSnapshot& other) const = 0;
  // Reads all its files but the manifest.
  virtual void verify(const Store& store, const Reading& reading) const = 0;
};

}  // namespace cairn
