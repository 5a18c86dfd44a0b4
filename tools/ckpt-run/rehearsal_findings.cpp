#include "rehearsal_findings.hpp"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>

namespace ckpt_run {
namespace {

using cairn::NotedSafePoint;
using cairn::Rank;
using cairn::RankNotes;
using FoundOne = RehearsalFinding;
using FindingKind = RehearsalFinding::Kind;

// The first rank for which there is one, with the number of ranks.
void add_first(std::vector<FoundOne>& findings, const std::vector<RankNotes>& notes,
               const std::function<std::optional<FoundOne>(const RankNotes&)>& look) {
  std::optional<FoundOne> first;
  for (const RankNotes& one : notes) {
    auto found = look(one);
    if (!found) continue;
    if (first)
      ++first->ranks;
    else
      first = std::move(found);
  }
  if (first) findings.push_back(std::move(*first));
}

std::optional<FoundOne> restore_in(const RankNotes& notes) {
  if (!notes.restored_after) return FoundOne{.kind = FindingKind::no_restore, .rank = notes.rank};
  if (*notes.restored_after == 0) return {};
  return FoundOne{.kind = FindingKind::snapshot_before_restore, .rank = notes.rank, .count = *notes.restored_after};
}

std::optional<FoundOne> pending_in(const RankNotes& notes) {
  const auto at = std::ranges::find_if(notes.safe_points, [](const auto& point) { return point.pending > 0; });
  if (at == notes.safe_points.end()) return {};
  const auto call = static_cast<std::uint64_t>(at - notes.safe_points.begin()) + 1;
  return FoundOne{
      .kind = FindingKind::pending_requests, .rank = notes.rank, .call = call, .count = at->pending, .name = at->call};
}

std::optional<FoundOne> late_in(const RankNotes& notes, const std::string& region) {
  if (std::ranges::find(notes.late, region) == notes.late.end()) return {};
  return FoundOne{.kind = FindingKind::protected_late, .rank = notes.rank, .name = region};
}

void add_uneven_calls(std::vector<FoundOne>& findings, const std::vector<RankNotes>& notes) {
  const auto calls = [](const RankNotes& one) { return one.safe_points.size(); };
  const auto [fewest, most] = std::ranges::minmax_element(notes, {}, calls);
  if (calls(*fewest) == calls(*most)) return;
  findings.push_back({.kind = FindingKind::uneven_calls,
                      .rank = fewest->rank,
                      .other = most->rank,
                      .call = calls(*fewest),
                      .count = calls(*most),
                      .ranks = static_cast<std::uint64_t>(std::ranges::count(notes, calls(*fewest), calls))});
}

// At the call with this index, how many messages all ranks have sent to each.
std::map<Rank, std::uint64_t> sent_before(const std::vector<RankNotes>& notes, std::size_t index) {
  std::map<Rank, std::uint64_t> sent;
  for (const RankNotes& one : notes)
    for (const auto& [receiver, count] : one.safe_points[index].sent) sent[receiver] += count;
  return sent;
}

// A message that was sent before a safe point, and whose receive begins after it.
void add_crossing_messages(std::vector<FoundOne>& findings, const std::vector<RankNotes>& notes) {
  const auto calls =
      std::ranges::min(notes, {}, [](const RankNotes& one) { return one.safe_points.size(); }).safe_points.size();
  for (std::size_t index = 0; index < calls; ++index) {
    if (!std::ranges::all_of(notes, [&](const RankNotes& one) { return one.safe_points[index].counted; })) return;
    const auto sent = sent_before(notes, index);
    for (const RankNotes& one : notes) {
      const auto to = sent.find(one.rank);
      const std::uint64_t received = one.safe_points[index].received;
      if (to == sent.end() || to->second <= received) continue;
      findings.push_back({.kind = FindingKind::crossing_messages,
                          .rank = one.rank,
                          .call = index + 1,
                          .count = to->second - received});
      return;
    }
  }
}

std::string of_ranks(const FoundOne& finding) {
  return finding.ranks == 1 ? fmt::format("rank {}", finding.rank.value)
                            : fmt::format("rank {} and {} more", finding.rank.value, finding.ranks - 1);
}

const char* plural(std::uint64_t count) { return count == 1 ? "" : "s"; }

}  // namespace

std::vector<FoundOne> findings_in(const std::vector<RankNotes>& notes,
                                  std::optional<std::chrono::milliseconds> stuck_after) {
  std::vector<FoundOne> findings;
  if (notes.empty()) return findings;
  add_first(findings, notes, restore_in);
  std::vector<std::string> late;
  for (const RankNotes& one : notes) late.insert(late.end(), one.late.begin(), one.late.end());
  std::ranges::sort(late);
  late.erase(std::unique(late.begin(), late.end()), late.end());
  for (const std::string& region : late)
    add_first(findings, notes, [&](const RankNotes& one) { return late_in(one, region); });
  add_uneven_calls(findings, notes);
  add_first(findings, notes, [](const RankNotes& one) {
    return one.finalized ? std::nullopt : std::optional(FoundOne{.kind = FindingKind::no_finalize, .rank = one.rank});
  });
  add_first(findings, notes, pending_in);
  add_crossing_messages(findings, notes);
  const LongestQuiet quiet = longest_quiet(notes);
  if (stuck_after && quiet.time > *stuck_after)
    findings.push_back(
        {.kind = FindingKind::long_quiet, .rank = quiet.rank, .count = static_cast<std::uint64_t>(quiet.time.count())});
  return findings;
}

LongestQuiet longest_quiet(const std::vector<RankNotes>& notes) {
  LongestQuiet longest;
  for (const RankNotes& one : notes)
    if (one.longest_quiet > longest.time) longest = {one.rank, one.longest_quiet};
  return longest;
}

std::string name_of(RehearsalFinding::Kind kind) {
  switch (kind) {
    case FindingKind::no_restore: return "no_restore";
    case FindingKind::snapshot_before_restore: return "snapshot_before_restore";
    case FindingKind::protected_late: return "protected_late";
    case FindingKind::uneven_calls: return "uneven_calls";
    case FindingKind::no_finalize: return "no_finalize";
    case FindingKind::pending_requests: return "pending_requests";
    case FindingKind::crossing_messages: return "crossing_messages";
    case FindingKind::long_quiet: return "long_quiet";
  }
  return "";
}

std::string text_of(const FoundOne& finding) {
  const std::string who = of_ranks(finding);
  switch (finding.kind) {
    case FindingKind::no_restore: return who + ": restore() is never called, so a restart begins from the start";
    case FindingKind::snapshot_before_restore:
      return fmt::format("{}: snapshot() is called before restore(), which then restores the values of the start", who);
    case FindingKind::protected_late:
      return fmt::format("{}: region {} is protected after restore(), so no restart gets its values", who,
                         finding.name);
    case FindingKind::uneven_calls:
      return fmt::format("{}: {} call{} of snapshot(), but {} on rank {}: all ranks must make the same calls", who,
                         finding.call, plural(finding.call), finding.count, finding.other.value);
    case FindingKind::no_finalize:
      return who + ": finalize() is not called, so the last snapshots are lost, and a restart repeats the end";
    case FindingKind::pending_requests:
      return fmt::format("{}: {} request{} pending in call {} of snapshot(), from {}: complete requests before", who,
                         finding.count, finding.count == 1 ? " is" : "s are", finding.call, finding.name);
    case FindingKind::crossing_messages:
      return fmt::format(
          "rank {}: {} message{} sent to it before call {} of snapshot(), and received after: a "
          "restart loses what is under way",
          finding.rank.value, finding.count, finding.count == 1 ? " is" : "s are", finding.call);
    case FindingKind::long_quiet:
      return fmt::format(
          "rank {}: {:.1f} s without a call of MPI or Cairn, which is longer than [localize] stuck_after",
          finding.rank.value, static_cast<double>(finding.count) / 1000);
  }
  return {};
}

}  // namespace ckpt_run
