#include "engine/process_watch.hpp"

#include <utility>

namespace cairn {
namespace {

constexpr std::chrono::seconds kFoundAgain{10};
// A debugger that looks around stops a process for less.
constexpr std::chrono::seconds kStoppedFor{2};

}  // namespace

ProcessWatch::ProcessWatch(LookAtProcess look, CountOomKills count_oom_kills)
    : look_(std::move(look)), count_oom_kills_(std::move(count_oom_kills)) {}

void ProcessWatch::begin_look() { kills_before_ = std::exchange(kills_, count_oom_kills_()); }

std::optional<ProcessWatch::Found> ProcessWatch::look(Rank rank, std::int32_t process, Time now) {
  const auto found = look_(process);
  const auto known = processes_.find(rank);
  if (known == processes_.end()) {
    if (found && !found->ended()) processes_.emplace(rank, Process{*found});
    return {};
  }
  Process& one = known->second;
  const bool ended = !found || found->ended() || found->started != one.now.started;
  if (ended && !one.ended && kills_ && kills_before_)
    one.oom_kills = static_cast<std::uint32_t>(*kills_ - *kills_before_);
  one.ended = ended;
  if (!ended) one.now = *found;
  const bool stopped = !ended && found->stopped();
  if (!stopped) one.stopped_since.reset();
  if (stopped && !one.stopped_since) one.stopped_since = now;
  if (now < one.next_report) return {};
  std::optional<Found> wrong;
  if (ended) {
    wrong = Found{SymptomKind::process_failed, 1};
  } else if (stopped && now - *one.stopped_since >= kStoppedFor) {
    wrong = Found{SymptomKind::process_stopped, std::chrono::duration<double>(now - *one.stopped_since).count()};
  }
  if (wrong) one.next_report = now + kFoundAgain;
  return wrong;
}

std::optional<ProcessState> ProcessWatch::state(Rank rank) const {
  const auto known = processes_.find(rank);
  if (known == processes_.end()) return {};
  return known->second.ended ? ProcessState{} : known->second.now;
}

localize::RankProcess ProcessWatch::probe(Rank rank) const {
  const auto known = processes_.find(rank);
  if (known == processes_.end()) return {};
  const Process& one = known->second;
  return {!one.ended, one.stopped_since.has_value(), one.oom_kills};
}

}  // namespace cairn
