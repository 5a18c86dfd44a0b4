#include "torture/model.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::torture {
namespace {

constexpr std::uint32_t kGlobal = 4;

std::uint64_t newest_of(const std::set<std::uint64_t>& stamps) { return stamps.empty() ? 0 : *stamps.rbegin(); }

// An error begins with its kind, unless it was read from the log.
bool is(const std::string& error, std::string_view kind) {
  return error.starts_with(fmt::format("{}: ", kind)) || error.starts_with(kFromLog);
}
bool names_a_file(const std::string& error) { return error.find(".json") != std::string::npos; }

}  // namespace

void Model::hurt(Promise& promise, std::optional<std::uint32_t> host) const {
  if (host) {
    promise.hurt.insert(*host);
  } else {
    promise.global_hurt = true;
  }
}

void Model::host_is_hurt(std::uint32_t host) {
  for (Promise& promise : promises_) hurt(promise, host);
  hurt_now_[host] = newest_of(tried_);
  for (auto& [version, takings] : taken_) {
    for (Taken& taken : takings) taken.hurt |= taken.hosts.contains(host);
  }
}

void Model::version_is_hurt(std::optional<std::uint32_t> host, std::uint32_t version) {
  if (!host) branches_.is_unpinned(version);
  robbed_now_.push_back({host, version, newest_of(tried_)});
  for (Promise& promise : promises_) rob(promise, robbed_now_.back());
  const auto takings = taken_.find(version);
  if (!host || takings == taken_.end()) return;
  for (Taken& taken : takings->second) taken.hurt |= taken.hosts.contains(*host);
}

// An older version may have been retired for the one that is lost now. Where it cannot have been, that one does not
// count towards those that are kept.
void Model::rob(Promise& promise, const Robbery& robbery) const {
  const auto newer_then =
      static_cast<std::uint64_t>(std::distance(promise.newer.begin(), promise.newer.upper_bound(robbery.until)));
  promise.may_be_retired |= newer_then >= promise.keep;
  const bool same = promise.version == robbery.version;
  const bool only_there = promise.may_be_in_global_alone && !robbery.host && promise.version < robbery.version;
  if (same || only_there || promise.may_be_retired || promise.may_be_over) {
    hurt(promise, robbery.host);
  } else {
    promise.newer.erase(stamp_of(robbery.version));
  }
}

// 0: it was never told of.
std::uint64_t Model::stamp_of(std::uint32_t version) const {
  const auto takings = taken_.find(version);
  return takings == taken_.end() ? 0 : takings->second.back().stamp;
}

// The same, or that of which it came back.
std::uint64_t Model::state_of(std::uint32_t version) const {
  const std::uint64_t stamp = stamp_of(version);
  const auto seen = came_back_.find(version);
  return stamp > 0 || seen == came_back_.end() ? stamp : seen->second;
}

void Model::global_is_hurt(bool lost) {
  for (Promise& promise : promises_) hurt(promise, std::nullopt);
  hurt_now_[std::nullopt] = newest_of(tried_);
  branches_.forget();
  // Its records, or one of them: that the chain was ended need not be known any more.
  must_be_fresh_ = false;
  if (lost) may_be_fresh_ = true;
  global_was_lost_ |= lost;
  mark_was_lost_ |= lost;
}

void Model::begin_life(Circumstances circumstances) {
  now_ = std::move(circumstances);
  taken_now_.clear();
  promises_before_choice_.reset();
  branches_.begin_life();
  // Numbers that no store has seen are given again. A store that is away now may still hold such a version; when the
  // store comes back, so may that state.
  std::erase_if(taken_, [&](const auto& takings) {
    if (safe_.contains(takings.first)) return false;
    for (const Taken& taken : takings.second) told_.erase(taken.stamp);
    return true;
  });
  hurt_now_.clear();
  robbed_now_.clear();
  state_ = State::own;
  rejected_now_ = 0;
  for (Promise& promise : promises_) {
    promise.of_this_life = promise.is_of_other_ranks = false;
    promise.keep = std::min(promise.keep, promise.level == kGlobal ? now_.keep_global : now_.keep_local);
  }
}

void Model::tries(std::uint64_t stamp) {
  tried_.insert(stamp);
  must_be_fresh_ = false;
  if (state_ == State::of_other_ranks) state_ = State::tried_since;
  for (Promise& promise : promises_) {
    if (promise.is_of_other_ranks) replace(promise);
    promise.newer.insert(stamp);
    promise.may_be_retired |= promise.newer.size() >= promise.keep;
    if (!now_.anew || promise.of_this_life) continue;
    promise.may_be_over = true;
    promise.hosts.insert(now_.hosts.begin(), now_.hosts.end());
  }
}

