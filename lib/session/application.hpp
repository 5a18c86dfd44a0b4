// The application as its session knows it: its protected regions, its progress, and the results that it was given. It
// may outlive a repair of the running job: it refers to no communicator, store or head; these belong to the Connection.
// A plain value of one thread. Local.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <cairn/session_base.hpp>

#include "base/error.hpp"
#include "base/ids.hpp"
#include "schedule/auto_levels.hpp"
#include "schedule/schedule.hpp"
#include "session/next_notes.hpp"
#include "session/regions.hpp"
#include "session/stored_regions.hpp"

namespace cairn {

// An error that was left for ckpt-run: what a version did not become.
struct MarkedError {
  LevelId level;  // the highest
  Version version;
};

struct BackgroundErrors {
  std::string of_storage;             // text of the last one; empty: none
  std::optional<MarkedError> marked;  // that ckpt-run would find
};

struct Application {
  Rank rank;  // of the application ranks
  std::uint32_t ranks = 0;
  Incarnation incarnation;  // of the connection that it had last
  Regions regions;
  Schedule schedule;                                // of the levels that the connection can use
  std::unique_ptr<AutoLevels> auto_levels;          // null: no level that can be used is `auto`
  Version last_version;                             // that a snapshot has used
  std::uint64_t calls = 0;                          // of snapshot(), in the life of the chain
  std::array<Version, kMostLevels + 1> meant = {};  // newest version meant for each level
  std::optional<LevelSet> decided = std::nullopt;   // the result of due() for the next snapshot()
  // What the snapshot that restore() will restore has, once looked up.
  struct Stored {
    StoredRegions mine;  // in this rank's shard; of another number of ranks, in those that were offered to it
    StoredRegions all;   // of all ranks
    bool of_other_ranks = false;
  };
  std::optional<Stored> stored = std::nullopt;
  RestoreReport report = {};
  BackgroundErrors errors = {};
  NextNotes notes = {};
  std::optional<Error> undefined = std::nullopt;  // a restore failed: the data of the regions is undefined
  double waited_seconds = 0;
  bool restored = false;  // restore() has succeeded, also if there was no snapshot
  bool stop = false;

  // Without one that due() has begun.
  [[nodiscard]] std::uint64_t whole_calls() const { return calls - (decided ? 1 : 0); }
  [[nodiscard]] bool is_under_way() const { return restored || calls > 0; }
};

}  // namespace cairn
