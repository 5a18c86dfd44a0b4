// What a rank has sent since the oldest snapshot that may still be restored, payload and all: a replacement takes its
// messages from the logs of those who sent them, and what a failure has swallowed is sent again from there.
//
// Payloads are in memory, and when that is full, in files. A payload stays where it was put. Each message also has an
// entry in memory, and counts with it, so that short messages do not exceed the memory.
//
// Not thread-safe. Local.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "replay/lanes.hpp"
#include "replay/log_memory.hpp"
#include "replay/number.hpp"
#include "replay/spill.hpp"

namespace cairn::replay {

class SendLog {
 public:
  // Messages take at most `memory` bytes.
  explicit SendLog(std::uint64_t memory) : memory_(memory), blocks_(memory) {}
  // Payloads of more of them go to files; see Spill::uses(). Their entries stay in memory, and count as if in files
  // where the memory is full.
  void spills_to(std::uint64_t most_bytes, Spill::Open open) { spill_.uses(most_bytes, std::move(open)); }
  [[nodiscard]] std::uint64_t spill_bytes() const { return spill_.most_bytes(); }

  // Keeps a copy of a message. Nothing: there is no room, or its file cannot be written, and from now on the log does
  // not reach back beyond the next snapshot() call. `receipts`: what these take of the memory. Returns the CRC-32C of
  // the copy.
  std::optional<std::uint32_t> keep(const Number& number, Bytes payload, std::uint64_t receipts = 0);
  // What a message with a payload of so many bytes counts.
  [[nodiscard]] static std::uint64_t bytes_of(const Number& number, std::uint64_t payload) {
    return payload + kEntryBytes + (number.place == 0 ? kLaneBytes : 0);
  }
  // Whether there is room for so many bytes beside the messages.
  [[nodiscard]] bool has_room_for(std::uint64_t others) const { return bytes() + others <= memory_ + spill_bytes(); }
  // Receipts of this step have no room: from now on the log does not reach back beyond the next snapshot() call.
  void gives_up(std::uint64_t epoch) { reaches_ = std::max(reaches_, epoch + 1); }
  // Snapshots before this call are not restored any more.
  void cut(std::uint64_t epoch);
  // Gives up what a log that was full does not need any more.
  void cut_what_is_void() { cut(reaches_); }

  // Whether all messages since this snapshot() call are there.
  [[nodiscard]] bool reaches(std::uint64_t epoch) const { return epoch >= reaches_; }
  [[nodiscard]] std::uint64_t reaches_back_to() const { return reaches_; }
  [[nodiscard]] std::uint64_t bytes() const { return in_memory_ + spill_.bytes(); }
  // Why a payload had no room in the files, the last time that this was so; nothing: it never was.
  [[nodiscard]] const std::optional<Error>& spill_error() const { return spill_error_; }

  struct Entry {
    std::uint64_t place = 0;
    Content content;
    std::uint64_t order = 0;  // among all messages
  };
  // Those to which messages were sent since this snapshot() call.
  [[nodiscard]] std::set<std::uint32_t> peers(std::uint64_t epoch) const { return lanes_.peers(epoch); }
  // In the order in which they were sent in each lane.
  [[nodiscard]] std::map<Lane, std::vector<Entry>> messages_to(std::uint32_t peer, std::uint64_t epoch) const;
  // Nothing: it is not there.
  [[nodiscard]] std::optional<Entry> find(const Number& number) const;
  // A copy. corrupt: it was damaged in its file; and the errors of the store. Requires: find() finds the message.
  [[nodiscard]] Result<Buffer> payload(const Number& number) const;

 private:
  struct Kept {
    Content content;
    LoggedPayload payload;                 // unless it is in a file
    std::optional<std::uint64_t> spilled;  // its place there
    std::uint64_t order = 0;
  };
  [[nodiscard]] std::optional<std::uint32_t> keep_in_file(const Number& number, Bytes payload, std::uint64_t receipts);
  [[nodiscard]] Result<std::uint64_t> write_to_file(const Number& number, Bytes payload, std::uint64_t receipts);
  using Messages = std::vector<Kept>;  // places from 0
  // An allocation takes a multiple of 16 bytes, at least 32, and 8 of them are the allocator's: so a payload takes up
  // to 32 bytes beside its own. Room for further entries in a vector is not counted.
  static constexpr std::uint64_t kEntryBytes = sizeof(Kept) + 32;
  // The first message of a lane makes a node of a map, with four words for the tree.
  static constexpr std::uint64_t kLaneBytes = sizeof(Lane) + sizeof(Messages) + 48;
  std::uint64_t memory_;
  std::uint64_t in_memory_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t reaches_ = 0;
  LogMemory blocks_;
  Spill spill_;
  std::optional<Error> spill_error_;
  Lanes<Messages> lanes_;
};

}  // namespace cairn::replay
