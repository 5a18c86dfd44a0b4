// What a rank exchanges before it restores. A replacement begins from the start, so this is kept for the session's
// life: a replacement takes what it receives from the logs of the survivors, and sends them nothing again. No message
// of these calls may be under way when the rank restores.
//
// What messages hold is not compared: before restore() a rank may send what it does not use, such as memory that a
// receive from any rank has filled. That their number is the same is checked.
//
// Calls that name no sender, or no tag, get what comes first. A replacement must get what the dead rank got, so ranks
// tell those who had sent it when they restore.
//
// Calls must come in the order of the application's calls. Not thread-safe. Local.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "replay/catch_up.hpp"
#include "replay/number.hpp"
#include "replay/receipts.hpp"
#include "replay/send_log.hpp"

namespace cairn::replay {

// What a call has got that names no sender, or no tag.
struct Choice {
  std::uint32_t peer = 0;
  std::int32_t tag = 0;
  bool is_of_probe = false;
  // What the call could get; its communicator has the peer as a member. Probes that find nothing are not recorded, so a
  // replacement compares this with its own call.
  Pattern pattern = {};
};

class Prologue {
 public:
  // Messages take at most `memory` bytes.
  Prologue(std::uint32_t me, std::uint64_t memory) : me_(me), log_(memory) {}

  // mismatch: the process that this one replaces had not sent so many messages.
  [[nodiscard]] Result<Outgoing> sends(const Stream& to, Bytes payload);
  [[nodiscard]] Number awaits(const Stream& from) { return receives_.next(from); }
  // The payload of that message, if it was shipped to this rank; nothing: it has to be received. mismatch: the sender
  // will not send it, since the process that this one replaces did not receive so many messages.
  [[nodiscard]] Result<std::optional<Buffer>> shipped(const Number& number);
  // The length of the next such message, if it was shipped. mismatch: it will not come.
  [[nodiscard]] Result<std::optional<std::uint64_t>> next_shipped(const Stream& from) const;
  void received(const Number& number, const Content& content);

  // A call that names no sender, or no tag, receives a message: its place among these calls.
  [[nodiscard]] std::uint64_t chooses() {
    choices_.emplace_back();
    return choices_.size() - 1;
  }
  void chose(std::uint64_t place, const Choice& choice) { choices_[place] = choice; }
  // In a replacement: what such a call gets; it counts as one. Nothing: a probe finds no message, since the next such
  // call of the dead rank was another one. mismatch: it is not known, perhaps since its sender is replaced, too; or a
  // receive is another call than that of the dead rank.
  [[nodiscard]] Result<std::optional<Choice>> next_choice(const Pattern& pattern, bool probes);
  // When the ranks restore: what each of the others is to keep, and keeps.
  [[nodiscard]] std::map<std::uint32_t, Buffer> choices_by_peer() const;
  void keep_choices(std::map<std::uint32_t, Buffer> of_others) { kept_ = std::move(of_others); }

  [[nodiscard]] std::uint64_t bytes() const { return log_.bytes() + receipts_.bytes(); }
  // Whether all messages are in the log.
  [[nodiscard]] bool is_whole() const { return log_.reaches(0); }

  // For the replacement of `peer`.
  [[nodiscard]] Buffer shipment_to(std::uint32_t peer) const;
  // This rank, of so many, is a replacement, and got these shipments, by sender: all survivors have sent one.
  // invalid_argument: one is damaged.
  [[nodiscard]] Status replays(const std::map<std::uint32_t, Buffer>& shipped, std::uint32_t ranks);
  // In a replacement: whether no other rank is replaced.
  [[nodiscard]] bool others_survive() const { return knows_all_choices_; }
  // The rank restores. mismatch: this rank is a replacement, and has not exchanged all messages of the dead rank.
  [[nodiscard]] Status ends();

 private:
  [[nodiscard]] bool is_survivor(std::uint32_t peer) const { return catch_up_ && survivors_.contains(peer); }

  std::uint32_t me_;
  Counter sends_;
  Counter receives_;
  SendLog log_;
  Receipts receipts_;
  std::vector<std::optional<Choice>> choices_;
  std::map<std::uint32_t, Buffer> kept_;    // by the rank that has chosen messages of this one
  std::map<std::uint64_t, Choice> chosen_;  // in a replacement: what survivors know of its choices
  bool knows_all_choices_ = false;
  std::optional<CatchUp> catch_up_;
  std::set<std::uint32_t> survivors_;
};

}  // namespace cairn::replay
