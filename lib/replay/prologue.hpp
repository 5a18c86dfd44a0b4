// What a rank exchanges before it restores. A replacement begins from the start, so this is kept for the session's
// life: a replacement takes what it receives from the logs of the survivors, and sends them nothing again. No message
// of these calls may be under way when the rank restores.
//
// What messages hold is not compared: before restore() a rank may send what it does not use, such as memory that a
// receive from any rank has filled. That their number is the same is checked.
//
// Calls must come in the order of the application's calls. Not thread-safe. Local.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "replay/catch_up.hpp"
#include "replay/number.hpp"
#include "replay/receipts.hpp"
#include "replay/send_log.hpp"

namespace cairn::replay {

class Prologue {
 public:
  // Payloads of messages that were sent take at most `memory` bytes.
  Prologue(std::uint32_t me, std::uint64_t memory) : me_(me), log_(memory) {}

  // mismatch: the process that this one replaces had not sent so many messages.
  [[nodiscard]] Result<Outgoing> sends(std::uint32_t peer, std::int32_t tag, Bytes payload);
  [[nodiscard]] Number awaits(std::uint32_t peer, std::int32_t tag) { return receives_.next(peer, tag); }
  // The payload of that message, if it was shipped to this rank; nothing: it has to be received. mismatch: the sender
  // will not send it, since the process that this one replaces did not receive so many messages.
  [[nodiscard]] Result<std::optional<Buffer>> shipped(const Number& number);
  // The length of the next such message, if it was shipped. mismatch: it will not come.
  [[nodiscard]] Result<std::optional<std::uint64_t>> next_shipped(std::uint32_t peer, std::int32_t tag) const;
  void received(const Number& number, const Content& content) { receipts_.add(number, content); }

  [[nodiscard]] std::uint64_t bytes() const { return log_.bytes(); }
  // Whether all messages are in the log.
  [[nodiscard]] bool is_whole() const { return log_.reaches(0); }

  // For the replacement of `peer`.
  [[nodiscard]] Buffer shipment_to(std::uint32_t peer) const;
  // This rank is a replacement, and got these shipments, by sender: all survivors have sent one. invalid_argument: one
  // is damaged.
  [[nodiscard]] Status replays(const std::map<std::uint32_t, Buffer>& shipped);
  // The rank restores. mismatch: this rank is a replacement, and has not exchanged all messages of the dead rank.
  [[nodiscard]] Status ends();

 private:
  [[nodiscard]] bool is_survivor(std::uint32_t peer) const { return catch_up_ && survivors_.contains(peer); }

  std::uint32_t me_;
  Counter sends_;
  Counter receives_;
  SendLog log_;
  Receipts receipts_;
  std::optional<CatchUp> catch_up_;
  std::set<std::uint32_t> survivors_;
};

}  // namespace cairn::replay
