// What the calls of a rank have got that name no sender, or no tag, after restore(): a replacement must get the same. A
// call has an entry as soon as it is made, and MPI's choice is added before the application, and so any other rank, can
// see it. The entries are in memory that outlives the process, too. Probes that find nothing have no entry: a probe of
// a replacement gets the next entry only if the dead rank's probe could get the same messages.
//
// Calls must come in the order of the application's calls. Not thread-safe. Local.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "replay/prologue.hpp"

namespace cairn::replay {

class Choices {
 public:
  struct Entry {
    std::uint64_t epoch = 0;  // snapshot() calls so far
    bool is_of_probe = false;
    std::optional<Choice> got;  // nothing: a receive that has got nothing so far
  };
  // Of an entry in memory.
  static constexpr std::size_t kEntryBytes = 24;

  // A new record, which begins with these entries. `memory`: all its bytes are 0; whoever reads it finds the stamp.
  // Requires: it outlives this object.
  void records_in(MutableBytes memory, std::uint64_t stamp, const std::vector<Entry>& known);
  [[nodiscard]] bool is_recorded() const { return !memory_.empty(); }
  // Nothing is recorded any more, and the memory is not used.
  void ends() { *this = Choices(); }
  // This rank is a replacement, and the record of the dead one is lost.
  void knows_nothing() { knows_nothing_ = true; }

  struct Receive {
    std::optional<std::uint64_t> place;  // none: the record is full
    std::optional<Choice> got;           // nothing: what MPI chooses, see chose()
  };
  // A receive is posted. mismatch: the dead rank made another call, or what it got is not known.
  [[nodiscard]] Result<Receive> receives(std::uint64_t epoch, const Pattern& pattern, bool catches_up);
  void chose(std::uint64_t place, const Choice& choice);
  struct Probe {
    bool is_free = true;  // MPI chooses, see probed(); otherwise the dead rank got this, or nothing yet
    std::optional<Choice> got;
  };
  // A probe is made. mismatch: the same; `waits`: it does not return without a message. A probe that does not wait gets
  // nothing if the dead rank's next call was another one of this step, or one of a later step.
  [[nodiscard]] Result<Probe> probes(std::uint64_t epoch, const Pattern& pattern, bool waits, bool catches_up);
  // False: the record is full.
  [[nodiscard]] bool probed(std::uint64_t epoch, const Choice& choice) {
    return add({epoch, true, choice}).has_value();
  }
  // What MPI chooses from now on is not recorded: the record is as if it were full, up to the next snapshot() call.
  void gives_up(std::uint64_t epoch);
  // The calls of a replacement up to this snapshot() call were made by helpers: it does not make them.
  void skips_to(std::uint64_t epoch);
  // Snapshots before this call are not restored any more.
  void cut(std::uint64_t epoch);

 private:
  [[nodiscard]] std::optional<std::uint64_t> add(const Entry& entry);
  [[nodiscard]] std::size_t room() const;
  void write(std::size_t half, std::size_t at, const Entry& entry);
  void append(std::size_t half, std::size_t at, const Entry& entry);

  MutableBytes memory_;
  std::size_t half_ = 0;
  std::deque<Entry> entries_;
  std::uint64_t first_ = 0;  // place of the first
  std::uint64_t next_ = 0;   // place of the next call; below the end in a replacement that has not come so far
  bool knows_nothing_ = false;
};

// The entries since this snapshot() call that are in such memory. Nothing: it has another stamp, or was full.
[[nodiscard]] std::optional<std::vector<Choices::Entry>> read_choices(Bytes memory, std::uint64_t stamp,
                                                                      std::uint64_t epoch);
[[nodiscard]] Buffer encode(const std::vector<Choices::Entry>& entries);
// Nothing: these are no bytes of encode().
[[nodiscard]] std::optional<std::vector<Choices::Entry>> decode_choices(Bytes bytes);
// Of two records of one rank, the one that reaches farther.
[[nodiscard]] std::vector<Choices::Entry> longer(std::vector<Choices::Entry> one, std::vector<Choices::Entry> other);

}  // namespace cairn::replay
