#include "hang/text.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "hang/words.hpp"

namespace cairn::hang {
namespace {

constexpr std::size_t kStepsShown = 8;
constexpr std::string_view kUnrecorded = "in a call that Cairn does not intercept";

bool is_of_heads(const Finding& finding) { return !finding.heads.empty(); }
bool is_one(const Finding& finding) { return finding.ranks.size() + finding.heads.size() == 1; }

std::string subject_text(const Finding& finding) {
  if (!is_of_heads(finding)) return rank_list_text(finding.ranks);
  return fmt::format("the {} of {}", is_one(finding) ? "head" : "heads", node_list_text(finding.heads));
}

// The process of the first rank or head, and where it is.
struct ProcessOf {
  std::int32_t number = 0;
  std::string host;
  ProcessFacts facts;
};
ProcessOf process_of(const HangReport& report, const Finding& finding) {
  if (!is_of_heads(finding)) {
    const RankReport& rank = report.ranks[finding.ranks.front().value];
    return {rank.process, rank.host, rank.facts};
  }
  const auto head = std::ranges::find(report.heads, finding.heads.front(), &HeadReport::node);
  return {head->process, head->host, head->facts};
}

// With the process of a rank or a head that is alone.
std::string who_text(const HangReport& report, const Finding& finding) {
  const ProcessOf process = process_of(report, finding);
  if (!is_one(finding) || process.host.empty()) return subject_text(finding);
  return fmt::format("{} (process {} on {})", subject_text(finding), process.number, process.host);
}

std::string circle_text(const Finding& finding) {
  const std::vector<Step>& steps = finding.circle;
  std::string circle;
  for (std::size_t i = 0; i < std::min(steps.size(), kStepsShown); ++i) circle += fmt::format("{} -> ", steps[i].rank);
  if (steps.size() > kStepsShown) circle += fmt::format("{} more -> ", steps.size() - kStepsShown);
  circle += fmt::format("{}", steps.front().rank);
  const std::string who = rank_list_text(finding.ranks);
  const bool certain = finding.certainty == Certainty::certain;
  if (steps.size() == 1) return fmt::format("{} {} for itself: {}", who, certain ? "waits" : "may wait", circle);
  return fmt::format("{} {} for each other: {}", who, certain ? "wait" : "may wait", circle);
}

std::string headline(const HangReport& report, const Finding& finding) {
  if (finding.cause == Cause::all_stopped) return "all ranks are stopped by a signal or a debugger";
  if (finding.cause == Cause::circle) return circle_text(finding);
  const std::string who = who_text(report, finding);
  const std::string_view be = is_one(finding) ? "is" : "are";
  const std::string_view have = is_one(finding) ? "has" : "have";
  const std::string seconds = seconds_text(finding.since_seconds);
  const std::string call = finding.call ? finding.call->name : "";
  switch (finding.cause) {
    case Cause::collective_mismatch:
      return fmt::format("{} entered the {} collective on {} as {}", who, ordinal_text(finding.call->number),
                         comm_text(report, finding.call->comm), entered_text(*finding.call));
    case Cause::left_out:
      return fmt::format("{} left {} out: other ranks in the same collective have made it", who, call);
    case Cause::stopped: return fmt::format("{} {} stopped by a signal or a debugger", who, be);
    case Cause::dead:
      return fmt::format("{} {} dead: {} no longer {}", who, be, is_one(finding) ? "its process" : "their processes",
                         is_one(finding) ? "exists" : "exist");
    case Cause::left: return fmt::format("{} {} ended MPI", who, have);
    case Cause::unseen: return fmt::format("{} {} no call file in the stores that were read", who, have);
    case Cause::computes:
      if (is_of_heads(finding)) return fmt::format("{} {} still at work", who, be);
      return fmt::format("{} {} been computing, or {}, for {}", who, have, kUnrecorded, seconds);
    case Cause::idles:
      if (is_of_heads(finding)) return fmt::format("{} {} using no processor time", who, be);
      return fmt::format("{} {} used no processor time, and {} made no recorded call for {}", who, have, have, seconds);
    case Cause::polls: return fmt::format("{} {} polled with {} without success for {}", who, have, call, seconds);
    default: return fmt::format("{} {} been in {} for {}", who, have, call, seconds);
  }
}

// "which computes": what those do for which others wait, as far as it is no hang.
std::string doing_text(const HangReport& report, const Finding& finding) {
  const bool one = is_one(finding);
  const std::string call = finding.call ? finding.call->name : "a call";
  if (process_of(report, finding).facts.state == ProcessFacts::State::waits_for_disk)
    return fmt::format("which {} or {} a file (state D)", one ? "reads" : "read", one ? "writes" : "write");
  switch (finding.cause) {
    case Cause::computes:
      return is_of_heads(finding) ? fmt::format("which {} at work", one ? "is" : "are")
             : one                ? "which computes"
                                  : "which compute";
    case Cause::idles: return fmt::format("which {} idle", one ? "is" : "are");
    case Cause::polls: return fmt::format("which {} with {}", one ? "polls" : "poll", call);
    case Cause::circle: return "which wait, too";
    case Cause::unseen: return fmt::format("of which {}", one ? "no call file was read" : "no call files were read");
    default: break;
  }
  return fmt::format("which {} in {}", one ? "is" : "are", call);
}

// Further facts about the ranks, beside what they do.
void add_details(const HangReport& report, const Finding& finding, std::vector<std::string>& texts) {
  const ProcessOf process = process_of(report, finding);
  const bool one = is_one(finding);
  switch (finding.cause) {
    case Cause::stopped:
      if (one) texts.push_back(fmt::format("kill -CONT {} resumes it", process.number));
      break;
    case Cause::idles:
      if (process.facts.state == ProcessFacts::State::waits_for_disk)
        texts.emplace_back("its process waits for storage");
      [[fallthrough]];
    case Cause::computes:
      if (finding.call && one) texts.push_back(fmt::format("its last recorded call was {}", finding.call->name));
      break;
    case Cause::in_call: texts.emplace_back("no other rank is missing in that call"); break;
    case Cause::unrecorded:
      texts.emplace_back(finding.call && finding.call->kind == CallKind::opaque
                             ? "Cairn cannot analyse what that call waits for"
                             : "the call file does not say what that call waits for");
      break;
    default: break;
  }
}

void add_mismatch(const Need& need, std::vector<std::string>& texts) {
  texts.push_back(fmt::format("{} {} entered it as {}", need.agreeing, need.agreeing == 1 ? "rank" : "ranks",
                              entered_text(need.call)));
}

void add_circle(const HangReport& report, const std::vector<Step>& steps, std::vector<std::string>& texts) {
  for (std::size_t i = 0; i < std::min(steps.size(), kStepsShown); ++i) {
    Need need = report.needs[steps[i].need];
    if (need.any) need.ranks = {steps[(i + 1) % steps.size()].rank};
    texts.push_back(fmt::format("rank {} is {}; {} {}", steps[i].rank, rank_text(report, report.ranks[steps[i].rank]),
                                needed_text(report, need.ranks), need_text(report, need)));
  }
}

void add_waiting(const Finding& finding, std::vector<std::string>& texts) {
  if (finding.waiting.empty() || std::ranges::includes(finding.ranks, finding.waiting)) return;
  texts.push_back(fmt::format("{} {} for {}, the longest for {}", rank_list_text(finding.waiting),
                              finding.waiting.size() == 1 ? "waits" : "wait", is_one(finding) ? "it" : "them",
                              seconds_text(finding.waited_seconds)));
}

std::string gap_text(Gap::Cause cause, const std::vector<std::uint32_t>& ranks) {
  const std::string who = rank_list_text(ranks);
  const bool one = ranks.size() == 1;
  const auto full = [&](std::string_view table, std::string_view unknown) {
    return fmt::format("the table of {} of {} was full ({} entries): it is unknown {}", table, who, entries_of(cause),
                       unknown);
  };
  switch (cause) {
    case Gap::Cause::message_counters: return full("message counters", "whether uncounted messages have arrived");
    case Gap::Cause::pending_requests: return full("pending requests", "whether the other requests are complete");
    case Gap::Cause::communicators: return full("communicators", "what happens on the other communicators");
    case Gap::Cause::threads: return full("threads", "what the other threads do");
    case Gap::Cause::older_format:
      return fmt::format("the call {} of {} {} an older format: it is unknown whether messages have arrived",
                         one ? "file" : "files", who, one ? "has" : "have");
    case Gap::Cause::no_communicator:
      return fmt::format("{} {} freed a communicator on which others wait: it is unknown whether messages have arrived",
                         who, one ? "has" : "have");
    case Gap::Cause::wildcards:
      return fmt::format("{} received from any source or with any tag: it is unknown which messages have arrived", who);
    case Gap::Cause::opaque_call:
      return fmt::format("{} {} in a call that Cairn cannot analyse", who, one ? "is" : "are");
    case Gap::Cause::other_requests: break;
  }
  return fmt::format("{} {} for requests that Cairn does not record", who, one ? "waits" : "wait");
}

std::string note_text(const Note& note) {
  const std::string who = rank_list_text(note.ranks);
  const bool one = note.ranks.size() == 1;
  const std::string_view be = one ? "is" : "are";
  switch (note.cause) {
    case Note::Cause::more_circles: return "more ranks wait for each other than are shown";
    case Note::Cause::dead: return fmt::format("{} {} dead", who, be);
    case Note::Cause::stopped: return fmt::format("{} {} stopped", who, be);
    case Note::Cause::left: return fmt::format("{} {} ended MPI", who, one ? "has" : "have");
    case Note::Cause::head_dead: return fmt::format("the head of {} is dead", node_list_text(note.heads));
    case Note::Cause::head_stopped: return fmt::format("the head of {} is stopped", node_list_text(note.heads));
    case Note::Cause::unseen:
      return fmt::format("{} {} no call file in the stores that were read; --local DIR adds the store of another node",
                         who, one ? "has" : "have");
    case Note::Cause::waits_for_heads:
      return fmt::format("{} {} in a Cairn call for which no rank is missing: the heads are at work", who, be);
    case Note::Cause::waits_for_mpi: break;
  }
  return fmt::format("{} {} in a call for which no rank is missing; {} for the MPI library or the network", who, be,
                     one ? "it waits" : "they wait");
}

std::string healthy_text(const HangReport& report) {
  const auto count = [&](auto is_it) { return static_cast<std::size_t>(std::ranges::count_if(report.ranks, is_it)); };
  const std::size_t progressed = count([](const RankReport& rank) { return rank.progressed; });
  const std::size_t outside =
      count([](const RankReport& rank) { return rank.doing == Doing::computes || rank.doing == Doing::idles; });
  const std::size_t seen = report.ranks.size() - report.unseen.size();
  if (progressed > 0) return fmt::format("{} of {} ranks have just made MPI calls", progressed, seen);
  if (outside == seen) return fmt::format("all ranks compute, or are {}", kUnrecorded);
  return fmt::format("no rank has waited longer than {} for another", seconds_text(report.patience.certain));
}

std::string halted_text(const HangReport& report, const RankReport& rank) {
  const std::string_view state = rank.doing == Doing::dead ? "dead" : "stopped";
  const LastingCall* const lasting = rank.longest();
  if (lasting == nullptr) return fmt::format("{}, outside recorded calls", state);
  return fmt::format("{}, in {}", state, call_text(report, *lasting));
}

// A probe has no request: "a message from rank 1 (tag 7)"
std::string polled_text(const HangReport& report, Call call) {
  if (call.kind == CallKind::probe) call.name = "a message";
  return call_text(report, call);
}

// "with tag 8 instead of tag 7"
std::string instead_text(const HangReport& report, const Call& theirs, const Call& ours) {
  if (theirs.comm == ours.comm) return fmt::format("with {} instead of {}", tag_text(theirs.tag), tag_text(ours.tag));
  return fmt::format("with {} on {} instead of {}", tag_text(theirs.tag), comm_text(report, theirs.comm),
                     comm_text(report, ours.comm));
}

std::string collective_text(const HangReport& report, const Call& call) {
  if (is_cairn(call) && call.number > 1) return fmt::format("{} for the {} time", call.name, ordinal_text(call.number));
  if (call.kind != CallKind::collective) return call.name;
  return fmt::format("{}, the {} collective on {}", entered_text(call), ordinal_text(call.number),
                     comm_text(report, call.comm));
}

}  // namespace

std::string need_text(const HangReport& report, const Need& need) {
  const bool one = need.ranks.size() == 1;
  const std::string_view have = one ? "has" : "have";
  const std::string tag = tag_text(need.call.tag);
  switch (need.reason) {
    case Reason::collective_not_begun: return fmt::format("{} not begun {}", have, collective_text(report, need.call));
    case Reason::collective_maybe_not_begun: return "may not have begun " + collective_text(report, need.call);
    case Reason::collective_halted:
      return fmt::format("{} begun {} and {} not continue", have, entered_text(need.call), one ? "does" : "do");
    case Reason::collective_not_progressed:
      return fmt::format("{} begun {}, and {} in no MPI call that would complete it", have,
                         collective_text(report, need.call), one ? "is" : "are");
    case Reason::collective_mismatch:
      return fmt::format("entered the {} collective on {} as {}, not as {}", ordinal_text(need.call.number),
                         comm_text(report, need.call.comm), entered_text(*need.theirs), entered_text(need.call));
    case Reason::head_halted: return fmt::format("{} not continue the work of {}", one ? "does" : "do", need.call.name);
    case Reason::head_works: return fmt::format("{} the work of {}", one ? "does" : "do", need.call.name);
    case Reason::head_outside:
      return fmt::format("{} the work of {} only in Cairn calls, and {} in none", one ? "does" : "do", need.call.name,
                         one ? "is" : "are");
    case Reason::message_not_sent: return fmt::format("{} not sent a message with {}", have, tag);
    case Reason::message_not_sent_again: return fmt::format("{} not sent another message with {}", have, tag);
    case Reason::message_sent_otherwise:
      return fmt::format("{} sending {}", one ? "is" : "are", instead_text(report, *need.theirs, need.call));
    case Reason::message_sent_earlier_otherwise:
      return fmt::format("{} not sent a message with {}: the last one to rank {} had {}", have, tag, need.theirs->peer,
                         tag_text(need.theirs->tag));
    case Reason::message_taken_by_wildcard:
      return fmt::format("{} sent a message with {}; an earlier receive from any source may have taken it", have, tag);
    case Reason::message_not_progressed:
      return fmt::format("{} begun {} with {} and {} not continue", have, need.theirs->name, tag, one ? "does" : "do");
    case Reason::message_maybe_not_sent: return "may not have sent the message with " + tag;
    case Reason::message_expected: return fmt::format("{} to send the message with {}", have, tag);
    case Reason::message_from_any: return "may send a message";
    case Reason::receive_not_posted: return fmt::format("{} not posted a receive with {}", have, tag);
    case Reason::receive_posted_otherwise:
      return fmt::format("{} receiving {}", one ? "is" : "are", instead_text(report, *need.theirs, need.call));
    case Reason::receive_maybe_not_posted: return "may not have received the message with " + tag;
    case Reason::receive_expected: break;
  }
  return fmt::format("{} to receive the message with {}", have, tag);
}

std::string rank_text(const HangReport& report, const RankReport& rank) {
  switch (rank.doing) {
    case Doing::dead:
    case Doing::stopped: return halted_text(report, rank);
    case Doing::in_call: return "in " + call_text(report, *rank.longest());
    case Doing::polls:
      if (rank.polled.empty()) return brief_text(rank);
      return fmt::format("{} for {}", brief_text(rank), polled_text(report, rank.polled.front()));
    default: return brief_text(rank);
  }
}

std::string brief_text(const RankReport& rank) {
  switch (rank.doing) {
    case Doing::computes: return fmt::format("computing, or {}", kUnrecorded);
    case Doing::idles: return "outside recorded calls, without using processor time";
    case Doing::in_call: return "in " + rank.longest()->call.name;
    case Doing::polls: return "polling with " + rank.newest->name;
    case Doing::stopped: return "stopped";
    case Doing::dead: return "dead";
    case Doing::left: return "out of MPI";
    case Doing::unseen: break;
  }
  return "without a call file";
}

std::string summary_text(const HangReport& report) {
  if (report.verdict == Verdict::healthy) return "is healthy: " + healthy_text(report);
  if (report.verdict == Verdict::over) return "is over: its processes no longer exist; this is what they did last";
  const bool waits = report.verdict == Verdict::waits;
  const std::string_view verb = waits ? "runs" : report.verdict == Verdict::hangs ? "hangs" : "may hang";
  std::set<Rank> waiting;
  double seconds = 0;
  for (const Finding& finding : report.findings) {
    waiting.insert(finding.waiting.begin(), finding.waiting.end());
    seconds = std::max(seconds, finding.waited_seconds);
  }
  const Finding& first = report.findings.front();
  if (waiting.empty() || first.ranks.size() + first.heads.size() == 0)
    return fmt::format("{}: {}", verb, headline(report, first));
  std::string whom = report.findings.size() > 1 ? "others" : subject_text(first);
  if (waits && report.findings.size() == 1) whom += ", " + doing_text(report, first);
  return fmt::format("{}: {} of {} ranks {} for {}, the longest for {}", verb, waiting.size(), report.ranks.size(),
                     waiting.size() == 1 ? "waits" : "wait", whom, seconds_text(seconds));
}

std::vector<std::string> finding_texts(const HangReport& report, const Finding& finding) {
  std::vector<std::string> texts{headline(report, finding)};
  if (finding.ranks.size() + finding.heads.size() == 0) return texts;
  add_details(report, finding, texts);
  if (finding.cause == Cause::circle) add_circle(report, finding.circle, texts);
  if (finding.cause == Cause::collective_mismatch)
    add_mismatch(report.needs[*finding.need], texts);
  else if (finding.need)
    texts.push_back(
        fmt::format("{} {}", is_one(finding) ? "it" : "they", need_text(report, report.needs[*finding.need])));
  add_waiting(finding, texts);
  return texts;
}

std::vector<std::string> note_texts(const HangReport& report) {
  std::vector<std::string> texts;
  for (const Note& note : report.notes) texts.push_back(note_text(note));
  std::map<Gap::Cause, std::vector<std::uint32_t>> ranks_with;
  for (const Gap& gap : report.gaps) ranks_with[gap.cause].push_back(gap.rank.value);
  for (const auto& [cause, ranks] : ranks_with) texts.push_back(gap_text(cause, ranks));
  return texts;
}

}  // namespace cairn::hang
