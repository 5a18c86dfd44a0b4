// What a Localizer does with the messages of others.
#include <algorithm>
#include <utility>

#include "localize/localizer.hpp"

namespace cairn::localize {
namespace {

constexpr std::size_t kMostReceived = 64;  // of one node
constexpr std::uint32_t kMostHops = 8;

}  // namespace

void Localizer::receive(const Message& message) {
  if (!tree_.has(message.from)) return;
  now_ = clock_();
  if (known_.dead(message.from)) own_.doubt(message.from, now_);
  known_.set_alive(message.from);
  courier_.on_message(message.from, now_);
  std::visit([&](const auto& body) { handle(message.from, message.number, body); }, message.body);
}

bool Localizer::seen_before(NodeId from, std::uint64_t number) {
  auto& numbers = received_[from];
  if (std::ranges::find(numbers, number) != numbers.end()) return true;
  if (numbers.size() == kMostReceived) numbers.erase(numbers.begin());
  numbers.push_back(number);
  return false;
}

void Localizer::handle(NodeId from, std::uint64_t number, const EvidenceNote& note) {
  if (note.observations.empty()) return;
  const NodeId suspect = note.observations.front().suspect.node;
  if (!tree_.has(suspect)) return;
  const bool known = seen_before(from, number);
  port_.send(from, {self_, numbers_++, Receipt{number}});
  if (known) return;
  for (const NodeId node : note.mute) {
    if (node != self_) known_.set_mute(node, now_ + settings_.mute);
  }
  EvidenceNote arrived = note;
  std::erase_if(arrived.observations, [&](const Observation& seen) { return seen.suspect.node != suspect; });
  for (Observation& observation : arrived.observations) {
    observation.first = now_ - observation.first;
    observation.last = now_ - observation.last;
  }
  const auto analyst = analyst_of(tree_, suspect, known_);
  if (!analyst || *analyst == self_ || note.hops >= kMostHops) {
    for (const Observation& observation : arrived.observations) keep(observation);
    return;
  }
  ++arrived.hops;
  courier_.post(std::move(arrived), now_);
  take_own_notes();
}

void Localizer::handle(NodeId from, std::uint64_t number, const VerdictNote& note) {
  port_.send(from, {self_, numbers_++, Receipt{number}});
  if (seen_before(from, number)) return;
  for (const NodeId node : note.mute) {
    if (node != self_) known_.set_mute(node, now_ + settings_.mute);
  }
  send_to_root(note.verdict);
}

void Localizer::handle(NodeId from, std::uint64_t /*number*/, const Receipt& receipt) {
  courier_.on_receipt(from, receipt, now_);
  take_own_notes();
}

void Localizer::handle(NodeId from, std::uint64_t /*number*/, const Question& question) {
  const auto answer = [&](auto what) {
    port_.send(from, {self_, numbers_++, Answer{question.number, std::move(what)}});
  };
  switch (question.probe) {
    case Probe::response: {
      const auto rank = question.suspect.rank;
      return answer(ResponseAnswer{rank ? std::optional(host_.process(*rank)) : std::nullopt});
    }
    case Probe::state: return answer(host_.state());
    case Probe::log: {
      // One that it asks itself is no reason not to ask.
      if (question.calls && from != self_) survey_.note(now_);
      NodeLog log = host_.log(question.suspect.rank);
      if (question.calls) log.calls = host_.calls();
      return answer(std::move(log));
    }
    case Probe::witness: return errands_.ask(from, question, now_);
  }
}

void Localizer::handle(NodeId from, std::uint64_t /*number*/, const Answer& answer) {
  for (auto& [node, one] : cases_) {
    if (one.round && one.round->take(from, answer, now_)) return;
  }
  if (errands_.take(from, answer, now_) || survey_.take(from, answer, now_)) return;
  // Too late for the probe that asked.
  own_.doubt(from, now_);
}

void Localizer::handle(NodeId /*from*/, std::uint64_t /*number*/, const Bulletin& bulletin) {
  if (bulletin.node == self_) return;
  if (bulletin.dead && !known_.dead(bulletin.node)) {
    known_.set_dead(bulletin.node);
    courier_.on_unavailable(bulletin.node, now_);
    take_own_notes();
  } else if (!bulletin.dead) {
    known_.set_alive(bulletin.node);
  }
  for (const NodeId child : living_children(tree_, self_, known_)) port_.send(child, {self_, numbers_++, bulletin});
}

}  // namespace cairn::localize