void Model::takes(std::uint32_t version, std::uint64_t stamp) {
  told_.insert(stamp);
  std::vector<Taken>& takings = taken_[version];
  taken_now_.insert(version);
  if (!takings.empty() && takings.back().stamp == stamp) return;
  const auto is_of_it = [&](const Robbery& robbery) {
    return robbery.version == version && robbery.host && now_.hosts.contains(*robbery.host);
  };
  // A rank may say so when its store has lost it again.
  bool hurt = std::ranges::any_of(robbed_now_, is_of_it);
  for (const auto& [place, until] : hurt_now_) hurt |= place && now_.hosts.contains(*place) && stamp <= until;
  takings.push_back({stamp, now_.hosts, false, hurt});
}

void Model::is_safe(std::uint32_t level, std::uint32_t version) {
  if (version == 0 || branches_.may_have_left(state_of(version))) return;
  if (level == kGlobal) branches_.is_safe(version, state_of(version));
  safe_.insert(version);
  const bool now = taken_now_.contains(version);
  if (now) state_ = State::own;
  if (version > rejected_now_) rejected_now_ = 0;
  if (now) taken_[version].back().safe = true;
  // A chain that began anew has a snapshot now, and the old one is over.
  if (now_.anew && now) std::erase_if(promises_, [](const Promise& old) { return !old.of_this_life; });
  Promise promise;
  promise.version = version;
  promise.level = level;
  promise.of_this_life = now;
  promise.hosts = now_.hosts;
  promise.survives = level == 2 ? now_.copies : level == 3 ? now_.parity : 0;
  promise.keep = level == kGlobal ? now_.keep_global : now_.keep_local;
  const std::uint64_t stamp = stamp_of(version);
  promise.newer = {tried_.upper_bound(stamp), tried_.end()};
  for (const auto& [place, until] : hurt_now_) {
    if (stamp <= until) hurt(promise, place);
  }
  // A rank may tell of it late, when others have gone on and stores have lost what they took.
  for (const Robbery& robbery : robbed_now_) rob(promise, robbery);
  promise.may_be_retired |= promise.newer.size() >= promise.keep;
  std::erase_if(promises_, [&](const Promise& old) { return old.version == version && old.level == level; });
  promises_.push_back(promise);
  must_be_fresh_ = false;
  // A global store that has lost the chain's records under way has them again with the next version.
  const auto lost = hurt_now_.find(std::nullopt);
  if (lost == hurt_now_.end() || (level == kGlobal && stamp > lost->second)) may_be_fresh_ = false;
}

void Model::finished(bool for_certain) {
  promises_.clear();
  safe_.clear();
  branches_.end();
  came_back_.clear();
  taken_.clear();  // where nothing is left of a chain the numbers begin again
  may_be_fresh_ = true;
  must_be_fresh_ = for_certain;
}

void Model::ends_badly() {
  for (Promise& promise : promises_) promise.may_be_in_global_alone |= promise.level != kGlobal;
}

bool Model::is_of_this_life(std::uint32_t version) const {
  return taken_now_.contains(version) && taken_.at(version).back().safe;
}

std::uint64_t Model::losses_of(const Promise& promise) const {
  return static_cast<std::uint64_t>(std::ranges::count_if(promise.hosts, [&](std::uint32_t host) {
    // Stores of other hosts are not opened in this life.
    return promise.hurt.contains(host) || !now_.hosts.contains(host);
  }));
}

bool Model::holds(const Promise& promise) const {
  if ((promise.level == kGlobal || promise.may_be_in_global_alone) && promise.global_hurt) return false;
  if (promise.level == kGlobal && !promise.may_be_over) return true;
  // What came after a fresh start may be at L1 only, and nobody was told of it; then that is lost, and not this.
  return losses_of(promise) <= (promise.may_be_over ? 0 : promise.survives);
}

// What came back is made redundant again as this life's configuration says, on its nodes. Where the level is off now it
// stays as it is, if nothing of it is missing; else it counts there no longer.
void Model::move(Promise& promise) const {
  const std::uint32_t now = promise.level == 2 ? now_.copies : now_.parity;
  const bool is_local = promise.level != kGlobal;
  if (is_local && (now > 0 || losses_of(promise) > 0)) promise.survives = std::min(promise.survives, now);
  if (promise.level != kGlobal) promise.hosts.insert(now_.hosts.begin(), now_.hosts.end());
}

// A snapshot of other ranks is replaced by one that survives what today's nodes can.
void Model::replace(Promise& promise) const {
  promise.is_of_other_ranks = false;
  if (promise.level == kGlobal) return;
  promise.survives = std::min(promise.survives, promise.level == 2 ? now_.copies : now_.parity);
  promise.hosts.insert(now_.hosts.begin(), now_.hosts.end());
}

