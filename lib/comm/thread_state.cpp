#include "comm/thread_state.hpp"

#include <fmt/format.h>

namespace cairn {
namespace {

tl::unexpected<Error> killed(Peer peer) {
  return fail(Code::communication, fmt::format("member {} was killed", peer.value));
}

}  // namespace

void ThreadBell::ring() {
  {
    const std::lock_guard lock(mutex_);
    ++rings_;
  }
  rung_.notify_all();
}

bool ThreadBell::wait(std::uint64_t& heard, std::chrono::microseconds at_most) {
  std::unique_lock lock(mutex_);
  const bool rung = rung_.wait_for(lock, at_most, [&] { return rings_ != heard; });
  heard = rings_;
  return rung;
}

void ThreadGroup::ring_all() const {
  for (const std::uint32_t member : members) world->members[member].bell.ring();
}

Status ThreadGroup::alive(Peer self) const {
  if (!world->any_killed) return {};
  if (world->all_killed) return fail(Code::communication, "the job was killed, with all its members");
  if (member(self).killed) return killed(self);
  return {};
}

Status ThreadGroup::reachable(Peer self, Peer peer) const {
  if (auto status = alive(self); !status) return status;
  if (member(peer).killed) return killed(peer);
  return {};
}

Status ThreadGroup::all_reachable(Peer self) const {
  if (!world->any_killed) return {};
  if (auto status = alive(self); !status) return status;
  for (std::uint32_t peer = 0; peer < size(); ++peer) {
    if (member(Peer{peer}).killed) return killed(Peer{peer});
  }
  return {};
}

}  // namespace cairn
