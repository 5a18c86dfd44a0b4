#include "hang/words.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn::hang {
namespace {

constexpr std::size_t kRunsShown = 8;

std::string_view ending(std::uint64_t number) {
  if (number % 100 >= 11 && number % 100 <= 13) return "th";
  switch (number % 10) {
    case 1: return "st";
    case 2: return "nd";
    case 3: return "rd";
    default: return "th";
  }
}

std::string list_text(std::string_view thing, std::vector<std::uint32_t> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < numbers.size(); ++runs) {
    if (runs == kRunsShown) return fmt::format("{}s {} and {} more", thing, text, numbers.size() - i);
    std::size_t end = i + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end - i == 1 ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[end - 1]);
    i = end;
  }
  return fmt::format("{}{} {}", thing, numbers.size() == 1 ? "" : "s", text);
}

// How much a receive of MPI_Sendrecv takes is not known.
std::string message_text(const HangReport& report, const Call& call) {
  std::string text = tag_text(call.tag);
  if (call.bytes > 0) text += fmt::format(", {} bytes", call.bytes);
  return call.comm == 0 ? text : text + ", " + comm_text(report, call.comm);
}

std::string to_or_from_text(const HangReport& report, const Call& call) {
  return fmt::format("{} {} ({})", call.kind == CallKind::send ? "to" : "from", peer_text(call.peer),
                     message_text(report, call));
}

}  // namespace

std::string ordinal_text(std::uint64_t number) { return fmt::format("{}{}", number, ending(number)); }

std::string seconds_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  if (seconds < 1) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2 * kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.1f} h", seconds / kHour);
}

std::string peer_text(std::int32_t peer) { return peer < 0 ? "any rank" : fmt::format("rank {}", peer); }

std::string tag_text(std::int32_t tag) { return tag == kAnyTag ? "any tag" : fmt::format("tag {}", tag); }

std::string rank_list_text(std::vector<std::uint32_t> ranks) { return list_text("rank", std::move(ranks)); }

std::string rank_list_text(const std::vector<Rank>& ranks) {
  std::vector<std::uint32_t> numbers(ranks.size());
  std::ranges::transform(ranks, numbers.begin(), &Rank::value);
  return rank_list_text(std::move(numbers));
}

std::string node_list_text(const std::vector<NodeId>& nodes) {
  std::vector<std::uint32_t> numbers(nodes.size());
  std::ranges::transform(nodes, numbers.begin(), &NodeId::value);
  return list_text("node", std::move(numbers));
}

std::string needed_text(const HangReport& report, const std::vector<std::uint32_t>& needed) {
  std::vector<std::uint32_t> ranks;
  std::vector<NodeId> heads;
  for (const std::uint32_t one : needed) {
    if (one < report.ranks.size())
      ranks.push_back(one);
    else
      heads.push_back(report.heads[one - report.ranks.size()].node);
  }
  const std::string of_heads =
      heads.empty() ? "" : fmt::format("the {} of {}", heads.size() == 1 ? "head" : "heads", node_list_text(heads));
  if (ranks.empty()) return of_heads;
  return heads.empty() ? rank_list_text(ranks) : rank_list_text(ranks) + " and " + of_heads;
}

std::string comm_text(const HangReport& report, std::uint64_t comm) {
  constexpr std::uint64_t kShown = 0xffffff;
  const auto known = report.comms.find(comm);
  const CommFacts facts = known == report.comms.end() ? CommFacts{} : known->second;
  if (!facts.name.empty() && facts.is_unique) return fmt::format("communicator \"{}\"", facts.name);
  if (!facts.name.empty()) return fmt::format("communicator \"{}\" ({:06x})", facts.name, comm & kShown);
  if (facts.is_session) return "the session's communicator";
  return fmt::format("communicator {:06x}", comm & kShown);
}

std::string entered_text(const Call& collective) {
  return collective.peer < 0 ? collective.name : fmt::format("{} with root {}", collective.name, collective.peer);
}

std::string call_text(const HangReport& report, const Call& call) {
  if (is_message(call)) return call.name + " " + to_or_from_text(report, call);
  if (call.kind != CallKind::collective) return call.name;
  return fmt::format("{} (the {} collective on {})", entered_text(call), ordinal_text(call.number),
                     comm_text(report, call.comm));
}

std::string call_text(const HangReport& report, const LastingCall& lasting) {
  const std::size_t count = lasting.requests.size();
  if (count == 0) return call_text(report, lasting.call);
  // MPI_Sendrecv has no requests: these are its own two messages.
  const Call& first = lasting.requests.front();
  if (count == 2 && first.name == lasting.call.name)
    return fmt::format("{} and {}", call_text(report, first), to_or_from_text(report, lasting.requests.back()));
  return fmt::format("{} for {}{}", call_text(report, lasting.call), call_text(report, first),
                     count == 1 ? "" : fmt::format(" and {} more", count - 1));
}

}  // namespace cairn::hang
