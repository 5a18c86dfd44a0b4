// What a rank has sent since the oldest snapshot that may still be restored, payload and all: a replacement takes its
// messages from the logs of those who sent them, and what a failure has swallowed is sent again from there.
//
// Not thread-safe. Local.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/bytes.hpp"
#include "replay/lanes.hpp"
#include "replay/log_memory.hpp"
#include "replay/number.hpp"

namespace cairn::replay {

class SendLog {
 public:
  // Payloads take at most `memory` bytes.
  explicit SendLog(std::uint64_t memory) : memory_(memory), blocks_(memory) {}

  // Keeps a copy of a message. Nothing: there is no room, and from now on the log does not reach back beyond the next
  // snapshot() call. Returns the CRC-32C of the copy.
  std::optional<std::uint32_t> keep(const Number& number, Bytes payload);
  // Snapshots before this call are not restored any more.
  void cut(std::uint64_t epoch);
  // Gives up what a log that was full does not need any more.
  void cut_what_is_void() { cut(reaches_); }
  // Gives a payload away; the message itself is still known. Requires: it is there.
  [[nodiscard]] LoggedPayload release(const Number& number);

  // Whether all messages since this snapshot() call are there.
  [[nodiscard]] bool reaches(std::uint64_t epoch) const { return epoch >= reaches_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

  struct Entry {
    std::uint64_t place = 0;
    Content content;
    Bytes payload;
    std::uint64_t order = 0;  // among all messages
  };
  // Those to which messages were sent since this snapshot() call.
  [[nodiscard]] std::set<std::uint32_t> peers(std::uint64_t epoch) const { return lanes_.peers(epoch); }
  // In the order in which they were sent in each lane.
  [[nodiscard]] std::map<Lane, std::vector<Entry>> messages_to(std::uint32_t peer, std::uint64_t epoch) const;
  // Nothing: it is not there.
  [[nodiscard]] std::optional<Entry> find(const Number& number) const;

 private:
  struct Kept {
    Content content;
    LoggedPayload payload;
    std::uint64_t order = 0;
  };
  using Messages = std::vector<Kept>;  // places from 0
  std::uint64_t memory_;
  std::uint64_t bytes_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t reaches_ = 0;
  LogMemory blocks_;
  Lanes<Messages> lanes_;
};

}  // namespace cairn::replay
