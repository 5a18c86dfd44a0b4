#include "rollback/repairs.hpp"

#include <utility>

#include <fmt/format.h>
#include <cairn/error.hpp>

#include "base/check.hpp"
#include "rollback/logged_rank.hpp"

namespace cairn::rollback {

void Repairs::go(Phase next) {
  if (next == phase_) return;
  check(may_follow(phase_, next, host_.computes()));
  phase_ = next;
  const LoggedRank* const rank = host_.rank();
  check(rank == nullptr || can_be(phase_, rank->state()));
}

void Repairs::opens() {
  check(phase_ == Phase::met);
  go(only_lost_ && host_.computes() ? Phase::joined : Phase::computing);
}

bool Repairs::stays() {
  if (stay()) return true;
  host_.tell_of_failure();
  return false;
}

void Repairs::leaves() {
  if (phase_ == Phase::met) return;
  host_.alarm();
  if (!is_over()) go(Phase::struck);
  LoggedRank* const rank = host_.rank();
  if (rank == nullptr || !obstacle_.text.empty()) return;
  host_.look_for_obstacles();
  if (auto why = rank->why_all_roll_back()) obstacle_ = std::move(*why);
}

bool Repairs::stay() {
  if (phase_ == Phase::met) return false;
  leaves();
  LoggedRank* const rank = host_.rank();
  if (rank == nullptr || !obstacle_.text.empty()) return false;
  const bool is_still = host_.leave_world();
  if (!is_still) obstacle_ = {"MPI has not ended the messages that were under way", Obstacle::Weight::known};
  meet({.can_stay = is_still, .have_caught_up = !rank->is_unchecked()});
  if (!only_lost_) return false;
  const Status joined = join(*rank);
  if (!joined) {
    obstacle_ = joined.error().code == Code::communication
                    ? Obstacle{"a process died before all ranks had left restore()", Obstacle::Weight::seen}
                    : Obstacle{joined.error().text(), Obstacle::Weight::known};
    // The others may wait for this rank alone.
    host_.alarm();
  }
  return settled(joined.has_value());
}

Status Repairs::join(LoggedRank& rank) {
  go(Phase::joined);
  if (auto joined = host_.join_world(); !joined) return joined;
  if (auto shipped = rank.settle_prologue(); !shipped) return shipped;
  if (auto made = host_.adopt(); !made) return made;
  if (auto shipped = host_.settle_offer(); !shipped) return shipped;
  host_.go_on();
  return {};
}

bool Repairs::settled(bool ok) {
  if (is_over()) return false;
  const bool all = host_.vote(ok && phase_ == Phase::joined, {});
  go(all ? Phase::computing : Phase::voted);
  return all;
}

// For an agreement of all ranks. A replacement may never come to it, if it has exchanged other messages than the dead
// rank.
std::function<void()> Repairs::impatience() {
  LoggedRank* const rank = host_.rank();
  if (rank == nullptr || !rank->is_unchecked()) return {};
  return [this, rank, patience = rank->begin_patience("finalize()")] {
    if (host_.is_alarmed()) return;
    const auto hopeless = patience();
    if (!hopeless) return;
    rank->obstruct(*hopeless, Until::next_snapshot);
    host_.alarm();
  };
}

// An exception has found a failure, too.
bool Repairs::messages_match() {
  try {
    return host_.check_messages().has_value();
  } catch (const Exception&) {
    return false;
  }
}

bool Repairs::all_finished() {
  while (!is_over()) {
    LoggedRank* const rank = host_.rank();
    if (rank != nullptr && rank->replaces()) {
      // The others wait for it, and it will not come.
      obstacle_ = {fmt::format("rank {} has finished after a failure without restore()", rank->number().value),
                   Obstacle::Weight::known};
      host_.alarm();
    }
    bool all = host_.vote(!host_.is_alarmed(), impatience());
    if (all && rank != nullptr && rank->is_unchecked()) all = host_.vote(messages_match(), {});
    if (all) return true;
    go(Phase::voted);
    if (!stay()) return false;
  }
  return false;
}

void Repairs::cannot_go_on(Obstacle why) { obstacle_ = std::move(why); }

// Unless a call of the session has done so already.
void Repairs::rolls_back() {
  if (phase_ != Phase::met) meet();
}

void Repairs::vote_over(bool well) {
  if (phase_ == Phase::voted) return;
  (void)host_.vote(well, {});
  go(Phase::voted);
}

void Repairs::meet(Vote vote) {
  if (host_.computes()) vote_over(false);
  go(Phase::met);
  vote.obstacle = std::exchange(obstacle_, {});
  only_lost_ = host_.meet(vote);
}

}  // namespace cairn::rollback
