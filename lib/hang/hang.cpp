#include "hang/hang.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "hang/blame.hpp"

namespace cairn::hang {
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

Doing doing_of(const RankReading& reading) {
  if (reading.process.state == ProcessFacts::State::dead) return Doing::dead;
  if (reading.process.state == ProcessFacts::State::stopped) return Doing::stopped;
  if (!reading.calls.lasting.empty()) return Doing::in_call;
  if (reading.calls.polls) return Doing::polls;
  return reading.process.used_processor == false ? Doing::idles : Doing::computes;
}

// When it began to do what it does. A rank that polls has done so since its first test without success.
std::int64_t since(const RankCalls& calls, const RankReport& rank) {
  if (const LastingCall* const lasting = rank.longest()) return lasting->call.began;
  if (rank.doing == Doing::polls) return calls.polls_since;
  return std::max({calls.opened, calls.cairn_ended, calls.newest ? calls.newest->ended : 0});
}

// Heads that are processes of their own, as the first reading of each node says.
void add_heads(const std::map<std::uint32_t, RankReading>& by_rank, HangReport& report) {
  std::map<NodeId, HeadReport> heads;
  for (const auto& [rank, reading] : by_rank) {
    if (reading.calls.head_process == 0 || reading.calls.head_rank != kNoPeer) continue;
    HeadReport head{.node = NodeId{reading.calls.node},
                    .process = reading.calls.head_process,
                    .host = reading.calls.host,
                    .facts = reading.head};
    if (head.facts.state == ProcessFacts::State::dead) head.doing = Doing::dead;
    if (head.facts.state == ProcessFacts::State::stopped) head.doing = Doing::stopped;
    if (head.doing == Doing::computes && head.facts.used_processor == false) head.doing = Doing::idles;
    heads.try_emplace(head.node, std::move(head));
  }
  for (auto& [node, head] : heads) report.heads.push_back(std::move(head));
}

RankReport report_of(const RankReading& reading) {
  RankReport rank;
  rank.rank = reading.calls.rank;
  rank.doing = doing_of(reading);
  rank.progressed = reading.calls.progressed;
  rank.lasting = reading.calls.lasting;
  rank.newest = reading.calls.newest;
  rank.polled = reading.calls.polled;
  rank.process = reading.calls.process;
  rank.host = reading.calls.host;
  rank.facts = reading.process;
  rank.seconds = seconds_since(reading.now, since(reading.calls, rank));
  return rank;
}

// What a job did whose processes are all gone is told as if they lived.
bool bury(std::map<std::uint32_t, RankReading>& by_rank) {
  const auto is_dead = [](const auto& entry) { return entry.second.process.state == ProcessFacts::State::dead; };
  if (!std::ranges::all_of(by_rank, is_dead)) return false;
  for (auto& [rank, reading] : by_rank) reading.process = reading.head = {};
  return true;
}

// A communicator that the application has named has its name on all of its ranks, or on those that have come so far.
void add_comms(const std::map<std::uint32_t, RankReading>& by_rank, HangReport& report) {
  std::map<std::string, std::set<std::uint64_t>> named;
  for (const auto& [rank, reading] : by_rank) {
    if (reading.calls.session_comm != 0) report.comms[reading.calls.session_comm].is_session = true;
    for (const auto& [id, name] : reading.calls.comm_names) {
      report.comms[id].name = name;
      named[name].insert(id);
    }
  }
  for (auto& [id, comm] : report.comms) comm.is_unique = comm.name.empty() || named[comm.name].size() == 1;
}

void add_absent(const std::vector<Rank>& left, HangReport& report) {
  for (RankReport& rank : report.ranks) {
    if (rank.doing != Doing::unseen) continue;
    report.unseen.push_back(rank.rank);
    if (std::ranges::find(left, rank.rank) != left.end()) rank.doing = Doing::left;
  }
}

// In a job that is over, nobody knows until when they waited.
void judge(bool over, Judged judged, HangReport& report) {
  for (Finding& finding : judged.findings)
    if (over || finding.cause == Cause::all_stopped || finding.waited_seconds >= report.patience.certain)
      report.findings.push_back(std::move(finding));
  std::ranges::stable_sort(report.findings, [](const Finding& a, const Finding& b) {
    return std::tuple(b.waiting.size(), a.certainty) < std::tuple(a.waiting.size(), b.certainty);
  });
  report.notes = std::move(judged.notes);
  const auto is_certain = [](const Finding& finding) { return finding.certainty == Certainty::certain; };
  const auto lasts = [&](const Finding& finding) { return finding.waited_seconds >= report.patience.likely; };
  report.verdict = over                                               ? Verdict::over
                   : std::ranges::any_of(report.findings, is_certain) ? Verdict::hangs
                   : std::ranges::any_of(report.findings, lasts)      ? Verdict::suspect
                   : report.findings.empty()                          ? Verdict::healthy
                                                                      : Verdict::waits;
}

bool is_told_of(Rank rank, const HangReport& report) {
  return std::ranges::any_of(report.findings, [=](const Finding& finding) {
    return std::ranges::count(finding.ranks, rank) + std::ranges::count(finding.waiting, rank) > 0;
  });
}

// What is not known of ranks that have waited long.
void put_gaps(bool over, HangReport& report) {
  std::set<Gap> gaps;
  for (const RankReport& rank : report.ranks) {
    if (rank.progressed || (!over && rank.seconds < report.patience.certain)) continue;
    if (rank.gap) gaps.insert(*rank.gap);
    for (const std::size_t need : rank.needs)
      if (report.needs[need].gap) gaps.insert(*report.needs[need].gap);
  }
  report.gaps.assign(gaps.begin(), gaps.end());
}

// Ranks that wait for MPI alone, or for what the heads do.
void note_what_lasts(HangReport& report) {
  Note mpi{.cause = Note::Cause::waits_for_mpi};
  Note heads{.cause = Note::Cause::waits_for_heads};
  for (const RankReport& rank : report.ranks) {
    if (rank.gap || is_told_of(rank.rank, report)) continue;
    if (rank.doing == Doing::in_call && is_understood(rank.longest()->call) && rank.needs.empty() && !rank.progressed &&
        rank.seconds >= report.patience.certain)
      (is_cairn(rank.longest()->call) ? heads : mpi).ranks.push_back(rank.rank);
  }
  for (Note* const note : {&mpi, &heads})
    if (!note->ranks.empty()) report.notes.push_back(std::move(*note));
}

}  // namespace

const LastingCall* RankReport::longest() const {
  const auto first = std::ranges::min_element(lasting, {}, [](const auto& one) { return one.call.began; });
  return first == lasting.end() ? nullptr : &*first;
}

HangReport examine(std::vector<RankReading> readings, const std::vector<Rank>& left, const Patience& patience) {
  auto by_rank = newest_of(std::move(readings));
  const bool over = bury(by_rank);
  HangReport report;
  report.patience = patience;
  report.ranks.resize(by_rank.begin()->second.calls.ranks);
  for (std::uint32_t rank = 0; rank < report.ranks.size(); ++rank) report.ranks[rank].rank = Rank{rank};
  for (const auto& [rank, reading] : by_rank) report.ranks[rank] = report_of(reading);
  add_absent(left, report);
  add_comms(by_rank, report);
  add_heads(by_rank, report);

  judge(over, find_culprits(by_rank, report), report);
  put_gaps(over, report);
  if (!over) note_what_lasts(report);
  return report;
}

}  // namespace cairn::hang
