// The messages on their way to one member of a thread communicator. A small message is copied at once; a
// larger one stays in its sender's buffer until it is received, as with MPI, so that a program that would
// deadlock there deadlocks here too. Thread-safe. Local.
#pragma once

#include <atomic>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "comm/comm.hpp"

namespace cairn {

// The state of one send or receive. `error` is written before `done` is set, and never after.
struct Transfer {
  std::atomic<bool> done{false};
  std::optional<Error> error;

  void finish() { done.store(true, std::memory_order_release); }
  [[nodiscard]] bool finished() const { return done.load(std::memory_order_acquire); }
};

class ThreadMailbox {
 public:
  using TransferPtr = std::shared_ptr<Transfer>;
  static constexpr std::size_t kLargestCopied = 64 * kKiB;

  // Delivers a message to the oldest receive posted for it, or else adds it to the waiting messages. Finishes `send`
  // when the sender's buffer is no longer needed: at once if a member sends to itself.
  void deliver(Peer source, Tag tag, Bytes message, const TransferPtr& send, bool to_self);
  // Asks for the next message from `source`; `receive` is finished once it is in `into`. True if that
  // finished a send of `source`.
  [[nodiscard]] bool post(Peer source, Tag tag, MutableBytes into, const TransferPtr& receive);
  // The oldest message of `tag` that no receive has asked for.
  [[nodiscard]] std::optional<Envelope> first(Tag tag);

  // Takes back a receive that may not be finished; its buffer is not touched after this.
  void withdraw_receive(Peer source, Tag tag, const Transfer* receive);
  // The buffer of an unfinished send is about to be freed: copies its message if `keep`, else drops it.
  void release_send(Tag tag, const Transfer* send, bool keep);

 private:
  struct Message {
    Peer source;
    Bytes bytes;  // of `copy`, or of the sender
    Buffer copy;
    TransferPtr send;  // none once copied
  };
  struct Receive {
    MutableBytes into;
    TransferPtr transfer;
  };
  using Key = std::pair<Tag, Peer>;

  static void hand_over(Peer source, Tag tag, Bytes message, const Receive& receive);

  std::mutex mutex_;
  std::map<Tag, std::list<Message>> waiting_;  // in order of arrival
  std::map<Key, std::list<Receive>> posted_;   // in order of posting
};

}  // namespace cairn
