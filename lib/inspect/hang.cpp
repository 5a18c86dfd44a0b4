#include "inspect/hang.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "inspect/hang_culprits.hpp"
#include "inspect/hang_words.hpp"

namespace cairn {
namespace {

// One reading a rank: of the newest file. Files of an earlier life of another size are not of this job.
std::map<std::uint32_t, RankReading> newest_of(std::vector<RankReading> readings) {
  std::map<std::uint32_t, RankReading> by_rank;
  const auto newest = std::ranges::max_element(readings, {}, [](const RankReading& r) { return r.calls.opened_at; });
  const std::uint32_t ranks = newest->calls.ranks;
  for (RankReading& reading : readings) {
    if (reading.calls.ranks != ranks) continue;
    const auto [there, added] = by_rank.try_emplace(reading.calls.rank.value);
    if (added || there->second.calls.opened_at < reading.calls.opened_at) there->second = std::move(reading);
  }
  return by_rank;
}

double seconds_since(std::int64_t now, std::int64_t then) {
  constexpr double kNanoseconds = 1e-9;
  return now > then ? static_cast<double>(now - then) * kNanoseconds : 0;
}

// The call that lasts longest.
const LastingCall* longest(const RankCalls& calls) {
  const auto first =
      std::ranges::min_element(calls.lasting, {}, [](const auto& lasting) { return lasting.call.began; });
  return first == calls.lasting.end() ? nullptr : &*first;
}

Doing doing_of(const RankReading& reading) {
  if (reading.process.state == ProcessFacts::State::dead) return Doing::dead;
  if (reading.process.state == ProcessFacts::State::stopped) return Doing::stopped;
  if (!reading.calls.lasting.empty()) return Doing::in_call;
  return reading.calls.polls ? Doing::polls : Doing::computes;
}

std::string brief_text(const Call& call) { return "in " + call.name; }

void describe(const RankReading& reading, RankReport& rank) {
  const RankCalls& calls = reading.calls;
  const LastingCall* lasting = longest(calls);
  const std::string in = lasting == nullptr ? "outside MPI" : "in " + call_text(*lasting);
  switch (rank.doing) {
    case Doing::dead:
    case Doing::stopped:
      rank.what = fmt::format("{}, {}", rank.doing == Doing::dead ? "dead" : "stopped", in);
      rank.brief = rank.doing == Doing::dead ? "dead" : "stopped";
      break;
    case Doing::in_call:
      rank.what = in;
      rank.brief = brief_text(lasting->call);
      break;
    case Doing::polls:
      rank.brief = fmt::format("asking in vain ({})", calls.newest->name);
      rank.what = calls.polled.empty()
                      ? rank.brief
                      : fmt::format("asking in vain ({}) for {}", calls.newest->name, call_text(calls.polled.front()));
      break;
    default:
      rank.brief = rank.what = reading.process.used_processor == false ? "outside MPI, not computing" : "computing";
  }
  // A rank that polls has done so since its first test in vain.
  std::int64_t since = calls.opened;
  if (calls.newest) since = rank.doing == Doing::polls ? calls.polls_since : calls.newest->ended;
  rank.seconds = seconds_since(reading.now, lasting != nullptr ? lasting->call.began : since);
}

RankReport report_of(const RankReading& reading) {
  RankReport rank;
  rank.rank = reading.calls.rank;
  rank.doing = doing_of(reading);
  rank.progressed = reading.calls.progressed;
  rank.lasting = reading.calls.lasting;
  rank.newest = reading.calls.newest;
  rank.process = reading.calls.process;
  rank.host = reading.calls.host;
  describe(reading, rank);
  return rank;
}

// What a job did whose processes are all gone is told as if they lived.
bool bury(std::map<std::uint32_t, RankReading>& by_rank) {
  const auto is_dead = [](const auto& entry) { return entry.second.process.state == ProcessFacts::State::dead; };
  if (!std::ranges::all_of(by_rank, is_dead)) return false;
  for (auto& [rank, reading] : by_rank) reading.process = {};
  return true;
}

void add_absent(const std::vector<Rank>& left, HangReport& report) {
  for (RankReport& rank : report.ranks) {
    if (rank.doing != Doing::unseen) continue;
    report.unseen.push_back(rank.rank);
    if (std::ranges::find(left, rank.rank) != left.end()) rank.doing = Doing::left;
    rank.what = rank.brief = rank.doing == Doing::left ? "left" : "not seen";
  }
}

// In a job that is over, nobody knows until when they waited.
void judge(bool over, const Judged& judged, double after, HangReport& report) {
  const auto counts = [&](const Culprit& culprit) { return over || culprit.seconds >= after; };
  for (const Culprit& culprit : judged.culprits)
    if (counts(culprit)) report.culprits.push_back(culprit);
  std::ranges::stable_sort(report.culprits, [](const Culprit& a, const Culprit& b) {
    return std::tuple(b.waiting.size(), b.certain) < std::tuple(a.waiting.size(), a.certain);
  });
  const bool certain = std::ranges::any_of(report.culprits, &Culprit::certain);
  report.verdict = over                      ? Verdict::over
                   : certain                 ? Verdict::hangs
                   : report.culprits.empty() ? Verdict::healthy
                                             : Verdict::suspect;
}

bool is_told_of(Rank rank, const HangReport& report) {
  return std::ranges::any_of(report.culprits, [=](const Culprit& culprit) {
    return std::ranges::count(culprit.ranks, rank) + std::ranges::count(culprit.waiting, rank) > 0;
  });
}

// What is not known of ranks that have waited long.
void put_gaps(bool over, double after, HangReport& report) {
  std::set<Gap> gaps;
  for (const RankReport& rank : report.ranks) {
    if (rank.progressed || (!over && rank.seconds < after)) continue;
    if (rank.gap) gaps.insert(*rank.gap);
    for (const std::size_t need : rank.needs)
      if (report.needs[need].gap) gaps.insert(*report.needs[need].gap);
  }
  report.gaps.assign(gaps.begin(), gaps.end());
  for (std::string& text : gap_texts(report.gaps)) report.notes.push_back(std::move(text));
}

// Ranks that wait for MPI alone.
void note_what_lasts(double after, HangReport& report) {
  std::vector<std::uint32_t> ranks;
  for (const RankReport& rank : report.ranks) {
    if (rank.gap || is_told_of(rank.rank, report)) continue;
    if (rank.doing == Doing::in_call && rank.needs.empty() && !rank.progressed && rank.seconds >= after)
      ranks.push_back(rank.rank.value);
  }
  if (ranks.empty()) return;
  report.notes.push_back(fmt::format("{} {} in a call for which nobody is missing: that it lasts is up to MPI",
                                     rank_list_text(ranks), ranks.size() == 1 ? "is" : "are each"));
}

std::string healthy_text(const HangReport& report, double after) {
  std::size_t progressed = 0;
  std::size_t outside = 0;
  for (const RankReport& rank : report.ranks) {
    progressed += rank.progressed ? 1 : 0;
    outside += rank.doing == Doing::computes ? 1 : 0;
  }
  const std::size_t seen = report.ranks.size() - report.unseen.size();
  if (progressed > 0) return fmt::format("healthy: {} of {} ranks have just made calls to MPI", progressed, seen);
  if (outside == seen) return "healthy: all ranks compute outside MPI";
  return fmt::format("healthy: no rank has waited longer than {} for another", seconds_text(after));
}

std::string summary_text(const HangReport& report, double after) {
  if (report.verdict == Verdict::healthy) return healthy_text(report, after);
  if (report.verdict == Verdict::over) return "over: its processes are gone; this is what they did at the end";
  const std::string verb = report.verdict == Verdict::hangs ? "hangs" : "may hang";
  std::set<Rank> waiting;
  double seconds = 0;
  for (const Culprit& culprit : report.culprits) {
    waiting.insert(culprit.waiting.begin(), culprit.waiting.end());
    seconds = std::max(seconds, culprit.seconds);
  }
  const Culprit& first = report.culprits.front();
  if (waiting.empty() || first.ranks.empty()) return fmt::format("{}: {}", verb, first.what);
  const std::string whom = report.culprits.size() > 1 ? "others" : rank_list_text(numbers_of(first.ranks));
  return fmt::format("{}: {} of {} ranks wait for {}, the longest for {}", verb, waiting.size(), report.ranks.size(),
                     whom, seconds_text(seconds));
}

}  // namespace

HangReport examine(std::vector<RankReading> readings, const std::vector<Rank>& left, double after) {
  auto by_rank = newest_of(std::move(readings));
  const bool over = bury(by_rank);
  HangReport report;
  report.ranks.resize(by_rank.begin()->second.calls.ranks);
  for (std::uint32_t rank = 0; rank < report.ranks.size(); ++rank) report.ranks[rank].rank = Rank{rank};
  for (const auto& [rank, reading] : by_rank) report.ranks[rank] = report_of(reading);
  add_absent(left, report);

  const Judged judged = find_culprits(by_rank, report);
  judge(over, judged, after, report);
  report.summary = summary_text(report, after);
  report.notes = judged.notes;
  put_gaps(over, after, report);
  if (!over) note_what_lasts(after, report);
  return report;
}

}  // namespace cairn
