#include "localize/words.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/bytes.hpp"
#include "base/list_text.hpp"
#include "localize/action.hpp"
#include "localize/facts.hpp"
#include "localize/names.hpp"

namespace cairn::localize {
namespace {

constexpr double kMuch = 0.2;  // as the default rules say

std::string_view sign_of(Comparison comparison) {
  switch (comparison) {
    case Comparison::at_least: return ">=";
    case Comparison::at_most: return "<=";
    case Comparison::more: return ">";
    case Comparison::less: return "<";
    case Comparison::equal: return "=";
  }
  return "?";
}

std::string condition_text(const RuleSet& rules, const Condition& condition) {
  if (condition.derived) return rules.derived[condition.fact];
  if (condition.comparison == Comparison::more && condition.value == 0) return fact_name(condition.fact);
  return fmt::format("{} {} {}", fact_name(condition.fact), sign_of(condition.comparison), condition.value);
}

std::string conclusion_text(const RuleSet& rules, const Rule& rule) {
  std::vector<std::string_view> faults;
  std::ranges::transform(rule.faults, std::back_inserter(faults), [](Fault fault) { return name_of(fault); });
  switch (rule.then) {
    case Then::fact: return "then " + rules.derived[rule.derived];
    case Then::suspect: return fmt::format("suspect {}", fmt::join(faults, ", "));
    case Then::confirm: return fmt::format("confirm {}", fmt::join(faults, ", "));
    case Then::excuse: break;
  }
  return "it is not the cause";
}

std::string_view symptom_words(SymptomKind kind) {
  switch (kind) {
    case SymptomKind::heartbeat_missed: return "missed heartbeats";
    case SymptomKind::no_response: return "messages without an answer";
    case SymptomKind::crc_mismatch: return "wrong checksums";
    case SymptomKind::low_bandwidth: return "slow transfers";
    case SymptomKind::processor_stolen: return "stolen processor time";
    case SymptomKind::memory_pressure: return "waits for memory";
    case SymptomKind::store_full: return "a full store";
    case SymptomKind::store_error: return "I/O errors of the store";
    case SymptomKind::process_failed: return "a failed process";
    case SymptomKind::waited_for: return "ranks that wait for it";
    case SymptomKind::slow_rank: return "slow computation";
    case SymptomKind::process_stopped: return "a stopped process";
    case SymptomKind::suspected: return "a report from outside";
    case SymptomKind::network_error: return "errors of a network card";
    case SymptomKind::deadlock: return "ranks that wait for each other";
  }
  return "unknown symptoms";
}

std::string nodes_text(std::vector<NodeId> nodes) {
  constexpr std::size_t kShown = 16;
  std::vector<std::uint32_t> numbers;
  std::ranges::transform(nodes, std::back_inserter(numbers), &NodeId::value);
  return fmt::format("{} {}", numbers.size() == 1 ? "node" : "nodes", first_few(numbers, kShown));
}

std::optional<double> finding_of(const Verdict& verdict, ProbeFact fact) {
  const auto found = std::ranges::find(verdict.findings, fact_of(fact), &Finding::fact);
  return found == verdict.findings.end() ? std::nullopt : std::optional(found->value);
}

// ", 3 of 40 operations since 03:12"
std::string store_text(const Verdict& verdict, const Setting& setting) {
  const auto failed = finding_of(verdict, ProbeFact::state_store_failed);
  const auto operations = finding_of(verdict, ProbeFact::state_store_operations);
  const auto since = finding_of(verdict, ProbeFact::state_store_since);
  if (!failed || !operations || *failed == 0) return "";
  std::string text = fmt::format(", {:.0f} of {:.0f} operations", *failed, *operations);
  if (setting.today && since) {
    const auto began = (*setting.today - std::chrono::seconds(static_cast<std::int64_t>(*since))).count();
    text += fmt::format(" since {:%H:%M}", fmt::localtime(static_cast<std::time_t>(began)));
  }
  // Listings may go well where each write fails.
  if (*failed >= 2 && 2 * *failed >= *operations) text += "; set [storage] local to another directory";
  return text;
}

// "; if the node is lost, version 15 (L2, 03:11) is restored"
std::string outlook_text(const Verdict& verdict, const Setting& setting) {
  if (!setting.outlook || verdict.withdrawn) return "";
  const auto& newest = setting.outlook->newest;
  const bool node = endangers_node(verdict);
  if (!node && !may_end_job(verdict)) return "";
  if (!newest) return node ? "; if the node is lost, no snapshot is left" : "; there is no snapshot to restart from";
  std::string time;
  if (newest->sealed)
    time = fmt::format(", {:%H:%M}", fmt::localtime(static_cast<std::time_t>(newest->sealed->count())));
  return fmt::format("; {}, version {} (L{}{}) is restored", node ? "if the node is lost" : "after a restart",
                     newest->version.value, static_cast<int>(newest->level), time);
}

// "; 2 neighbours saw CRC errors": in data from the node.
std::string neighbours_text(const Verdict& verdict) {
  std::set<NodeId> reporters;
  for (const Observation& seen : verdict.evidence)
    if (seen.kind == SymptomKind::crc_mismatch && seen.reporter != verdict.suspect.node)
      reporters.insert(seen.reporter);
  if (reporters.empty() || verdict.fault == Fault::path_corrupts) return "";
  return fmt::format("; {} saw CRC errors",
                     reporters.size() == 1 ? "1 neighbour" : fmt::format("{} neighbours", reporters.size()));
}

// "; reported: …": in the words of whoever did; "; last error: …": of the store.
std::string notes_text(const Verdict& verdict) {
  constexpr std::size_t kShown = 3;
  std::vector<std::string> reports;
  std::vector<std::string> errors;
  for (const Observation& seen : verdict.evidence) {
    auto& notes = seen.kind == SymptomKind::suspected ? reports : errors;
    std::string note = fmt::format("\"{}\"", seen.note);
    if (!seen.note.empty() && notes.size() < kShown && std::ranges::find(notes, note) == notes.end())
      notes.push_back(std::move(note));
  }
  std::string text = reports.empty() ? "" : fmt::format("; reported: {}", fmt::join(reports, ", "));
  if (!errors.empty()) text += fmt::format("; last error: {}", fmt::join(errors, ", "));
  return text;
}

std::string node_text(NodeId node, const Setting& setting) {
  const bool known = node.value < setting.hosts.size() && !setting.hosts[node.value].empty();
  return fmt::format("node {}{}", node.value, known ? fmt::format(" (host {})", setting.hosts[node.value]) : "");
}

// ". At about that time, the kernel's out-of-memory killer ended 2 processes on its host"
std::string oom_text(const Verdict& verdict) {
  const double kills = finding_of(verdict, ProbeFact::response_oom_kills).value_or(0);
  if (!(kills > 0)) return "";
  return fmt::format(". At about that time, the kernel's out-of-memory killer ended {:.0f} {} on its host", kills,
                     kills == 1 ? "process" : "processes");
}

// "it has been computing for 72 s, since its MPI_Allreduce"
std::string doing_text(const Blocker& blocker) {
  const std::string last = blocker.call.empty() ? "" : fmt::format(", since its {}", blocker.call);
  switch (blocker.doing) {
    case Blocker::Doing::computes: return fmt::format("it has been computing for {:.0f} s{}", blocker.seconds, last);
    case Blocker::Doing::idles: return fmt::format("it has been idle for {:.0f} s{}", blocker.seconds, last);
    case Blocker::Doing::in_call: return fmt::format("it has been in {} for {:.0f} s", blocker.call, blocker.seconds);
    case Blocker::Doing::polls:
    case Blocker::Doing::waits:
    case Blocker::Doing::differs:
    case Blocker::Doing::left_out: break;
  }
  return fmt::format("it has been calling {} without success for {:.0f} s", blocker.call, blocker.seconds);
}

// ". Unknown: what 2 ranks do (no answer from node 4)"
std::string missing_text(const Blocker& blocker) {
  if (blocker.unseen == 0) return "";
  const std::string why = blocker.silent.empty() ? "" : " (no answer from " + nodes_text(blocker.silent) + ")";
  return fmt::format(". Unknown: what {} {}{}", blocker.unseen, blocker.unseen == 1 ? "rank does" : "ranks do", why);
}

// It may continue: nobody can see from outside whether it computes or is in an endless loop.
std::string stuck_text(const std::string& rank, const std::optional<Blocker>& blocker) {
  if (!blocker) return rank + " may be stuck: it no longer calls MPI, and others wait for it";
  std::string_view wait = blocker->waiting == 1 ? "rank has waited" : "ranks have waited";
  if (!blocker->likely) wait = blocker->waiting == 1 ? "rank may have waited" : "ranks may have waited";
  return fmt::format("{} may be stuck: {}, and {} {} up to {:.0f} s for it in {}{}", rank, doing_text(*blocker),
                     blocker->waiting, wait, blocker->waited, blocker->awaited, missing_text(*blocker));
}

// "the job hangs: ranks 1, 2 wait for each other; 3 ranks have waited up to 42 s"
std::string deadlock_text(const std::string& rank, const std::optional<Blocker>& blocker) {
  if (!blocker) return "the job hangs: " + rank + " and others wait for each other";
  std::vector<std::uint32_t> numbers;
  std::ranges::transform(blocker->ranks, std::back_inserter(numbers), &Rank::value);
  const bool one = numbers.size() == 1;
  std::string why = one ? "waits for itself" : "wait for each other";
  if (blocker->doing == Blocker::Doing::differs)
    why = fmt::format("{} entered {} otherwise than the others", one ? "has" : "have", blocker->call);
  if (blocker->doing == Blocker::Doing::left_out)
    why = fmt::format("{} left {} out", one ? "has" : "have", blocker->call);
  return fmt::format("the job {}: {} {}; {} {} waited up to {:.0f} s in {}{}", blocker->likely ? "hangs" : "may hang",
                     ranks_text(numbers), why, blocker->waiting, blocker->waiting == 1 ? "rank has" : "ranks have",
                     blocker->waited, blocker->awaited, missing_text(*blocker));
}

// Whether it is down, cut off or does nothing, cannot be seen from elsewhere.
std::string unreached_text(const Verdict& verdict) {
  const std::string text = " may be down: its head does not answer";
  const auto others = finding_of(verdict, ProbeFact::witness_unreached);
  if (!others) return text;
  if (*others == 0) return text + ", and no third node was able to ask it";
  if (*others == 1) return text + ", and another node does not reach it either";
  return text + fmt::format(", and {:.0f} other nodes do not reach it either", *others);
}

// " for up to 42 s"
std::string queue_text(const Verdict& verdict) {
  const double seconds = finding_of(verdict, ProbeFact::state_queue).value_or(0);
  return seconds >= 1 ? fmt::format(" for up to {:.0f} s", seconds) : "";
}

// Why a rank is slow.
std::string slow_text(const Verdict& verdict) {
  const auto held = finding_of(verdict, ProbeFact::log_held).value_or(0);
  const auto crowded = finding_of(verdict, ProbeFact::log_crowded).value_or(0);
  if (held >= kMuch)
    return fmt::format("its process is stopped and continued all the time, {:.0f} % of it", held * 100);
  return fmt::format("it waits for a processor for {:.0f} % of the time, far longer than other ranks of its node",
                     crowded * 100);
}

// ": 12.5 MiB are free, less than its ranks' next snapshot takes"
std::string full_text(const Verdict& verdict) {
  const auto free = finding_of(verdict, ProbeFact::state_store_free);
  const auto refused = finding_of(verdict, ProbeFact::state_store_refused).value_or(0);
  std::string text;
  if (free) text = fmt::format(", {:.1f} MiB are free", *free / kMiB);
  if (refused > 0)
    return text + fmt::format(
                      "; {:.0f} of its operations found no room; lower [storage] keep_local, or set local to a "
                      "larger place",
                      refused);
  const auto room = finding_of(verdict, ProbeFact::state_store_room);
  return room && *room < 1 ? text + ", less than the next snapshot of its ranks takes; lower [storage] keep_local"
                           : text;
}

// ", 2 files that others refused"
std::string damaged_text(const Verdict& verdict) {
  const double files = finding_of(verdict, ProbeFact::state_store_damaged).value_or(0);
  if (files == 0) return "";
  return files == 1 ? ", 1 file that another node refused" : fmt::format(", {:.0f} files that others refused", files);
}

std::string link_text(const Verdict& verdict) {
  const auto errors = finding_of(verdict, ProbeFact::state_network_errors).value_or(0);
  if (errors > 0)
    return fmt::format(" has a bad link: a network card reports errors, {:.2g} % of its packets", errors * 100);
  const auto share = finding_of(verdict, ProbeFact::state_bandwidth);
  if (!share) return " has a slow link";
  return fmt::format(" has a slow link: its transfers reach {:.0f} % of the rate of node {}", *share * 100,
                     verdict.analyst.value);
}

// What is wrong with what, without the evidence.
std::string fault_text(const Verdict& verdict, const Setting& setting) {
  const std::string node = node_text(verdict.suspect.node, setting);
  const std::string rank =
      verdict.suspect.rank ? fmt::format("rank {} on {}", verdict.suspect.rank->value, node) : node;
  switch (verdict.fault) {
    case Fault::process_dead: return rank + " is dead: its process has ended" + oom_text(verdict);
    case Fault::process_stopped: return rank + " is stopped: by a signal or a debugger";
    case Fault::rank_stuck: return stuck_text(rank, verdict.blocker);
    case Fault::deadlock: return deadlock_text(rank, verdict.blocker);
    case Fault::rank_slow: return rank + " is slow: " + slow_text(verdict);
    case Fault::node_down: return node + unreached_text(verdict);
    case Fault::node_stolen: return node + " is slow: its processors work for others";
    case Fault::node_swapping: return node + " is slow: its threads wait for memory";
    case Fault::store_failing: return node + " is sick: its store fails" + store_text(verdict, setting);
    case Fault::store_full: return node + " is sick: its store is full" + full_text(verdict);
    case Fault::store_corrupts: return node + " is sick: its store returns damaged data" + damaged_text(verdict);
    case Fault::link_degraded: return node + link_text(verdict);
    case Fault::partition:
      return fmt::format("the network is partitioned: {} cannot reach {}", nodes_text({verdict.analyst}),
                         nodes_text(verdict.nodes));
    case Fault::path_corrupts:
      return fmt::format("data from {} to {} arrives damaged", node, nodes_text(verdict.nodes));
    case Fault::head_overloaded: return node + " has an overloaded head: messages wait for it" + queue_text(verdict);
    case Fault::undetermined: break;
  }
  const auto from_outside = [](const Observation& seen) { return seen.kind == SymptomKind::suspected; };
  if (!verdict.evidence.empty() && std::ranges::all_of(verdict.evidence, from_outside))
    return rank + " is suspected, but no probe has found anything";
  return rank + " is sick, but no probe has found out why";
}

}  // namespace

std::string mistake_text(std::string_view file, const RuleMistake& mistake) {
  return fmt::format("{}:{}: {} ({})", file, mistake.line, mistake.what, mistake.instead);
}

std::string rule_text(const RuleSet& rules, const Rule& rule) {
  std::vector<std::string> alternatives;
  for (const auto& conditions : rule.any_of) {
    std::vector<std::string> all;
    for (const Condition& condition : conditions) all.push_back(condition_text(rules, condition));
    alternatives.push_back(fmt::format("{}", fmt::join(all, " and ")));
  }
  return fmt::format("{}: if {}, {}: {}", rule.name, fmt::join(alternatives, ", or "), conclusion_text(rules, rule),
                     rule.why);
}

std::string symptoms_text(const Verdict& verdict) {
  std::set<NodeId> reporters;
  std::vector<std::string_view> kinds;
  for (const Observation& observation : verdict.evidence) {
    reporters.insert(observation.reporter);
    const auto words = symptom_words(observation.kind);
    if (std::ranges::find(kinds, words) == kinds.end()) kinds.push_back(words);
  }
  return fmt::format("{} from {}", fmt::join(kinds, ", "), nodes_text({reporters.begin(), reporters.end()}));
}

std::string probes_text(const Verdict& verdict) {
  std::vector<std::string> found;
  for (const Finding& finding : verdict.findings) {
    found.push_back(fmt::format("{} = {:.3g}", fact_name(finding.fact), finding.value));
  }
  return fmt::format("{}", fmt::join(found, ", "));
}

std::string unanswered_text(NodeId node, const Setting& setting) {
  return node_text(node, setting) + " may be down: its host does not answer since the job has ended";
}

std::string ended_text(const Verdict& verdict, const Setting& setting) {
  if (verdict.fault != Fault::undetermined) return verdict_text(verdict, setting);
  return fmt::format("{} may be sick: the job ended before a probe found out why{}{} ({})",
                     node_text(verdict.suspect.node, setting), neighbours_text(verdict), notes_text(verdict),
                     symptoms_text(verdict));
}

std::string verdict_text(const Verdict& verdict, const Setting& setting) {
  return fmt::format("{}{}{}{}{} ({})", verdict.withdrawn ? "withdrawn: " : "", fault_text(verdict, setting),
                     neighbours_text(verdict), notes_text(verdict), outlook_text(verdict, setting),
                     symptoms_text(verdict));
}

}  // namespace cairn::localize
