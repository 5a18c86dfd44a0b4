// Brings notes to the node that analyses a suspect, or to the root, whichever node that is by now: sends again until
// there is a receipt, and chooses another node when one does not answer. Bounded: of too many notes, the
// oldest are dropped. Pure.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <variant>
#include <vector>

#include "localize/messages.hpp"
#include "localize/tree.hpp"

namespace cairn::localize {

using Note = std::variant<EvidenceNote, VerdictNote>;

class Courier {
 public:
  // Keeps references to all but `self`. `numbers`: that of the next message of this node.
  Courier(NodeId self, const Tree& tree, const Settings& settings, Availability& known, Port& port,
          std::uint64_t& numbers)
      : self_(self), tree_(tree), settings_(settings), known_(known), port_(port), numbers_(numbers) {}

  // Times of observations are on this node's clock; they travel as ages.
  void post(Note note, Time now);
  void on_receipt(NodeId from, const Receipt& receipt, Time now);
  void on_message(NodeId from, Time now);
  void turn(Time now);
  // Evidence that `node` had taken shortly before it became unavailable goes to another node.
  void on_unavailable(NodeId node, Time now);

  // Notes that turned out to be for this node itself; they are handed over once.
  [[nodiscard]] std::vector<Note> take_own();
  // Observations that are under way, or found nobody who takes them.
  [[nodiscard]] std::vector<Observation> pending() const;
  // Nothing waits for a receipt.
  [[nodiscard]] bool delivered() const { return letters_.empty(); }
  [[nodiscard]] bool idle() const { return letters_.empty() && own_.empty() && delivered_.empty(); }
  [[nodiscard]] std::size_t size() const { return letters_.size() + delivered_.size(); }

 private:
  struct Letter {
    Note note;
    std::uint64_t number = 0;
    NodeId address;
    std::uint32_t tries = 0;
    std::uint32_t moves = 0;
    Time next{};
  };
  struct Delivered {
    EvidenceNote note;
    NodeId address;
    Time at{};
  };
  // A node that has taken evidence, and so has to stay available.
  struct Watched {
    Time last_message{};
    Time next{};
  };

  [[nodiscard]] std::optional<NodeId> address_of(const Note& note) const;
  // False: the letter is done with.
  bool dispatch(Letter& letter, Time now);
  void send(Letter& letter, Time now);
  void remember(Letter& letter, Time now);
  // Asks those that have taken evidence whether they are there. Answers with those that are not.
  [[nodiscard]] std::vector<NodeId> probe_availability(Time now);

  NodeId self_;
  const Tree& tree_;
  const Settings& settings_;
  Availability& known_;
  Port& port_;
  std::uint64_t& numbers_;
  std::deque<Letter> letters_;
  std::deque<Delivered> delivered_;
  std::map<NodeId, Watched> watched_;
  std::vector<Note> own_;
  std::deque<EvidenceNote> undeliverable_;
};

}  // namespace cairn::localize
