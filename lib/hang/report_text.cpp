#include <algorithm>
#include <compare>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "hang/text.hpp"
#include "hang/words.hpp"

namespace cairn::hang {
namespace {

// With more lines than these, ranks that are in the same call for different messages are one line.
constexpr std::size_t kMostLines = 40;

// What is shown of a call. Of a message it is not the how-many-th.
using Shown =
    std::tuple<std::string, CallKind, std::uint64_t, std::uint64_t, std::uint64_t, std::int32_t, std::int32_t>;
Shown shown(const Call& call) {
  const std::uint64_t number = call.kind == CallKind::collective ? call.number : 0;
  return {call.name, call.kind, call.comm, number, call.bytes, call.peer, call.tag};
}

// What ranks have in common that share a line.
struct SameLine {
  bool progressed = false;
  Doing doing{};
  std::vector<Shown> calls = {};
  std::size_t requests = 0;
  std::set<std::uint32_t> waits_for = {};
  bool any = false;
  std::optional<Reason> reason = {};
  std::optional<Shown> theirs = {};
  friend auto operator<=>(const SameLine&, const SameLine&) = default;
};

bool waits_for_any(const HangReport& report, const RankReport& rank) {
  return rank.any || std::ranges::any_of(rank.needs, [&](std::size_t index) {
           return report.needs[index].any && report.needs[index].ranks.size() > 1;
         });
}

std::set<std::uint32_t> waits_for(const HangReport& report, const RankReport& rank) {
  std::set<std::uint32_t> all;
  for (const std::size_t index : rank.needs)
    all.insert(report.needs[index].ranks.begin(), report.needs[index].ranks.end());
  return all;
}

SameLine brief_line(const RankReport& rank) {
  SameLine alike{.progressed = rank.progressed, .doing = rank.doing};
  if (rank.doing == Doing::in_call) alike.calls.push_back({rank.longest()->call.name, {}, {}, {}, {}, {}, {}});
  if (rank.doing == Doing::polls) alike.calls.push_back({rank.newest->name, {}, {}, {}, {}, {}, {}});
  alike.any = !rank.progressed && !rank.needs.empty();
  return alike;
}

SameLine full_line(const HangReport& report, const RankReport& rank) {
  SameLine alike{.doing = rank.doing};
  if (const LastingCall* const lasting = rank.longest()) {
    alike.calls.push_back(shown(lasting->call));
    if (!lasting->requests.empty()) alike.calls.push_back(shown(lasting->requests.front()));
    alike.requests = lasting->requests.size();
  } else if (rank.doing == Doing::polls) {
    alike.calls.push_back(shown(*rank.newest));
    if (!rank.polled.empty()) alike.calls.push_back(shown(rank.polled.front()));
  }
  alike.waits_for = waits_for(report, rank);
  alike.any = waits_for_any(report, rank);
  if (rank.needs.empty()) return alike;
  const Need& need = report.needs[rank.needs.front()];
  alike.reason = need.reason;
  if (need.theirs) alike.theirs = shown(*need.theirs);
  return alike;
}

// "rank 3, which has not sent a message with tag 7": the reason only where the line does not say it already.
std::string waits_text(const HangReport& report, const RankReport& rank) {
  std::set<std::uint32_t> all = waits_for(report, rank);
  const std::string ranks = needed_text(report, std::vector(all.begin(), all.end()));
  if (waits_for_any(report, rank) && all.size() > 1) return "any of " + ranks;
  const bool collective = !rank.lasting.empty() && rank.lasting.front().call.kind == CallKind::collective;
  const Need& need = report.needs[rank.needs.front()];
  if (collective && !need.is_never_met()) return ranks;
  for (const std::uint32_t one : need.ranks) all.erase(one);
  const std::string others = all.empty() ? "" : ", and for " + needed_text(report, std::vector(all.begin(), all.end()));
  return fmt::format("{}, which {}{}", needed_text(report, need.ranks), need_text(report, need), others);
}

struct Line {
  std::vector<std::uint32_t> ranks;
  double shortest = 0;
  double longest = 0;
};

// A rank that continues: what it waits for now, and for how long, is left out.
std::vector<Line> lines_of(const HangReport& report, bool brief) {
  std::map<SameLine, Line> alike;
  for (const RankReport& rank : report.ranks) {
    const double seconds = rank.progressed ? 0 : rank.seconds;
    const auto [there, added] = alike.try_emplace(brief || rank.progressed ? brief_line(rank) : full_line(report, rank),
                                                  Line{{}, seconds, seconds});
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

std::string line_text(const HangReport& report, const Line& line, bool brief) {
  const RankReport& rank = report.ranks[line.ranks.front()];
  const std::string who = rank_list_text(line.ranks);
  if (rank.progressed) return fmt::format("  {}: making progress, now {}\n", who, brief_text(rank));
  std::string text = fmt::format("  {}: {}", who, brief ? brief_text(rank) : rank_text(report, rank));
  // When a job is over, nobody knows until when.
  if (report.verdict != Verdict::over && line.longest > 0) {
    const std::string shortest = seconds_text(line.shortest);
    const std::string longest = seconds_text(line.longest);
    text += shortest == longest ? ", for " + longest : fmt::format(", for {} to {}", shortest, longest);
  }
  if (!rank.needs.empty()) text += fmt::format("; waiting for {}", brief ? "others" : waits_text(report, rank));
  return text + "\n";
}

std::string text_of(const HangReport& report, const Finding& finding) {
  std::string text;
  for (const std::string& sentence : finding_texts(report, finding))
    text += fmt::format("{}{}\n", text.empty() ? "  " : "    ", sentence);
  return text;
}

}  // namespace

std::string report_text(const std::string& job, const HangReport& report) {
  std::string text = fmt::format("job {} {}\n", job, summary_text(report));
  for (const Finding& finding : report.findings) text += text_of(report, finding);
  for (const std::string& note : note_texts(report)) text += fmt::format("  note: {}\n", note);
  text += "\n";
  auto lines = lines_of(report, false);
  const bool brief = lines.size() > kMostLines;
  if (brief) lines = lines_of(report, true);
  for (const Line& line : lines) text += line_text(report, line, brief);
  for (const HeadReport& head : report.heads)
    if (head.doing == Doing::dead || head.doing == Doing::stopped)
      text +=
          fmt::format("  the head of node {}: {}\n", head.node.value, head.doing == Doing::dead ? "dead" : "stopped");
  return text;
}

}  // namespace cairn::hang
