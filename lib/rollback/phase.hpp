// Where a process is in the repair of its job, and what can be true of its rank there. Pure.
#pragma once

namespace cairn::rollback {

enum class Phase {
  computing,  // no failure is known
  struck,     // it knows of a failure
  voted,      // it has voted that the session is over; of an application rank
  met,        // it meets the other live processes, or has met them
  joined,     // its rank is in the repaired world; the ranks have not voted yet whether all can continue
};

// How a process has come to be an application rank. A replacement is one until it has restored, and has taken what
// survivors shipped to it. Then it is a rank like the others, which may have to catch up.
enum class Origin { first, replacement };

struct RankState {
  Origin origin = Origin::first;
  bool catches_up = false;    // computes again what the lost rank had computed
  bool is_unchecked = false;  // messages have not been compared since ranks rolled back alone
  friend bool operator==(const RankState&, const RankState&) = default;
};

// `computes`: whether it is an application rank, which votes before it meets the others.
[[nodiscard]] bool may_follow(Phase before, Phase next, bool computes);
[[nodiscard]] bool can_be(Phase phase, const RankState& rank);

}  // namespace cairn::rollback