void Model::give_up_what_is_newer_than(const Restored& seen) {
  came_back_[seen.version] = seen.stamp;
  std::erase_if(promises_, [&](const Promise& promise) { return promise.version > seen.version; });
  for (Promise& promise : promises_) {
    promise.is_of_other_ranks = seen.of_other_ranks;
    if (!seen.of_other_ranks) move(promise);
    if (promise.version == seen.version) promise.may_be_over = false;
    promise.newer.erase(promise.newer.upper_bound(seen.stamp), promise.newer.end());
  }
}

// Newer versions that are left now may have taken their place.
void Model::give_up_what_may_be_retired() {
  std::erase_if(promises_, [](const Promise& promise) { return promise.may_be_retired; });
}

// Whether it may not be, or cannot be, the version that was the last to be chosen at a start, which the first call of a
// life does not choose again.
bool Model::may_be_a_choice(const Asked& asked) const {
  return asked.by == Asked::By::choice || (asked.by == Asked::By::first_choice && !branches_.is_last(asked.version));
}
bool Model::is_a_choice(const Asked& asked) const {
  return asked.by == Asked::By::choice ||
         (asked.by == Asked::By::first_choice && !branches_.may_be_last(asked.version));
}

void Model::chooses(const Asked& asked) {
  if (!may_be_a_choice(asked)) return;
  if (!promises_before_choice_) promises_before_choice_ = promises_;
  branches_.chooses({asked.version, asked.by == Asked::By::first_choice}, state_of(asked.version), newest_of(tried_));
  give_up_what_may_be_retired();
  std::erase_if(promises_, [&](const Promise& promise) { return promise.version > asked.version; });
}

void Model::rejects(std::uint32_t version, std::uint64_t stamp) {
  branches_.rejects(stamp);
  rejected_now_ = version;
  branches_.is_unpinned(version);
  give_up_what_may_be_retired();
  std::erase_if(promises_, [&](const Promise& promise) { return promise.version == version; });
}

// If its record cannot be written, as when the job dies at that operation, later lives do not know.
void Model::has_rejected(std::uint64_t stamp) {
  if (now_.faults == Faults::none) branches_.has_rejected(stamp);
}

// The last one that has that number. A life that went on from something older, since it had not the stores of those
// that came after, gives their numbers again; where it dies too soon, or its own stores are missing in turn, those come
// back.
bool Model::may_be(const std::vector<Taken>& takings, std::uint64_t stamp) const {
  for (auto taken = takings.rbegin(); taken != takings.rend(); ++taken) {
    if (taken->stamp == stamp) return true;
    const bool all_there = std::ranges::includes(now_.hosts, taken->hosts);
    if (all_there && taken->safe && !taken->hurt && now_.faults != Faults::of_stores) return false;
  }
  return !told_.contains(stamp);
}

std::uint32_t Model::promised() const {
  std::uint32_t newest = 0;
  for (const Promise& promise : promises_) {
    if (holds(promise)) newest = std::max(newest, promise.version);
  }
  return newest;
}

std::uint32_t Model::promised_without_shaky() const {
  std::uint32_t newest = 0;
  for (Promise promise : promises_) {
    for (const auto& place : now_.shaky) hurt(promise, place);
    if (holds(promise)) newest = std::max(newest, promise.version);
  }
  return newest;
}

std::string Model::judge_fresh() const {
  if (now_.required) return "a fresh start, although a snapshot was required";
  if (now_.anew) {
    const bool safe = std::ranges::any_of(promises_, [&](const Promise& it) { return it.of_this_life && holds(it); });
    return safe && now_.faults != Faults::of_stores ? "a fresh start, although this life has a snapshot" : "";
  }
  if (promised() > 0) return fmt::format("a fresh start, although version {} was promised", promised());
  return may_be_fresh_ ? "" : "a fresh start, although snapshots were told to be safe";
}

std::string Model::judge_restored(const Restored& seen) const {
  // The record that says so may be what cannot be read.
  if (must_be_fresh_ && now_.faults != Faults::of_stores)
    return fmt::format("version {} came back after the chain was ended", seen.version);
  if (now_.strangers) return fmt::format("version {} came back, though its ranks are others", seen.version);
  if (all_can_be_read() && branches_.has_left(seen.stamp))
    return fmt::format("version {} came back, which was rejected, or left for an older one", seen.version);
  if (!tried_.contains(seen.stamp)) return fmt::format("version {} is of a state that never was", seen.version);
  if (now_.anew && seen.stamp < now_.first_stamp)
    return fmt::format("version {} came back, which was there before a fresh start", seen.version);
  const auto taken = taken_.find(seen.version);
  // Where all that knew the numbers is lost they begin again.
  if (!global_was_lost_ && taken != taken_.end() && !may_be(taken->second, seen.stamp)) {
    return fmt::format("version {} was taken of state {}, and came back as {}", seen.version,
                       taken->second.back().stamp, seen.stamp);
  }
  if (all_can_be_read() && seen.version < promised_without_shaky())
    return fmt::format("version {} came back, {} was promised", seen.version, promised_without_shaky());
  return {};
}

