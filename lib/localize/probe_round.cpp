#include "localize/probe_round.hpp"

#include <algorithm>
#include <chrono>

namespace cairn::localize {
namespace {

void add_state(FoundFacts& facts, const NodeState& state, const NodeState& own) {
  if (own.bandwidth > 0 && state.bandwidth > 0)
    facts.emplace_back(ProbeFact::state_bandwidth, state.bandwidth / own.bandwidth);
  facts.emplace_back(ProbeFact::state_load, state.load);
  facts.emplace_back(ProbeFact::state_stolen, state.stolen);
  facts.emplace_back(ProbeFact::state_memory, state.memory);
  facts.emplace_back(ProbeFact::state_store_errors, state.store_errors);
  facts.emplace_back(ProbeFact::state_store_operations, state.store_operations);
  facts.emplace_back(ProbeFact::state_store_failed, state.store_failed);
  facts.emplace_back(ProbeFact::state_store_since, state.store_since);
  if (state.store_room >= 0) facts.emplace_back(ProbeFact::state_store_room, state.store_room);
  if (state.store_free >= 0) facts.emplace_back(ProbeFact::state_store_free, state.store_free);
  facts.emplace_back(ProbeFact::state_store_refused, state.store_refused);
  facts.emplace_back(ProbeFact::state_store_damaged, state.store_damaged);
  facts.emplace_back(ProbeFact::state_network_errors, state.network_errors);
  facts.emplace_back(ProbeFact::state_queue, state.queue);
}

void add_log(FoundFacts& facts, const NodeLog& log) {
  facts.emplace_back(ProbeFact::log_bad_peers, log.bad_peers);
  facts.emplace_back(ProbeFact::log_bad_share, log.bad_share);
  if (log.pace) facts.emplace_back(ProbeFact::log_held, log.pace->held);
  if (log.pace) facts.emplace_back(ProbeFact::log_crowded, log.pace->crowded);
}

}  // namespace

std::vector<NodeId> witnesses_for(const Tree& tree, NodeId suspect, NodeId analyst, const Availability& known,
                                  std::uint32_t most) {
  const auto nodes = tree.nodes();
  const auto found = std::ranges::find(nodes, suspect);
  const std::size_t count = nodes.size();
  std::vector<NodeId> witnesses;
  if (found == nodes.end()) return witnesses;
  const auto place = static_cast<std::size_t>(found - nodes.begin());
  const auto add = [&](std::size_t at, std::size_t limit) {
    const NodeId node = nodes[at % count];
    const bool fits = node != suspect && node != analyst && !known.dead(node) &&
                      std::ranges::find(witnesses, node) == witnesses.end();
    if (fits && witnesses.size() < limit) witnesses.push_back(node);
  };
  for (std::size_t step = 1; step < count && witnesses.size() < most / 2; ++step) {
    add(place + step, most / 2);
    add(place + count - step, most / 2);
  }
  const std::size_t stride = std::max<std::size_t>(count / (most + 1), 1);
  for (std::size_t step = 1; step < count && witnesses.size() < most; ++step) add(place + step * stride, most);
  return witnesses;
}

ProbeRound::ProbeRound(Probe probe, const Suspect& suspect, std::vector<NodeId> asked, Time now, Time limit, bool calls)
    : probe_(probe), suspect_(suspect), began_(now), next_(now), limit_(now + limit), calls_(calls) {
  for (const NodeId node : asked) asked_.push_back({node, 0, std::nullopt});
  near_ = asked_.size() / 2;
}

void ProbeRound::turn(NodeId self, Time now, Port& port, std::uint64_t& numbers, const Settings& settings) {
  if (now < next_) return;
  next_ = now + settings.ask_again;
  for (Asked& one : asked_) {
    if (one.answer) continue;
    if (one.number == 0) one.number = numbers++;
    port.send(one.to, {self, numbers++, Question{one.number, probe_, suspect_, calls_}});
  }
}

bool ProbeRound::take(NodeId from, const Answer& answer, Time now) {
  const auto found = std::ranges::find_if(asked_, [&](const Asked& one) { return one.number == answer.number; });
  if (found == asked_.end() || found->to != from || found->number == 0) return false;
  if (!found->answer) answered_ = now;
  found->answer = answer;
  return true;
}

bool ProbeRound::done(Time now) const {
  return now >= limit_ || std::ranges::all_of(asked_, [](const Asked& one) { return one.answer.has_value(); });
}

CallReports ProbeRound::reports() const {
  CallReports reports;
  for (const Asked& one : asked_) {
    const auto* log = one.answer ? std::get_if<NodeLog>(&one.answer->what) : nullptr;
    if (log == nullptr) {
      reports.silent.push_back(one.to);
    } else if (!log->calls.empty()) {
      reports.calls.emplace(one.to, log->calls);
    }
  }
  std::ranges::sort(reports.silent);
  return reports;
}

FoundFacts ProbeRound::facts(const NodeState& own) const {
  FoundFacts facts;
  if (probe_ == Probe::witness) {
    double reached = 0;
    double unreached = 0;
    double near_silent = 0;
    for (const Asked& one : asked_) {
      const bool near = &one - asked_.data() < static_cast<std::ptrdiff_t>(near_);
      if (!one.answer && near) ++near_silent;
      if (!one.answer) continue;
      const auto* witness = std::get_if<WitnessAnswer>(&one.answer->what);
      ++(witness != nullptr && witness->reached ? reached : unreached);
    }
    const auto silent = static_cast<double>(asked_.size()) - reached - unreached;
    return {{ProbeFact::witness_reached, reached},
            {ProbeFact::witness_unreached, unreached},
            {ProbeFact::witness_silent, silent},
            {ProbeFact::witness_near_silent, near_silent}};
  }
  const bool answered = !asked_.empty() && asked_.front().answer;
  if (probe_ == Probe::response) facts.emplace_back(ProbeFact::response_answers, answered ? 1 : 0);
  if (!answered) return facts;
  const Answer& answer = *asked_.front().answer;
  if (const auto* response = std::get_if<ResponseAnswer>(&answer.what)) {
    facts.emplace_back(ProbeFact::response_seconds, std::chrono::duration<double>(answered_ - began_).count());
    if (response->process) {
      facts.emplace_back(ProbeFact::response_process_alive, response->process->alive ? 1 : 0);
      facts.emplace_back(ProbeFact::response_process_stopped, response->process->stopped ? 1 : 0);
      if (const auto& kills = response->process->oom_kills) facts.emplace_back(ProbeFact::response_oom_kills, *kills);
    }
  }
  if (const auto* state = std::get_if<NodeState>(&answer.what)) add_state(facts, *state, own);
  if (const auto* log = std::get_if<NodeLog>(&answer.what)) add_log(facts, *log);
  return facts;
}

}  // namespace cairn::localize
