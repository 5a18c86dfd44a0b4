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

bool is_of_ranks_that_do_something_else(const hang::Finding& finding) {
  const bool waits_too = finding.cause == hang::Cause::circle || finding.cause == hang::Cause::collective_mismatch;
  return !waits_too && finding.heads.empty() && !finding.ranks.empty() &&
         finding.ranks.size() <= finding.waiting.size();
}

}  // namespace

std::vector<Blocker> find_blockers(std::vector<hang::RankReading> readings, const std::function<NodeId(Rank)>& node_of,
                                   double after) {
  if (readings.empty()) return {};
  const hang::HangReport report = hang::examine(std::move(readings), {}, after);
  std::vector<Blocker> blockers;
  for (const hang::Finding& finding : report.findings) {
    if (!is_of_ranks_that_do_something_else(finding)) continue;
    for (const Rank rank : finding.ranks) {
      const hang::RankReport& one = report.ranks.at(rank.value);
      const auto doing = doing_of(one.doing);
      if (!doing || one.progressed || one.seconds < after) continue;
      blockers.push_back({.suspect = {node_of(rank), rank},
                          .doing = *doing,
                          .seconds = one.seconds,
                          .call = call_of(one),
                          .awaited = awaited_call(report, finding),
                          .waiting = static_cast<std::uint32_t>(finding.waiting.size()),
                          .waited = finding.waited_seconds,
                          .likely = finding.certainty != hang::Certainty::unknown,
                          .unseen = static_cast<std::uint32_t>(report.unseen.size()),
                          .silent = {}});
    }
  }
  return blockers;
}

std::vector<Blocker> find_blockers(const localize::CallReports& reports, std::uint32_t ranks,
                                   const std::function<NodeId(Rank)>& node_of, double after) {
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
  auto blockers = find_blockers(std::move(readings), node_of, after);
  for (Blocker& blocker : blockers) blocker.silent = silent;
  return blockers;
}

}  // namespace cairn
