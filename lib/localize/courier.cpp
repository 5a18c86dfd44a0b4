#include "localize/courier.hpp"

#include <algorithm>
#include <utility>

namespace cairn::localize {
namespace {

constexpr std::size_t kMostLetters = 256;
constexpr std::size_t kMostDelivered = 64;
constexpr std::uint32_t kMostMoves = 16;
constexpr std::size_t kTopNodes = 16;  // of the tree, among which the acting root is
// The root is replaced only after so many times as many tries.
constexpr std::uint32_t kRootTries = 2;

NodeId node_of(const EvidenceNote& note) { return note.observations.front().suspect.node; }

}  // namespace

void Courier::post(Note note, Time now) {
  Letter letter{std::move(note), numbers_++, {}, 0, 0, now};
  if (!dispatch(letter, now)) return;
  if (letters_.size() == kMostLetters) letters_.pop_front();
  letters_.push_back(std::move(letter));
}

std::optional<NodeId> Courier::address_of(const Note& note) const {
  const auto* evidence = std::get_if<EvidenceNote>(&note);
  return evidence == nullptr ? acting_root(tree_, self_, known_) : analyst_of(tree_, node_of(*evidence), known_);
}

bool Courier::dispatch(Letter& letter, Time now) {
  const auto address = address_of(letter.note);
  if (!address || letter.moves++ == kMostMoves) {
    if (undeliverable_.size() == kMostDelivered) undeliverable_.pop_front();
    if (auto* evidence = std::get_if<EvidenceNote>(&letter.note)) undeliverable_.push_back(std::move(*evidence));
    return false;
  }
  if (*address == self_) {
    own_.push_back(std::move(letter.note));
    return false;
  }
  letter.address = *address;
  letter.tries = 0;
  send(letter, now);
  return true;
}

void Courier::send(Letter& letter, Time now) {
  ++letter.tries;
  letter.next = now + settings_.receipt_limit;
  Message message{self_, letter.number, {}};
  if (const auto* evidence = std::get_if<EvidenceNote>(&letter.note)) {
    EvidenceNote note = *evidence;
    for (Observation& observation : note.observations) {
      observation.first = now - observation.first;
      observation.last = now - observation.last;
    }
    visit_analysts(tree_, node_of(note), [&](NodeId node) {
      if (node == letter.address || known_.dead(node)) return node == letter.address;
      if (std::ranges::find(note.mute, node) == note.mute.end()) note.mute.push_back(node);
      return note.mute.size() >= kMostMoves;
    });
    message.body = std::move(note);
  } else {
    VerdictNote note = std::get<VerdictNote>(letter.note);
    for (const NodeId node : tree_.nodes().first(std::min(kTopNodes, tree_.nodes().size()))) {
      if (known_.mute(node)) note.mute.push_back(node);
    }
    message.body = std::move(note);
  }
  port_.send(letter.address, message);
}

void Courier::on_receipt(NodeId from, const Receipt& receipt, Time now) {
  const auto found = std::ranges::find(letters_, receipt.note, &Letter::number);
  if (found == letters_.end() || found->address != from) return;
  remember(*found, now);
  letters_.erase(found);
}

void Courier::remember(Letter& letter, Time now) {
  auto* evidence = std::get_if<EvidenceNote>(&letter.note);
  if (evidence == nullptr) return;
  if (delivered_.size() == kMostDelivered) delivered_.pop_front();
  delivered_.push_back({std::move(*evidence), letter.address, now});
  watched_.try_emplace(letter.address, Watched{now, now + settings_.ask_again});
}

void Courier::turn(Time now) {
  std::vector<NodeId> silent;
  std::erase_if(letters_, [&](Letter& letter) {
    if (letter.next > now) return false;
    const bool verdict = std::holds_alternative<VerdictNote>(letter.note);
    if (letter.tries < (verdict ? kRootTries : 1) * settings_.tries) {
      send(letter, now);
      return false;
    }
    known_.set_mute(letter.address, now + settings_.mute);
    silent.push_back(letter.address);
    return !dispatch(letter, now);
  });
  std::erase_if(delivered_, [&](const Delivered& one) { return one.at + settings_.window < now; });
  for (const NodeId node : probe_availability(now)) silent.push_back(node);
  for (const NodeId node : silent) on_unavailable(node, now);
}

void Courier::on_message(NodeId from, Time now) {
  const auto found = watched_.find(from);
  if (found != watched_.end()) found->second = {now, now + settings_.ask_again};
}

std::vector<NodeId> Courier::probe_availability(Time now) {
  std::vector<NodeId> gone;
  for (auto one = watched_.begin(); one != watched_.end();) {
    const NodeId node = one->first;
    Watched& watched = one->second;
    const bool needed = std::ranges::any_of(delivered_, [&](const Delivered& d) { return d.address == node; });
    const bool silent = now - watched.last_message >= settings_.silence;
    if (needed && silent) {
      known_.set_mute(node, now + settings_.mute);
      gone.push_back(node);
    }
    if (!needed || silent) {
      one = watched_.erase(one);
      continue;
    }
    if (now >= watched.next) {
      watched.next = now + settings_.ask_again;
      port_.send(node, {self_, numbers_++, Question{0, Probe::response, {node, std::nullopt}, false}});
    }
    ++one;
  }
  return gone;
}

void Courier::on_unavailable(NodeId node, Time now) {
  std::vector<EvidenceNote> again;
  std::erase_if(delivered_, [&](Delivered& one) {
    const bool lost = one.address == node && one.at + settings_.window >= now;
    if (lost) again.push_back(std::move(one.note));
    return one.address == node;
  });
  for (EvidenceNote& note : again) {
    note.hops = 0;
    post(std::move(note), now);
  }
}

std::vector<Observation> Courier::pending() const {
  std::vector<Observation> all;
  const auto add = [&](const EvidenceNote& note) {
    all.insert(all.end(), note.observations.begin(), note.observations.end());
  };
  for (const Letter& letter : letters_)
    if (const auto* evidence = std::get_if<EvidenceNote>(&letter.note)) add(*evidence);
  for (const EvidenceNote& note : undeliverable_) add(note);
  return all;
}

std::vector<Note> Courier::take_own() { return std::exchange(own_, {}); }

}  // namespace cairn::localize
