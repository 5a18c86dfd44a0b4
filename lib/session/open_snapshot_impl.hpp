// A snapshot that this rank has open: its own shard, and what the heads know of the snapshot. It is closed when its
// session ends, or loses its connection. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <cairn/open_snapshot.hpp>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/ids.hpp"
#include "format/notes.hpp"
#include "format/shard.hpp"

namespace cairn {

class SessionImpl;

// What calls of a closed one say.
[[nodiscard]] Error closed_snapshot();

class OpenSnapshotImpl {
 public:
  OpenSnapshotImpl(SessionImpl& session, const Identity& snapshot, SnapshotNotes notes, Shard shard);
  ~OpenSnapshotImpl();
  OpenSnapshotImpl(const OpenSnapshotImpl&) = delete;
  OpenSnapshotImpl& operator=(const OpenSnapshotImpl&) = delete;

  [[nodiscard]] bool is_open() const { return session_ != nullptr; }
  [[nodiscard]] const Identity& snapshot() const { return snapshot_; }
  [[nodiscard]] const SnapshotNotes& notes() const { return notes_; }
  [[nodiscard]] const std::vector<SnapshotRegion>& regions() const { return regions_; }
  [[nodiscard]] bool recoverable() const { return recoverable_; }

  // The position of the region in regions().
  [[nodiscard]] Result<std::size_t> find(const std::string& name) const;
  // Returns the bytes of the region. Requires: it is open.
  [[nodiscard]] Result<std::size_t> read(const std::string& name, MutableBytes into) const;
  // Writes a file or a directory. Requires: it is open.
  [[nodiscard]] Status extract(const std::string& name, const std::string& path) const;
  // The number of the region's elements, if they are of the type of `wanted`.
  [[nodiscard]] Result<std::size_t> elements_of(const std::string& name, const RegionInfo& wanted) const;
  // Collective. Requires: it is open.
  [[nodiscard]] Result<bool> close(bool good);
  // The session has closed it, or has lost its connection. Local.
  void end(const Error& why);
  // Why it cannot be read.
  [[nodiscard]] Status usable() const { return is_open() ? Status{} : fail(closed_); }

 private:
  SessionImpl* session_;  // null: closed
  Error closed_;
  const bool recoverable_;
  const Identity snapshot_;
  const SnapshotNotes notes_;
  std::optional<Shard> shard_;
  std::vector<SnapshotRegion> regions_;
};

// Those of a session, which it closes when it ends.
class OpenSnapshots {
 public:
  void add(OpenSnapshotImpl& open) { open_.insert(&open); }
  void remove(OpenSnapshotImpl& open) { open_.erase(&open); }
  // Closes all of them.
  void end(const Error& why) {
    for (OpenSnapshotImpl* const open : std::exchange(open_, {})) open->end(why);
  }
  // One of them; nothing: none is open.
  [[nodiscard]] std::optional<Identity> first() const {
    if (open_.empty()) return {};
    return (*open_.begin())->snapshot();
  }

 private:
  std::set<OpenSnapshotImpl*> open_;
};

}  // namespace cairn
