#include "hang_text.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "inspect/hang_words.hpp"
#include "text.hpp"

namespace ckpt_tool {
namespace {

using cairn::Doing;
using cairn::HangReport;
using cairn::Need;
using cairn::RankReport;

// With more lines than these, ranks that are in the same call for different messages are one line.
constexpr std::size_t kMostLines = 40;

struct Line {
  std::string what;
  std::string waits;
  std::vector<std::uint32_t> ranks;
  double shortest = 0;
  double longest = 0;
};

std::string_view verdict_text(cairn::Verdict verdict) {
  switch (verdict) {
    case cairn::Verdict::healthy: return "healthy";
    case cairn::Verdict::suspect: return "suspect";
    case cairn::Verdict::hangs: return "hangs";
    case cairn::Verdict::over: return "over";
  }
  return "unknown";
}

std::string_view doing_text(Doing doing) {
  switch (doing) {
    case Doing::computes: return "computes";
    case Doing::in_call: return "in call";
    case Doing::polls: return "polls";
    case Doing::stopped: return "stopped";
    case Doing::dead: return "dead";
    case Doing::left: return "left";
    case Doing::unseen: return "unseen";
  }
  return "unknown";
}

std::string_view cause_text(cairn::Gap::Cause cause) {
  using Cause = cairn::Gap::Cause;
  switch (cause) {
    case Cause::message_counters: return "message counters full";
    case Cause::pending_requests: return "pending requests full";
    case Cause::communicators: return "communicators full";
    case Cause::threads: return "threads full";
    case Cause::older_format: return "older format";
    case Cause::no_communicator: return "no communicator";
    case Cause::other_requests: return "other requests";
  }
  return "unknown";
}

// "rank 3, which has not sent a message with tag 7": the reason only where the line does not say it already.
std::string waits_text(const HangReport& report, const RankReport& rank) {
  if (rank.needs.empty()) return "";
  std::set<std::uint32_t> all;
  bool any = rank.any;
  for (const std::size_t index : rank.needs) {
    const Need& need = report.needs[index];
    any = any || (need.any && need.ranks.size() > 1);
    all.insert(need.ranks.begin(), need.ranks.end());
  }
  const std::string ranks = cairn::rank_list_text({all.begin(), all.end()});
  if (any && all.size() > 1) return "any of " + ranks;
  const bool collective = !rank.lasting.empty() && rank.lasting.front().call.kind == cairn::CallKind::collective;
  const Need& need = report.needs[rank.needs.front()];
  if (collective && !need.never) return ranks;
  for (const std::uint32_t one : need.ranks) all.erase(one);
  const std::string others = all.empty() ? "" : ", and for " + cairn::rank_list_text({all.begin(), all.end()});
  return fmt::format("{}, which {}{}", cairn::rank_list_text(need.ranks), need.why, others);
}

std::vector<Line> lines_of(const HangReport& report, bool brief) {
  std::map<std::pair<std::string, std::string>, Line> alike;
  for (const RankReport& rank : report.ranks) {
    // What a rank that goes on waits for just now is no news, nor since when.
    const bool is_short = brief || rank.progressed;
    const std::string what = rank.progressed ? "going on, now " + rank.brief : is_short ? rank.brief : rank.what;
    const std::string waits = !is_short                               ? waits_text(report, rank)
                              : rank.needs.empty() || rank.progressed ? ""
                                                                      : "others";
    const double seconds = rank.progressed ? 0 : rank.seconds;
    const auto [there, added] = alike.try_emplace({what, waits}, Line{what, waits, {}, seconds, seconds});
    Line& line = there->second;
    line.ranks.push_back(rank.rank.value);
    line.shortest = std::min(line.shortest, seconds);
    line.longest = std::max(line.longest, seconds);
  }
  std::vector<Line> lines;
  for (auto& [key, line] : alike) lines.push_back(std::move(line));
  std::ranges::sort(lines, {}, [](const Line& line) { return line.ranks.front(); });
  return lines;
}

std::string line_text(const Line& line, bool timed) {
  std::string text = fmt::format("  {}: {}", cairn::rank_list_text(line.ranks), line.what);
  const std::string shortest = cairn::seconds_text(line.shortest);
  const std::string longest = cairn::seconds_text(line.longest);
  if (timed && line.longest > 0)
    text += shortest == longest ? " for " + longest : fmt::format(" for {} to {}", shortest, longest);
  if (!line.waits.empty()) text += fmt::format(", {} for {}", line.ranks.size() == 1 ? "waits" : "wait", line.waits);
  return text + "\n";
}

std::string culprit_text(const cairn::Culprit& culprit) {
  std::string text = fmt::format("  {}\n", culprit.what);
  for (const std::string& reason : culprit.reasons) text += fmt::format("    {}\n", reason);
  const bool itself = std::ranges::includes(culprit.ranks, culprit.waiting);
  if (itself || culprit.ranks.empty()) return text;
  const auto waiting = cairn::numbers_of(culprit.waiting);
  return text + fmt::format("    {} {} for {}, the longest for {}\n", cairn::rank_list_text(waiting),
                            waiting.size() == 1 ? "waits" : "wait", culprit.ranks.size() == 1 ? "it" : "them",
                            cairn::seconds_text(culprit.seconds));
}

Json json_of(const cairn::Call& call) {
  Json json{{"call", call.name}};
  if (call.comm != 0) json["communicator"] = fmt::format("{:016x}", call.comm);
  const bool message = call.kind == cairn::CallKind::send || call.kind == cairn::CallKind::receive ||
                       call.kind == cairn::CallKind::probe;
  if (message) {
    json["peer"] = call.peer == cairn::kAnyPeer ? Json("any") : Json(call.peer);
    json["tag"] = call.tag == cairn::kAnyTag ? Json("any") : Json(call.tag);
  }
  if (call.kind == cairn::CallKind::collective) {
    json["number"] = call.number;
    if (call.peer >= 0) json["root"] = call.peer;
  }
  json["bytes"] = call.bytes;
  return json;
}

// "entries" only of a table that was full.
Json json_of(const cairn::Gap& gap) {
  Json json{{"rank", gap.rank.value}, {"cause", cause_text(gap.cause)}};
  if (const auto entries = entries_of(gap.cause); entries > 0) json["entries"] = entries;
  return json;
}

Json json_of(const RankReport& rank) {
  Json json{{"rank", rank.rank.value}, {"state", doing_text(rank.doing)}, {"seconds", rank.seconds}};
  json["progressed"] = rank.progressed;
  json["what"] = rank.what;
  if (!rank.host.empty()) {
    json["host"] = rank.host;
    json["process"] = rank.process;
  }
  json["calls"] = Json::array();
  for (const cairn::LastingCall& lasting : rank.lasting) {
    json["calls"].push_back(json_of(lasting.call));
    json["calls"].back()["requests"] = Json::array();
    for (const cairn::Call& request : lasting.requests) json["calls"].back()["requests"].push_back(json_of(request));
  }
  json["waits"] = rank.needs;
  json["any"] = rank.any;
  return json;
}

}  // namespace

std::string hang_text(const std::string& job, const HangReport& report) {
  std::string text = fmt::format("job {} {}\n", job, report.summary);
  for (const cairn::Culprit& culprit : report.culprits) text += culprit_text(culprit);
  for (const std::string& note : report.notes) text += fmt::format("  note: {}\n", note);
  text += "\n";
  auto lines = lines_of(report, false);
  if (lines.size() > kMostLines) lines = lines_of(report, true);
  // When a job is over, nobody knows until when.
  for (const Line& line : lines) text += line_text(line, report.verdict != cairn::Verdict::over);
  return text;
}

Json hang_json(const std::string& job, const HangReport& report) {
  Json json{{"job", job}, {"verdict", verdict_text(report.verdict)}, {"summary", report.summary}};
  json["culprits"] = Json::array();
  for (const cairn::Culprit& culprit : report.culprits) {
    json["culprits"].push_back({{"ranks", numbers(culprit.ranks)},
                                {"what", culprit.what},
                                {"reasons", culprit.reasons},
                                {"certain", culprit.certain},
                                {"seconds", culprit.seconds},
                                {"waiting", numbers(culprit.waiting)}});
  }
  json["notes"] = report.notes;
  json["unseen"] = numbers(report.unseen);
  json["ranks"] = Json::array();
  for (const RankReport& rank : report.ranks) json["ranks"].push_back(json_of(rank));
  // Ranks name these by their place: in a collective thousands of ranks wait for the same.
  json["waits"] = Json::array();
  for (const Need& need : report.needs)
    json["waits"].push_back({{"for", need.ranks}, {"any", need.any}, {"certain", !need.gap}, {"why", need.why}});
  json["unknown"] = Json::array();
  for (const cairn::Gap& gap : report.gaps) json["unknown"].push_back(json_of(gap));
  return json;
}

}  // namespace ckpt_tool
