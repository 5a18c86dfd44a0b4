// Which communicators a rank has made of session.comm(), and of these, so that a replacement gets the same ones.
//
// A communicator is made by a call that has a number: the parent, the snapshot() call before it, and its place among
// the calls that make communicators of that parent after that snapshot() call. All members count alike. Calls that only
// a group of the parent's ranks makes are counted for each group by itself.
//
// A handle cannot be restored. So a program that has kept a communicator over a snapshot makes it again after
// restore(). The first calls of a replacement after restore() therefore stand for those that made what was kept, in
// their order. It may leave out what the dead rank freed right after the snapshot.
//
// Not thread-safe. Local.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "replay/neighbourhood.hpp"

namespace cairn::replay {

// In place of a snapshot() call: the communicator is made before restore().
inline constexpr std::uint64_t kBeforeRestore = UINT64_MAX;
inline constexpr std::uint64_t kNeverFreed = UINT64_MAX;

// The call that has made a communicator, or several at once.
struct Birthplace {
  std::uint64_t parent = 0;  // its number
  std::uint64_t group = 0;   // a number of those of its ranks that make the call; 0: all
  std::uint64_t epoch = kBeforeRestore;
  std::uint64_t place = 0;
  friend auto operator<=>(const Birthplace&, const Birthplace&) = default;
};

void encode(const Birthplace& birth, ByteWriter& out);
// Whatever `in` holds, if it turns bad.
[[nodiscard]] Birthplace decode_birthplace(ByteReader& in);

// Of a communicator, what a replacement needs to know; without members, that a rank has made the call and got none.
struct ChannelFacts {
  std::uint64_t number = 0;
  Birthplace birth;
  std::uint64_t alike = 0;                  // what all members gave the call alike
  std::uint64_t freed = kNeverFreed;        // after this snapshot() call
  bool is_gone = false;                     // it was freed before the oldest snapshot that may be restored
  std::vector<std::uint32_t> members = {};  // their ranks in session.comm(), by rank
  std::vector<int> lengths = {};            // of a Cartesian grid, by dimension
  std::vector<int> periodic = {};
  std::vector<int> index = {};  // of a graph, as MPI_Graph_create takes it
  std::vector<int> edges = {};
  Neighbourhoods graph = {};  // of those ranks that the one that tells this keeps

  // The rank of the one that has this rank in session.comm(); none: it is no member.
  [[nodiscard]] std::optional<int> rank_of(std::uint32_t member) const;
  // What another rank tells of the same communicator.
  void learn(const ChannelFacts& told);
};

[[nodiscard]] Buffer encode(const std::vector<ChannelFacts>& facts);
// invalid_argument: these are no bytes of encode().
[[nodiscard]] Result<std::vector<ChannelFacts>> decode_channel_facts(Bytes bytes);

class ChannelBook {
 public:
  explicit ChannelBook(std::uint32_t me) : me_(me) {}

  // A call of the application that makes a communicator.
  struct Request {
    std::uint64_t parent = 0;                      // its number
    bool is_in = true;                             // its arguments make this rank a member
    std::uint64_t alike = 0;                       // what all members give it alike
    std::uint64_t group = 0;                       // see Birthplace
    std::optional<Neighbourhood> neighbours = {};  // that this rank gives a distributed graph
  };
  // `restored`: the snapshot() call at which this rank has restored. mismatch: a replacement does not make again what
  // was kept, or what that was is not known.
  [[nodiscard]] Result<Birthplace> next(const Request& request, std::uint64_t epoch, std::uint64_t restored);

  enum class Known { nothing, as_member, as_other, as_only_member };
  // What the ranks told after the last failure of such a call, which this rank has not made. `callers`: the ranks that
  // make it. mismatch: they told of another call, or too little.
  [[nodiscard]] Result<Known> look_up(const Birthplace& birth, const Request& request,
                                      std::span<const std::uint32_t> callers) const;

  // This rank has made the call, and has the communicator.
  void made(ChannelFacts facts);
  void freed(std::uint64_t number, std::uint64_t epoch);
  // The communicators that no replacement will ask for, each once.
  [[nodiscard]] std::vector<std::uint64_t> take_dropped() { return std::exchange(dropped_, {}); }
  // Ranks have restored at this snapshot() call. What they made right after it is never forgotten.
  void begins(std::uint64_t epoch) { began_ = epoch; }
  // Snapshots before this call are not restored any more.
  void cut(std::uint64_t epoch);
  // All ranks have the same communicators: what was told after failures is of no more use.
  void is_checked();

  // What this rank tells after a failure, and learns of all ranks, by rank.
  [[nodiscard]] std::vector<ChannelFacts> facts() const;
  void learns(const std::vector<std::vector<ChannelFacts>>& told);
  // Of such a call, the communicator of which this rank is a member. Null: none is known.
  [[nodiscard]] const ChannelFacts* mine(const Birthplace& birth) const;

  // Added over all ranks it is 0 if all members of each communicator have it.
  [[nodiscard]] std::uint64_t balance() const;

 private:
  struct Entry {
    ChannelFacts facts;
    bool is_held = false;  // otherwise it was learned, and the application has not made it
  };
  struct Told {
    std::set<std::uint32_t> by;
    std::map<std::uint64_t, ChannelFacts> all;  // by number
  };
  struct Awaited {
    Birthplace birth;
    bool is_clear = true;   // whether it was kept
    bool is_needed = true;  // otherwise it was freed before the next snapshot() call, perhaps without being used again
  };
  // The parent, and the group.
  using Family = std::pair<std::uint64_t, std::uint64_t>;
  struct Count {
    std::uint64_t epoch = kBeforeRestore;
    std::uint64_t calls = 0;
  };
  void await_what_was_kept(std::uint64_t restored);
  [[nodiscard]] bool fits(const Birthplace& birth, const Request& request) const;
  void keep_neighbourhoods(ChannelFacts& facts) const;
  [[nodiscard]] Status take_awaited(std::deque<Awaited>& awaited, const Request& request, std::uint64_t restored) const;

  std::uint32_t me_;
  std::uint64_t began_ = 0;
  std::map<Birthplace, Entry> mine_;
  std::map<Birthplace, Told> told_;
  std::map<Family, Count> counts_;
  bool awaits_ = false;  // it is known what was kept
  std::map<Family, std::deque<Awaited>> awaited_;
  std::vector<std::uint64_t> dropped_;
};

}  // namespace cairn::replay
