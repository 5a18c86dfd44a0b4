// What a rehearsal has seen on the way, from the notes of the undisturbed run's ranks: uses of the session, and
// messages, that go well only as long as nothing fails. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "session/rehearsal_notes.hpp"

namespace ckpt_run {

struct RehearsalFinding {
  enum class Kind : std::uint8_t {
    no_restore,               // `rank` never calls restore()
    snapshot_before_restore,  // `rank` calls snapshot() so many (`count`) times before restore()
    protected_late,           // `rank` protects the region `name` after restore()
    uneven_calls,             // `rank` makes `call` calls of snapshot(), and `other` makes `count`
    no_finalize,              // `rank` ends without finalize()
    pending_requests,         // in its call `call`, `rank` has `count` active requests, one of them from `name`
    crossing_messages,        // at `call`, all have sent `count` messages more to `rank` than it has received
    long_quiet,  // `rank` makes no call for `count` milliseconds, which is more than [localize] stuck_after
  };
  Kind kind = Kind::no_restore;
  cairn::Rank rank;
  cairn::Rank other = {};
  std::uint64_t call = 0;  // of snapshot(), from 1 on
  std::uint64_t count = 0;
  std::string name = {};
  std::uint64_t ranks = 1;  // that have this; `rank` is the first
  friend bool operator==(const RehearsalFinding&, const RehearsalFinding&) = default;
};

// One for each kind that there is, or for each region that is protected late. `stuck_after`: none if it is off.
[[nodiscard]] std::vector<RehearsalFinding> findings_in(const std::vector<cairn::RankNotes>& notes,
                                                        std::optional<std::chrono::milliseconds> stuck_after);

// The rank that was longest without a call of MPI or of the session.
struct LongestQuiet {
  cairn::Rank rank;
  std::chrono::milliseconds time{};
};
[[nodiscard]] LongestQuiet longest_quiet(const std::vector<cairn::RankNotes>& notes);

// "pending_requests": for --json.
[[nodiscard]] std::string name_of(RehearsalFinding::Kind kind);
// One line.
[[nodiscard]] std::string text_of(const RehearsalFinding& finding);

}  // namespace ckpt_run
