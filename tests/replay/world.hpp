// Ranks that play a Program over a network, one step of one of them at a time: messages between two ranks with one tag
// match in order, and take as long as the seed wants. Processes die, and are replaced by lib/replay alone: survivors do
// not roll back. Mutants leave a part of it out, and must come to a wrong end.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "program.hpp"
#include "replay/journal.hpp"

namespace cairn::test {

enum class Mutant {
  none,
  no_receipts,
  no_resend,
  restores_own_newest,
  numbers_go_on,
  keeps_void_snapshots,
  ships_no_prologue,
  forgets_choices,
  damages_files
};

class World {
 public:
  World(const Program& program, std::uint64_t seed, Mutant mutant = Mutant::none);

  // One step of a rank that can make one. False: none can.
  bool step();
  [[nodiscard]] bool is_finished() const;
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  // These ranks die now, all at once, and the others repair the job. Ranks that have finished may die, too. Nothing
  // happens before all have restored: all would roll back.
  void kill(const std::set<std::uint32_t>& dead);

  // What each rank has computed.
  [[nodiscard]] std::vector<std::uint64_t> results() const;
  // The first thing that was wrong; empty: nothing.
  [[nodiscard]] const std::string& fault() const { return fault_; }
  // What all ranks have sent less what they have received, since the newest snapshot that all have.
  [[nodiscard]] std::uint64_t balance() const;
  [[nodiscard]] std::uint64_t replayed_messages() const { return replayed_; }

 private:
  using Number = replay::Number;
  struct Pending {
    bool sends = false;
    Number number;
    std::optional<Buffer> payload;            // of a receive that is complete
    std::optional<std::uint64_t> place = {};  // of a receive from any rank that has no message: see replay::Choices
    bool complete = false;
  };
  struct Saved {
    std::size_t at = 0;
    std::uint64_t state = 0;
  };
  struct Process {
    std::size_t at = 0;  // the operation that comes next
    std::uint64_t state = 0;
    std::vector<Pending> pending;
    std::uint64_t calls = 0;  // of snapshot()
    std::optional<replay::Journal> journal;
    std::map<std::uint64_t, Saved> saved;  // by snapshot() call: in its node's store
    std::shared_ptr<Buffer> choices;       // there, too
  };
  struct Message {
    Number number;            // as its receiver has it
    std::uint64_t stamp = 0;  // its place in the lane, as its sender counts
    Buffer payload;
    bool matched = false;  // a receive has it, and is not complete yet
  };

  [[nodiscard]] bool can_step(std::uint32_t rank) const;
  [[nodiscard]] bool is_at_restore(std::uint32_t rank) const;
  bool step_of(const std::set<std::uint32_t>& ranks);
  void make(std::uint32_t rank);
  void begin_send(std::uint32_t rank, const Operation& operation);
  void begin_receive_any(std::uint32_t rank, const Operation& operation);
  bool deliver_any(std::uint32_t rank);
  void record_choices(std::uint32_t rank, const std::vector<replay::Choices::Entry>& known);
  void note_state(std::uint32_t rank);
  void begin_receive(std::uint32_t rank, const Operation& operation);
  void transmit(std::uint32_t from, const Number& number, Buffer payload);
  bool deliver_one();
  void finish(Process& process, const Pending& pending);
  void snapshot(std::uint32_t rank);
  void complete_receive(std::uint32_t rank, Pending& pending, Buffer payload);

  [[nodiscard]] std::uint64_t newest_whole() const;
  void harvest(const std::set<std::uint32_t>& dead);
  void replace(const std::set<std::uint32_t>& dead);
  void restore(std::uint32_t rank, std::uint64_t epoch);
  void go_on(std::uint64_t epoch);
  void wrong(std::string what);

  const Program& program_;
  std::mt19937_64 random_;
  Mutant mutant_;
  std::vector<Process> processes_;
  std::map<std::pair<std::uint32_t, replay::Lane>, std::deque<Message>> network_;  // by receiver, and the lane there
  std::map<std::pair<std::uint32_t, std::size_t>, std::uint64_t> states_;  // by rank and operation that it has made
  std::uint64_t cut_ = 0;
  std::uint64_t steps_ = 0;
  std::uint64_t replayed_ = 0;
  std::string fault_;
};

}  // namespace cairn::test
