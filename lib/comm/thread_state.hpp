// What the members of a world of threads share: who is alive, a bell for each member, the traffic counts;
// and for each communicator its mailboxes and the collectives under way. Thread-safe. Internal to
// ThreadWorld.
#pragma once

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/thread_comm.hpp"
#include "comm/thread_mailbox.hpp"

namespace cairn {

// Rings whenever something happens that its member may wait for.
class ThreadBell {
 public:
  void ring();
  // Sleeps until there is a ring that `heard` does not count, or for `at_most`. Returns whether there was one, and then
  // counts it in `heard`.
  [[nodiscard]] bool wait(std::uint64_t& heard, std::chrono::microseconds at_most);

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  std::uint64_t rings_ = 0;
};

struct ThreadMember {
  ThreadBell bell;
  std::atomic<bool> killed{false};
  std::atomic<std::uint64_t> messages{0};
  std::atomic<std::uint64_t> message_bytes{0};
  std::atomic<std::uint64_t> received{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> collectives{0};
  std::atomic<std::uint64_t> collective_bytes{0};
  std::atomic<std::uint64_t> gathered_bytes{0};
};

struct ThreadWorldState {
  explicit ThreadWorldState(std::uint32_t size) : members(size) {}

  std::vector<ThreadMember> members;
  std::atomic<bool> all_killed{false};
  std::atomic<bool> any_killed{false};
};

struct ThreadGroup;

struct ThreadPlace {
  std::shared_ptr<ThreadGroup> group;  // none: this member gave no color
  Peer rank;
};

enum class CollectiveKind { allreduce, allgather, broadcast, barrier, split };

// One collective call of all members of a group. Guarded by the group's mutex until `done` is set, and constant
// afterwards.
struct ThreadCollective {
  CollectiveKind kind{};
  std::uint32_t arrived = 0;
  std::vector<std::uint64_t> values;  // allreduce
  Reduce how{};
  std::vector<Buffer> parts;        // allgather: one a member; broadcast: the root's
  std::vector<ThreadPlace> places;  // split: one a member
  std::optional<Error> error;
  bool ready = false;  // the result is there before all have arrived
  std::atomic<bool> done{false};

  [[nodiscard]] bool finished() const { return done.load(std::memory_order_acquire); }
};

// The members of one communicator.
struct ThreadGroup {
  ThreadGroup(std::shared_ptr<ThreadWorldState> its_world, std::vector<std::uint32_t> its_members)
      : world(std::move(its_world)), members(std::move(its_members)), mailboxes(members.size()) {}

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(members.size()); }
  [[nodiscard]] ThreadMember& member(Peer peer) const { return world->members[members[peer.value]]; }
  void ring_all() const;

  // Whether the job and member `self` live, and so may communicate.
  [[nodiscard]] Status alive(Peer self) const;
  // The same, and `peer` too.
  [[nodiscard]] Status reachable(Peer self, Peer peer) const;
  // The same, and all members.
  [[nodiscard]] Status all_reachable(Peer self) const;

  const std::shared_ptr<ThreadWorldState> world;
  const std::vector<std::uint32_t> members;  // of the world, in rank order
  std::vector<ThreadMailbox> mailboxes;

  std::mutex mutex;
  std::map<std::uint64_t, std::shared_ptr<ThreadCollective>> collectives;  // by sequence number
};

}  // namespace cairn
