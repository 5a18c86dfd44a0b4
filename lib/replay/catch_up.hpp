// A replacement computes again what the rank whose place it takes had computed since the snapshot: it takes the
// messages that it needs from what the others ship to it, and does not send again what they have received.
//
// Not thread-safe. Local.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "replay/number.hpp"
#include "replay/part_order.hpp"
#include "replay/receipts.hpp"
#include "replay/send_log.hpp"

namespace cairn::replay {

// What one rank gives to a replacement. Lanes are those of the replacement: `peer` is the rank that gives it.
struct Shipment {
  struct Message {
    Content content;
    Buffer payload;
    std::uint64_t order = 0;  // among all that the rank has sent
  };
  std::uint32_t from = 0;
  std::map<Lane, std::vector<Message>> messages;  // sent to the replacement, places from 0
  std::map<Lane, Received> received;              // from the rank that it replaces
};

[[nodiscard]] Buffer encode(const Shipment& shipment);
// invalid_argument: these are no bytes of encode().
[[nodiscard]] Result<Shipment> decode_shipment(Bytes bytes);
// Of several ranks, by rank; names the rank whose bytes are damaged.
[[nodiscard]] Result<std::vector<Shipment>> decode_shipments(const std::map<std::uint32_t, Buffer>& shipped);

// What a receive can get.
struct Pattern {
  std::uint64_t channel = kSessionChannel;
  std::optional<std::uint32_t> peer;  // nothing: any
  std::optional<std::int32_t> tag;
  friend bool operator==(const Pattern&, const Pattern&) = default;
};

class CatchUp {
 public:
  // What is compared of a message that is sent again.
  enum class Compares { content, numbers };
  // `newest`: snapshot() calls that the rank which has made most has made.
  CatchUp(std::vector<Shipment> shipments, std::uint64_t newest, Compares compares = Compares::content);

  // The payload of a message that was shipped, once; nothing: it has to be received.
  [[nodiscard]] std::optional<Buffer> receive(const Number& number);
  // The length of a message that was shipped and has not been taken.
  [[nodiscard]] std::optional<std::uint64_t> length_of(const Number& number) const {
    const auto found = messages_.find(number);
    if (found == messages_.end()) return {};
    return found->second.content.bytes;
  }
  // Of the shipped messages which a receive could get that names no sender, or no tag, the one that MPI could choose.
  // `coming`: the next number of a stream.
  [[nodiscard]] std::optional<Number> any_for(const Pattern& pattern, std::uint64_t epoch,
                                              const std::function<Number(const Stream&)>& coming) const;
  // Whether a message has to be sent; to be asked once. mismatch: its receiver had got other bytes from the rank that
  // is replaced.
  [[nodiscard]] Result<bool> must_send(const Number& number, const Content& content);

  // A peer has died, too: its replacement needs all messages. What it had shipped is still good.
  void forget_receipts_of(std::uint32_t peer) { received_.erase(peer); }
  // What came from this peer and has not been asked for yet: it need not be sent again.
  [[nodiscard]] std::map<Lane, Received> waiting_from(std::uint32_t peer) const;

  // Those from which such messages came.
  [[nodiscard]] std::set<std::uint32_t> peers() const;

  // Several processes can compute the steps up to this snapshot() call, which all survivors have made: the messages
  // that they need. unrecoverable: they cannot, since the lost rank has exchanged messages on another communicator in
  // these steps.
  [[nodiscard]] Result<std::map<Number, Buffer>> messages_until(std::uint64_t call) const;
  // They have done so: what they sent and took is over, and is returned. mismatch: it is not what the lost rank has
  // sent and received; nothing has changed.
  struct Exchanged {
    std::map<Number, Buffer> sent;
    std::map<Number, Content> received;
  };
  [[nodiscard]] Result<Exchanged> recomputed(std::uint64_t call, std::vector<PartResult> parts);

  // All that was shipped has been taken, and all that was received has been computed again.
  [[nodiscard]] bool is_over(std::uint64_t epoch) const;
  [[nodiscard]] std::uint64_t newest() const { return newest_; }

 private:
  [[nodiscard]] Result<Exchanged> compare(std::uint64_t call, std::vector<PartResult> parts);

  std::uint64_t newest_;
  Compares compares_;
  std::map<Number, Shipment::Message> messages_;
  std::map<std::uint32_t, std::map<Lane, Received>> received_;  // by peer
};

// What `me` gives to the replacement of `peer`. `mine`: what this rank has received from the dead one. corrupt and
// others: the log cannot read a payload back.
[[nodiscard]] Result<Shipment> ship(std::uint32_t me, std::uint32_t peer, std::uint64_t epoch, const SendLog& log,
                                    std::map<Lane, Received> mine);
// Messages to `peer` that it has not received, by lane and place: a failure has swallowed them. `theirs`: what it has
// received, in the lanes of the sender.
[[nodiscard]] std::vector<Number> lost_messages(std::uint32_t peer, std::uint64_t epoch, const SendLog& log,
                                                const std::map<Lane, Received>& theirs);

// At a snapshot() call, what all ranks have sent since an earlier one is what they have received: the sum of their
// balances is 0 (modulo 2^64), whatever was exchanged.
class Balance {
 public:
  void sent(std::uint32_t me, const Number& to, const Content& content) {
    sum_of(to.lane.epoch) += weight(me, to.lane.peer, to, content);
  }
  void received(std::uint32_t me, const Number& from, const Content& content) {
    sum_of(from.lane.epoch) -= weight(from.lane.peer, me, from, content);
  }
  // Snapshots before this call are not restored any more.
  void cut(std::uint64_t epoch) { sums_.erase(sums_.begin(), sums_.lower_bound(epoch)); }
  [[nodiscard]] std::uint64_t since(std::uint64_t epoch) const {
    std::uint64_t sum = 0;
    for (auto at = sums_.lower_bound(epoch); at != sums_.end(); ++at) sum += at->second;
    return sum;
  }

 private:
  // Most messages are of the present call.
  std::uint64_t& sum_of(std::uint64_t epoch) {
    if (!sums_.empty() && sums_.rbegin()->first == epoch) return sums_.rbegin()->second;
    return sums_[epoch];
  }
  static std::uint64_t weight(std::uint32_t from, std::uint32_t to, const Number& number, const Content& content);
  std::map<std::uint64_t, std::uint64_t> sums_;  // by snapshot() call
};

}  // namespace cairn::replay
