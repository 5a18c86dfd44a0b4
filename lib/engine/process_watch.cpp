#include "engine/process_watch.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "localize/detect.hpp"

namespace cairn {
namespace {

constexpr std::chrono::seconds kFoundAgain{10};
// A debugger that looks around stops a process for less.
constexpr std::chrono::seconds kStoppedFor{2};

// Looks that say how a process does: some 15 seconds.
constexpr std::size_t kLooks = 16;
constexpr double kSlowShare = 0.25;
// Of which ranks that wait for a processor stand out.
constexpr std::size_t kFewestSiblings = 4;
constexpr double kTimesTheMedian = 3;

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
  const bool stopped = !ended && found->stopped();
  // One that is continued for moments between the looks has used processor time.
  const bool has_run = !ended && found->ticks != one.now.ticks;
  if (!stopped || has_run) one.stopped_since.reset();
  if (stopped && !one.stopped_since) one.stopped_since = now;
  if (!ended) {
    one.now = *found;
    one.looks.push_back({now, found->waited, stopped && now - *one.stopped_since < kStoppedFor});
    if (one.looks.size() > kLooks) one.looks.pop_front();
  }
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

// The share of the time in which it waited for a processor; none: there were too few looks.
std::optional<double> ProcessWatch::crowding_of(const Process& process) {
  if (process.ended || process.looks.size() < kLooks) return {};
  const auto& first = process.looks.front();
  const auto& last = process.looks.back();
  return std::chrono::duration<double>(last.waited - first.waited) / std::chrono::duration<double>(last.at - first.at);
}

std::optional<localize::RankPace> ProcessWatch::pace(Rank rank) const {
  const auto known = processes_.find(rank);
  const auto own = known == processes_.end() ? std::nullopt : crowding_of(known->second);
  if (!own) return {};
  localize::RankPace pace;
  const auto& looks = known->second.looks;
  pace.held = static_cast<double>(std::ranges::count_if(looks, [](const auto& look) { return look.held; })) / kLooks;
  std::vector<double> all;
  for (const auto& [other, process] : processes_)
    if (const auto crowding = crowding_of(process)) all.push_back(*crowding);
  if (all.size() < kFewestSiblings) return pace;
  const double median = localize::median_of(all);
  const localize::DetectorLimits limits;
  const bool far =
      *own - median > limits.slow_deviations * localize::spread_of(all) && *own >= kTimesTheMedian * median;
  if (far) pace.crowded = *own;
  return pace;
}

std::optional<ProcessWatch::Found> ProcessWatch::look_at_pace(Rank rank, Time now) {
  const auto found = pace(rank);
  if (!found) return {};
  Process& one = processes_.at(rank);
  const double lost = std::max(found->held, found->crowded);
  if (lost < kSlowShare || now < one.next_pace) return {};
  one.next_pace = now + kFoundAgain;
  return Found{SymptomKind::slow_rank, 1 / std::max(1 - lost, 0.01)};
}

std::optional<std::uint64_t> ProcessWatch::ticks(std::size_t ranks) const {
  std::uint64_t sum = 0;
  std::size_t alive = 0;
  for (const auto& [rank, process] : processes_)
    if (!process.ended) sum += process.now.ticks, ++alive;
  return alive == ranks ? std::optional(sum) : std::nullopt;
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
  const bool stopped =
      one.stopped_since && !one.looks.empty() && one.looks.back().at - *one.stopped_since >= kStoppedFor;
  return {!one.ended, stopped, one.oom_kills};
}

}  // namespace cairn