std::string Model::judge_error(const std::string& error) const {
  if (now_.faults != Faults::none && now_.shaky.empty()) return {};
  if (now_.strangers && (is(error, "mismatch") || is(error, "unrecoverable"))) return {};
  if (now_.others && is(error, "unrecoverable") && names_a_file(error)) return {};
  // A chain that began when only some of the nodes were there to tell of the old one; the others' stores are refused.
  if (mark_was_lost_ && is(error, "mismatch")) return {};
  const std::uint32_t version = promised_without_shaky();
  if (version > 0 && !now_.anew) return fmt::format("version {} was promised, but: {}", version, error);
  if (now_.required || !now_.shaky.empty()) return {};
  if (now_.anew) return "a fresh start was asked for, but: " + error;
  // Once the records are lost, nobody can tell which life a damaged snapshot is of, and whether that life came before
  // the end of the chain.
  if (global_was_lost_ && is(error, "unrecoverable") && names_a_file(error)) return {};
  if (must_be_fresh_) return "the chain was ended, but the next start failed: " + error;
  return {};
}

// Nothing changes by it. There may be nothing to read: the job is anew, or its chain has ended.
std::string Model::judge_open(const std::vector<Restored>& seen, const std::string& error, Asked::By by) const {
  const std::uint32_t pinned = branches_.newest_pinned();
  if (by == Asked::By::open_pinned) {
    if (!seen.empty() && all_can_be_read() && seen[0].version < pinned)
      return fmt::format("version {} was opened, {} is pinned", seen[0].version, pinned);
    const bool may_fail = !branches_.newest_is_pinned() || now_.faults != Faults::none || is(error, "mismatch");
    return error.empty() || may_fail ? "" : fmt::format("version {} is pinned, but: {}", pinned, error);
  }
  if (!seen.empty()) return judge_restored(seen[0]);
  return is(error, "mismatch") || must_be_fresh_ || now_.anew ? "" : judge_error(error);
}

std::string Model::judge_choice(const std::vector<Restored>& seen, const std::string& error, std::uint32_t version) {
  const auto before = std::exchange(promises_before_choice_, std::nullopt);
  if (!seen.empty() && !error.empty()) return {};  // nobody can tell
  if (seen.empty()) {
    const bool was_promised = std::ranges::any_of(
        promises_, [&](const Promise& promise) { return promise.version == version && holds(promise); });
    if (now_.faults != Faults::none) return {};
    branches_.has_not_chosen();
    if (before) promises_ = *before;
    return was_promised ? fmt::format("version {} was chosen, but: {}", version, error) : "";
  }
  if (seen[0].version != version || seen[0].fresh)
    return fmt::format("version {} was chosen, and {} came back", version, seen[0].version);
  branches_.has_chosen(seen[0].stamp);
  must_be_fresh_ = false;  // a chain that has ended can be chosen
  const std::string wrong = judge_restored(seen[0]);
  if (!wrong.empty()) return wrong;
  give_up_what_is_newer_than(seen[0]);
  state_ = seen[0].of_other_ranks ? State::of_other_ranks : State::own;
  return {};
}

std::string Model::judge(const std::vector<Restored>& seen, const std::string& error, Asked asked) {
  for (const Restored& one : seen) {
    if (one.fresh != seen[0].fresh || one.version != seen[0].version || one.stamp != seen[0].stamp)
      return fmt::format("ranks went on from different states: version {} and {}", seen[0].version, one.version);
  }
  if (asked.by == Asked::By::open || asked.by == Asked::By::open_pinned) return judge_open(seen, error, asked.by);
  const bool may_be_a_choice = this->may_be_a_choice(asked);
  const bool is_chosen = may_be_a_choice && !seen.empty() && seen[0].version == asked.version;
  if (is_a_choice(asked) || is_chosen) return judge_choice(seen, error, asked.version);
  branches_.has_not_chosen();
  promises_before_choice_.reset();
  if (!seen.empty()) {
    const std::string wrong = seen[0].fresh ? judge_fresh() : judge_restored(seen[0]);
    if (!wrong.empty()) return wrong;
    give_up_what_is_newer_than(seen[0]);
    state_ = seen[0].of_other_ranks ? State::of_other_ranks : State::own;
    may_be_fresh_ |= seen[0].fresh;
    must_be_fresh_ &= seen[0].fresh;
  }
  return error.empty() || may_be_a_choice ? "" : judge_error(error);
}

}  // namespace cairn::torture
