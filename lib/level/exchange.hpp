// Moves many byte streams between nodes at once, slice by slice, in bounded memory. Every level moves its data through
// here: a copy is a stream with one input; an encoded or decoded chunk is a stream with several aligned inputs, which
// are combined as they arrive.
//
// Streams have a place in one order that all members know. Each member works only on its first few unfinished streams.
// As all members use the same order, the first unfinished stream is always active on all its members, so there is no
// deadlock.
//
// A stream that fails on one side still runs to its end, so that no peer hangs: the sender sends zeros, the receiver
// discards the bytes. Its Status has the error, and the callers agree on the outcome.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/symptom.hpp"
#include "comm/comm.hpp"

namespace cairn {

inline constexpr std::uint64_t kSliceBytes = kMiB;

// Tags of what levels send: entries of shards first, then streams, by their numbers among those from one member to
// another.
inline constexpr Tag kEntriesTag{1};
[[nodiscard]] constexpr Tag stream_tag(std::uint64_t stream) {
  constexpr std::uint32_t kFirst = 16;
  constexpr std::uint32_t kEnd = 32768;  // as MPI has at least
  return Tag{kFirst + static_cast<std::uint32_t>(stream % (kEnd - kFirst))};
}

// Returns `length` bytes of a stream from `offset` on: in their place, if they stay there until the stream ends, or
// else in `scratch`, which it resizes.
using ReadAt = std::function<Result<Bytes>(std::uint64_t offset, std::uint64_t length, Buffer& scratch)>;

struct Outgoing {
  std::uint64_t order = 0;
  Peer to;
  Tag tag;  // unique among the streams from one member to another
  std::uint64_t bytes = 0;
  ReadAt read;
  Status status = {};  // filled in
};

struct Incoming {
  struct Input {
    std::optional<Peer> from;  // empty: read locally
    Tag tag;
    ReadAt read;  // when local
  };
  std::uint64_t order = 0;
  std::vector<Input> inputs;
  std::uint64_t bytes = 0;  // of each input
  // Given every input's bytes from `offset` on; called in rising order of offset.
  std::function<Status(std::uint64_t offset, std::span<const Bytes> inputs)> consume;
  // Where the bytes of a single input belong, so that they are received there and not copied; empty: nowhere yet.
  std::function<MutableBytes(std::uint64_t offset, std::uint64_t length)> place = {};
  Status status = {};                         // filled in
  std::optional<std::size_t> bad_input = {};  // filled in: the local input that could not be read, if that is why
};

// Runs all streams to their end; calls `between` now and then. Collective among those that the streams name. Fails only
// if a peer cannot be reached; all other errors are in the streams. `watcher` gets how long the streams took, and which
// peers hold up all of them for 10 seconds; null: nobody does.
[[nodiscard]] Status exchange(Comm& comm, std::vector<Outgoing>& outgoing, std::vector<Incoming>& incoming,
                              const std::function<void()>& between, SymptomPort* watcher = nullptr);

// Sends `mine` to every member of `to` and receives a message of known size from every `from`, in that order.
// Collective among those named.
struct Expected {
  Peer from;
  std::size_t bytes = 0;
};
[[nodiscard]] Result<std::vector<Buffer>> exchange_messages(Comm& comm, Tag tag, Bytes mine,
                                                            const std::vector<Peer>& to,
                                                            const std::vector<Expected>& from);

}  // namespace cairn
