// The communicators whose messages a carrier makes: session.comm(), and what the application makes of it. The
// application keeps its handles. After a repair, these are revoked, and messages are on a twin of each.
//
// A communicator has a number that all its members know: it follows from the call that makes it (replay::Birthplace),
// and from its first member.
//
// Any thread may look for, add and free communicators; the rest belongs to the session's thread. Local, but for
// remake().
#pragma once

#include <mpi.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/check.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"
#include "mpi/call_lock.hpp"
#include "replay/catch_up.hpp"
#include "replay/channel_book.hpp"
#include "replay/number.hpp"

namespace cairn {

using replay::ChannelFacts;

struct Channel {
  ChannelFacts facts;
  MPI_Comm handle = MPI_COMM_NULL;  // the application's; null: it has freed it
  MPI_Comm twin = MPI_COMM_NULL;    // of point-to-point messages
  MPI_Comm own = MPI_COMM_NULL;     // of the messages of collectives

  [[nodiscard]] int size() const { return static_cast<int>(facts.members.size()); }
  // The rank of the one that has this rank in session.comm(). Requires: it is a member.
  [[nodiscard]] int rank_of(std::uint32_t member) const {
    const auto rank = facts.rank_of(member);
    check(rank.has_value());
    return *rank;
  }
  // Requires: 0 <= rank < size().
  [[nodiscard]] std::uint32_t member(int rank) const {
    check(rank >= 0 && rank < size());
    return facts.members[static_cast<std::size_t>(rank)];
  }
  // What messages with that rank and tag are called in the log. Requires: 0 <= peer < size().
  [[nodiscard]] replay::Stream stream(int peer, int tag) const { return {member(peer), tag, facts.number}; }
  // The same of a receive, which need not name the rank or the tag.
  [[nodiscard]] replay::Pattern pattern(int peer, int tag) const;

  // How MPI sends a message with this tag.
  struct Way {
    MPI_Comm comm;
    int tag;
  };
  [[nodiscard]] Way way(int tag) const {
    // No other message of Cairn's communicator has it.
    constexpr int kTag = 902;
    return tag == replay::kCollectiveTag ? Way{own, kTag} : Way{twin, tag};
  }
};

class Channels {
 public:
  // `session`: the application's; `own`: Cairn's, of the same ranks.
  Channels(MPI_Comm session, MPI_Comm own, bool has_threads);

  [[nodiscard]] Channel& session() { return session_; }
  [[nodiscard]] const Channel& session() const { return session_; }
  // Null: the messages on it are not carried.
  [[nodiscard]] Channel* find(MPI_Comm handle) {
    if (handle == session_.handle) return &session_;
    const auto held = lock_.hold();
    const auto found = derived_.empty() ? derived_.end() : derived_.find(handle);
    return found == derived_.end() ? nullptr : found->second;
  }
  [[nodiscard]] Channel* find_number(std::uint64_t number);

  // The application has made a communicator, and Cairn its own of the same ranks. `facts`: of the call, and what this
  // rank keeps of a distributed graph.
  Channel& add(ChannelFacts facts, MPI_Comm made, MPI_Comm own);
  // The ranks in a channel of a group's members. A process that has died is the one in its place, as far as
  // session.comm() shows. MPI_UNDEFINED: none.
  [[nodiscard]] std::vector<int> ranks_of(MPI_Group group, const Channel& channel) const;

  // The application frees it. Returns its number; nothing: it is not carried.
  std::optional<std::uint64_t> freed(MPI_Comm handle);
  // Nobody will need it any more.
  void drop(std::uint64_t number);

  // After a repair: all ranks tell which communicators they know, and members make each again, from `base`. `ranks`:
  // all of them. Collective.
  [[nodiscard]] Status remake(Comm& ranks, MPI_Comm base, replay::ChannelBook& book,
                              const std::function<void(MPI_Comm)>& made);
  // The communicator that others have made, which the application now gets. Requires: the last repair has made it
  // again.
  [[nodiscard]] Channel& take(std::uint64_t number);

 private:
  // Makes one of those that were made by the same call; others have another color.
  Status make_again(const ChannelFacts* mine, int color, MPI_Comm base, const std::function<void(MPI_Comm)>& made);

  CallLock lock_;  // of all_ and derived_
  Channel session_;
  std::map<std::uint64_t, std::unique_ptr<Channel>> all_;  // but session_, by number
  std::unordered_map<MPI_Comm, Channel*> derived_;         // by handle
};

}  // namespace cairn
