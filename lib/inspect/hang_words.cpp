#include "inspect/hang_words.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

namespace cairn {
namespace {

constexpr std::size_t kRunsShown = 8;
constexpr std::size_t kStepsShown = 8;

std::string_view ending(std::uint64_t number) {
  if (number % 100 >= 11 && number % 100 <= 13) return "th";
  switch (number % 10) {
    case 1: return "st";
    case 2: return "nd";
    case 3: return "rd";
    default: return "th";
  }
}

// How much a receive of MPI_Sendrecv takes is not known.
std::string message_text(const Call& call) {
  std::string text = tag_text(call.tag);
  if (call.bytes > 0) text += fmt::format(", {} bytes", call.bytes);
  return call.comm == 0 ? text : text + ", " + comm_text(call.comm);
}

std::string to_or_from_text(const Call& call) {
  return fmt::format("{} {} ({})", call.kind == CallKind::send ? "to" : "from", peer_text(call.peer),
                     message_text(call));
}

std::string where_text(const RankReport& rank) {
  return rank.host.empty() ? "" : fmt::format(" (process {} on {})", rank.process, rank.host);
}

std::string computing_text(const RankReport& one, const ProcessFacts& process, bool several, double seconds) {
  const std::string last = one.newest ? fmt::format(", the last call was {}", one.newest->name) : "";
  if (process.used_processor != false) {
    return fmt::format("{} since {}{}{}", several ? "compute" : "computes", seconds_text(seconds),
                       process.used_processor ? ", using processor time" : "", last);
  }
  const bool disk = process.state == ProcessFacts::State::waits_for_disk;
  return fmt::format("{} outside MPI since {}, without using processor time{}{}", several ? "are" : "is",
                     seconds_text(seconds), disk ? ", in a wait for storage" : "", last);
}

std::string gap_text(Gap::Cause cause, const std::vector<std::uint32_t>& ranks) {
  const std::string who = rank_list_text(ranks);
  const bool one = ranks.size() == 1;
  const auto full = [&](std::string_view table, std::string_view unknown) {
    return fmt::format("the table of {} of {} was full ({} entries): {}", table, who, entries_of(cause), unknown);
  };
  switch (cause) {
    case Gap::Cause::message_counters:
      return full("message counters", "it is not known whether messages without a counter have arrived");
    case Gap::Cause::pending_requests:
      return full("pending requests", "it is not known whether requests that are not in it are complete");
    case Gap::Cause::communicators:
      return full("communicators", "nothing is known of communicators that are not in it");
    case Gap::Cause::threads: return full("threads", "nothing is known of threads that are not in it");
    case Gap::Cause::older_format:
      return fmt::format("{} of calls of {} {} of an older format: it is not known whether messages have arrived",
                         one ? "the file" : "the files", who, one ? "is" : "are");
    case Gap::Cause::no_communicator:
      return fmt::format(
          "{} {} freed a communicator on which others wait: it is not known whether messages have arrived", who,
          one ? "has" : "have");
    case Gap::Cause::other_requests: break;
  }
  return fmt::format("{} {} for requests of calls that Cairn does not record", who, one ? "waits" : "wait");
}

}  // namespace

std::string ordinal_text(std::uint64_t number) { return fmt::format("{}{}", number, ending(number)); }

std::string comm_text(std::uint64_t comm) {
  constexpr std::uint64_t kShown = 0xffffff;
  return fmt::format("communicator {:06x}", comm & kShown);
}

std::string peer_text(std::int32_t peer) { return peer < 0 ? "any rank" : fmt::format("rank {}", peer); }

std::string tag_text(std::int32_t tag) { return tag == kAnyTag ? "any tag" : fmt::format("tag {}", tag); }

std::string call_text(const Call& call) {
  switch (call.kind) {
    case CallKind::send:
    case CallKind::receive:
    case CallKind::probe: return call.name + " " + to_or_from_text(call);
    case CallKind::collective:
      return fmt::format("{}{} (the {} collective on {})", call.name,
                         call.peer >= 0 ? fmt::format(" with root {}", call.peer) : "", ordinal_text(call.number),
                         comm_text(call.comm));
    default: return call.name;
  }
}

std::string call_text(const LastingCall& lasting) {
  const std::size_t count = lasting.requests.size();
  if (count == 0) return call_text(lasting.call);
  // MPI_Sendrecv has no requests: these are its own two messages.
  const Call& first = lasting.requests.front();
  if (count == 2 && first.name == lasting.call.name)
    return fmt::format("{} and {}", call_text(first), to_or_from_text(lasting.requests.back()));
  return fmt::format("{} for {}{}", call_text(lasting.call), call_text(first),
                     count == 1 ? "" : fmt::format(" and {} more", count - 1));
}

std::string seconds_text(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 60 * kMinute;
  if (seconds < 1) return fmt::format("{:.1f} s", seconds);
  if (seconds < 2 * kMinute) return fmt::format("{:.0f} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.0f} min", seconds / kMinute);
  return fmt::format("{:.1f} h", seconds / kHour);
}

std::string rank_list_text(const std::vector<std::uint32_t>& ranks) {
  std::vector<std::uint32_t> sorted = ranks;
  std::ranges::sort(sorted);
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string text;
  std::size_t runs = 0;
  for (std::size_t i = 0; i < sorted.size(); ++runs) {
    if (runs == kRunsShown) return fmt::format("ranks {} and {} more", text, sorted.size() - i);
    std::size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (!text.empty()) text += ", ";
    text += end - i == 1 ? fmt::format("{}", sorted[i]) : fmt::format("{}-{}", sorted[i], sorted[end - 1]);
    i = end;
  }
  return fmt::format("{} {}", sorted.size() == 1 ? "rank" : "ranks", text);
}

std::vector<std::uint32_t> numbers_of(const std::vector<Rank>& ranks) {
  std::vector<std::uint32_t> numbers(ranks.size());
  std::ranges::transform(ranks, numbers.begin(), &Rank::value);
  return numbers;
}

std::string blame_text(const std::vector<std::uint32_t>& ranks, const RankReport& one, const ProcessFacts& process,
                       double seconds) {
  const bool several = ranks.size() > 1;
  const std::string_view be = several ? "are" : "is";
  const std::string where = several ? "" : where_text(one);
  const std::string who = rank_list_text(ranks) + where;
  switch (one.doing) {
    case Doing::stopped:
      return fmt::format("{} {} stopped, by a signal or a debugger{}", who, be,
                         several ? "" : fmt::format("; kill -CONT {} lets it go on", one.process));
    case Doing::dead:
      return fmt::format("{} {} dead: {}", who, be, several ? "their processes are gone" : "its process is gone");
    case Doing::left: return who + (several ? " have left: they have ended MPI" : " has left: it has ended MPI");
    case Doing::unseen:
      return who + (several ? " were not seen: they are on nodes whose stores were not read, or out of MPI"
                            : " was not seen: it is on a node whose store was not read, or out of MPI");
    case Doing::polls:
      return fmt::format("{} {} again and again whether a message is there, in vain since {} ({})", who,
                         several ? "ask" : "asks", seconds_text(seconds), one.newest ? one.newest->name : "");
    case Doing::in_call: return fmt::format("{} {} {} since {}", who, be, one.brief, seconds_text(seconds));
    case Doing::computes: break;
  }
  return who + " " + computing_text(one, process, several, seconds);
}

std::string cycle_text(const std::vector<Step>& steps, bool certain) {
  std::string circle;
  for (std::size_t i = 0; i < std::min(steps.size(), kStepsShown); ++i) circle += fmt::format("{} -> ", steps[i].rank);
  if (steps.size() > kStepsShown) circle += fmt::format("{} more -> ", steps.size() - kStepsShown);
  return fmt::format("ranks {} for each other in a circle: {}{}", certain ? "wait" : "may wait", circle,
                     steps.front().rank);
}

std::vector<std::string> cycle_reasons(const std::vector<Step>& steps, const HangReport& report) {
  std::vector<std::string> reasons;
  for (std::size_t i = 0; i < std::min(steps.size(), kStepsShown); ++i) {
    const std::uint32_t next = steps[(i + 1) % steps.size()].rank;
    const Need& need = report.needs[steps[i].need];
    reasons.push_back(fmt::format("rank {} is {}; {} {}", steps[i].rank, report.ranks[steps[i].rank].what,
                                  rank_list_text(need.any ? std::vector{next} : need.ranks), need.why));
  }
  return reasons;
}

std::vector<std::string> gap_texts(const std::vector<Gap>& gaps) {
  std::map<Gap::Cause, std::vector<std::uint32_t>> ranks_with;
  for (const Gap& gap : gaps) ranks_with[gap.cause].push_back(gap.rank.value);
  std::vector<std::string> texts;
  for (const auto& [cause, ranks] : ranks_with) texts.push_back(gap_text(cause, ranks));
  return texts;
}

}  // namespace cairn
