#include "engine/blockers.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "hang/short_form.hpp"

namespace cairn {
namespace {

using localize::Blocker;

std::optional<Blocker::Doing> doing_of(hang::Doing doing) {
  switch (doing) {
    case hang::Doing::computes: return Blocker::Doing::computes;
    case hang::Doing::idles: return Blocker::Doing::idles;
    case hang::Doing::in_call: return Blocker::Doing::in_call;
    case hang::Doing::polls: return Blocker::Doing::polls;
    case hang::Doing::stopped:
    case hang::Doing::dead:
    case hang::Doing::left:
    case hang::Doing::unseen: break;
  }
  return std::nullopt;
}

std::string call_of(const hang::RankReport& rank) {
  if (const hang::LastingCall* const lasting = rank.longest()) return lasting->call.name;
  return rank.newest ? rank.newest->name : "";
}

// Of those that wait, the call in which the one is that has waited longest.
std::string awaited_call(const hang::HangReport& report, const hang::Finding& finding) {
  if (finding.need) return report.needs.at(*finding.need).call.name;
  const auto longest =
      std::ranges::max_element(finding.waiting, {}, [&](Rank rank) { return report.ranks.at(rank.value).seconds; });
  return call_of(report.ranks.at(longest->value));
}

bool is_deadlock(const hang::Finding& finding) {
  return finding.cause == hang::Cause::circle || finding.cause == hang::Cause::collective_mismatch ||
         finding.cause == hang::Cause::left_out;
}

// What is the same for all ranks of a finding.
Blocker blocker_of(const hang::HangReport& report, const hang::Finding& finding) {
  Blocker blocker;
  blocker.awaited = awaited_call(report, finding);
  blocker.waiting = static_cast<std::uint32_t>(finding.waiting.size());
  blocker.waited = finding.waited_seconds;
  blocker.likely = finding.certainty != hang::Certainty::unknown;
  blocker.unseen = static_cast<std::uint32_t>(report.unseen.size());
  return blocker;
}

// As one, of its first rank.
Blocker deadlock_of(const hang::HangReport& report, const hang::Finding& finding) {
  Blocker blocker = blocker_of(report, finding);
  blocker.suspect.rank = finding.ranks.front();
  blocker.doing = Blocker::Doing::differs;
  blocker.ranks = finding.ranks;
  blocker.seconds = finding.since_seconds;
  if (finding.call) blocker.call = finding.call->name;
  if (finding.cause == hang::Cause::left_out) blocker.doing = Blocker::Doing::left_out;
  if (finding.cause != hang::Cause::circle) return blocker;
  blocker.doing = Blocker::Doing::waits;
  blocker.suspect.rank = Rank{finding.circle.front().rank};
  blocker.call = call_of(report.ranks.at(blocker.suspect.rank->value));
  blocker.ranks.clear();
  for (const hang::Step& step : finding.circle) blocker.ranks.push_back(Rank{step.rank});
  return blocker;
}

// Of ranks that do something else.
void add_those_who_do_something_else(const hang::HangReport& report, const hang::Finding& finding, double after,
                                     std::vector<Blocker>& blockers) {
  if (!finding.heads.empty() || finding.ranks.empty() || finding.ranks.size() > finding.waiting.size()) return;
  if (finding.waited_seconds < after) return;
  for (const Rank rank : finding.ranks) {
    const hang::RankReport& one = report.ranks.at(rank.value);
    const auto doing = doing_of(one.doing);
    if (!doing || one.progressed || one.seconds < after) continue;
    Blocker& blocker = blockers.emplace_back(blocker_of(report, finding));
    blocker.suspect.rank = rank;
    blocker.doing = *doing;
    blocker.seconds = one.seconds;
    blocker.call = call_of(one);
  }
}

}  // namespace

bool is_worth_a_survey(double waited, const hang::Patience& patience) {
  // Longer than the time between two surveys: the first wish may come too early.
  constexpr double kWishLasts = 12;
  if (waited >= patience.likely) return true;
  if (waited < patience.certain) return false;
  double last = patience.certain;
  while (2 * last <= waited) last *= 2;
  return waited - last < kWishLasts;
}

std::vector<Blocker> find_blockers(std::vector<hang::RankReading> readings, const std::function<NodeId(Rank)>& node_of,
                                   const hang::Patience& patience) {
  if (readings.empty()) return {};
  const hang::HangReport report = hang::examine(std::move(readings), {}, patience);
  std::vector<Blocker> blockers;
  for (const hang::Finding& finding : report.findings) {
    const bool certain = finding.certainty == hang::Certainty::certain;
    if (!is_deadlock(finding)) {
      add_those_who_do_something_else(report, finding, patience.likely, blockers);
    } else if (certain || finding.waited_seconds >= patience.likely) {
      blockers.push_back(deadlock_of(report, finding));
    }
  }
  for (Blocker& blocker : blockers) blocker.suspect.node = node_of(*blocker.suspect.rank);
  return blockers;
}

std::vector<Blocker> find_blockers(const localize::CallReports& reports, std::uint32_t ranks,
                                   const std::function<NodeId(Rank)>& node_of, const hang::Patience& patience) {
  std::vector<hang::RankReading> readings;
  std::vector<NodeId> silent = reports.silent;
  const auto is_of_job = [&](const hang::RankReading& reading) { return reading.calls.ranks == ranks; };
  for (const auto& [node, bytes] : reports.calls) {
    auto read = hang::decode_readings(bytes);
    const bool good = read && std::ranges::all_of(*read, is_of_job);
    if (!good) silent.push_back(node);
    if (good) std::ranges::move(*read, std::back_inserter(readings));
  }
  std::ranges::sort(silent);
  auto blockers = find_blockers(std::move(readings), node_of, patience);
  for (Blocker& blocker : blockers) blocker.silent = silent;
  return blockers;
}

}  // namespace cairn
