// The communicators whose messages a carrier makes: session.comm(), and what the application makes of it before
// restore(). The application keeps its handles. After a repair, these are revoked, and messages are on a twin of each.
//
// A communicator has a number that all its members know: it follows from its parent's, from the place of the call among
// those that make communicators of that parent, and from its first member.
//
// Not thread-safe. Local, but for remake().
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

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "comm/comm.hpp"

namespace cairn {

// How a communicator was made.
struct Birthplace {
  std::uint64_t parent = 0;
  std::uint64_t place = 0;
  friend auto operator<=>(const Birthplace&, const Birthplace&) = default;
};

// Of a communicator, what a replacement needs to know.
struct ChannelFacts {
  std::uint64_t number = 0;
  Birthplace birth;
  std::vector<std::uint32_t> members;  // their ranks in session.comm(), by rank
  std::vector<int> lengths;            // of a Cartesian grid, by dimension
  std::vector<int> periodic;

  // The rank of the one that has this rank in session.comm(); none: it is no member.
  [[nodiscard]] std::optional<int> rank_of(std::uint32_t member) const;
};

struct Channel {
  ChannelFacts facts;
  MPI_Comm handle = MPI_COMM_NULL;  // the application's; null: it has freed it
  MPI_Comm twin = MPI_COMM_NULL;    // of point-to-point messages
  MPI_Comm own = MPI_COMM_NULL;     // of the messages of collectives
  std::uint64_t calls = 0;          // that make communicators of it

  [[nodiscard]] int size() const { return static_cast<int>(facts.members.size()); }
  // Requires: 0 <= rank < size().
  [[nodiscard]] std::uint32_t member(int rank) const { return facts.members[static_cast<std::size_t>(rank)]; }
  // The rank of the one that has this rank in session.comm(). Requires: it is a member.
  [[nodiscard]] int rank_of(std::uint32_t member) const { return *facts.rank_of(member); }
};

class Channels {
 public:
  // `session`: the application's; `own`: Cairn's, of the same ranks.
  Channels(MPI_Comm session, MPI_Comm own);

  [[nodiscard]] Channel& session() { return session_; }
  [[nodiscard]] const Channel& session() const { return session_; }
  // Null: the messages on it are not carried.
  [[nodiscard]] Channel* find(MPI_Comm handle) {
    if (handle == session_.handle) return &session_;
    const auto found = derived_.empty() ? derived_.end() : derived_.find(handle);
    return found == derived_.end() ? nullptr : found->second;
  }
  [[nodiscard]] Channel* find_number(std::uint64_t number);

  // The application has made a communicator of the parent by its call with this place. Collective over the new one.
  // Returns MPI's code.
  int add(const Channel& parent, std::uint64_t place, MPI_Comm made);
  // The application frees it.
  void freed(MPI_Comm handle);

  // After a repair: all ranks tell which communicators they know, and members make each again, from `base`. `replaces`:
  // this rank knows none, and takes those of which it is a member. `ranks`: all of them. Collective.
  [[nodiscard]] Status remake(Comm& ranks, MPI_Comm base, bool replaces, const std::function<void(MPI_Comm)>& made);
  // In a replacement: the communicator that was made by such a call, which the application now gets. Null: this rank
  // is in none that a survivor knows.
  [[nodiscard]] Channel* take(const Birthplace& birth);

 private:
  // Makes one of those that were made by the same call; others have another color.
  Status make_again(const ChannelFacts* mine, int color, MPI_Comm base, bool replaces,
                    const std::function<void(MPI_Comm)>& made);

  Channel session_;
  std::map<std::uint64_t, std::unique_ptr<Channel>> all_;  // but session_, by number
  std::unordered_map<MPI_Comm, Channel*> derived_;         // by handle
};

[[nodiscard]] Buffer encode(const std::vector<ChannelFacts>& facts);
// invalid_argument: these are no bytes of encode().
[[nodiscard]] Result<std::vector<ChannelFacts>> decode_channel_facts(Bytes bytes);

}  // namespace cairn
