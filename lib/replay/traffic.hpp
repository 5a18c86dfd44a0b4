// How many messages a rank has exchanged over MPI with each other rank since the last repair, and what a call waits for
// that cannot end without another rank. These are counts of what MPI has matched: the numbers of a Journal shift if a
// replacement exchanges other messages than the rank whose place it takes.
//
// Not thread-safe. Local.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "replay/catch_up.hpp"
#include "replay/number.hpp"

namespace cairn::replay {

// What another rank has to do before a call can end.
struct Need {
  enum class Kind : std::uint8_t {
    message,  // to send a message that `pattern` accepts, beyond those that have come
    receiver  // to be ready for message `number` that this rank has sent it; `pattern` names the rank and the tag
  };
  Kind kind = Kind::message;
  Pattern pattern;
  std::uint64_t number = 0;
  std::vector<std::pair<Stream, std::uint64_t>> have_come = {};  // of each stream of the pattern: how many
  friend bool operator==(const Need&, const Need&) = default;
};

void encode(const Need& need, ByteWriter& out);
// Whatever `in` holds, if it turns bad.
[[nodiscard]] Need decode_need(ByteReader& in);

class Traffic {
 public:
  void sent(const Stream& to) { ++streams_[to].sent; }
  // A receive is posted, and is complete.
  void posted(const Stream& from) { ++streams_[from].posted; }
  void received(const Stream& from) { ++streams_[from].received; }

  [[nodiscard]] Need message(const Pattern& pattern) const;
  // Requires: sent(to) was called for the message, and for none to this stream since.
  [[nodiscard]] Need receiver(const Stream& to) const;
  // Whether this rank, `me`, has done what that one needs.
  [[nodiscard]] bool meets(const Need& need, std::uint32_t needer, std::uint32_t me) const;

 private:
  struct Counts {
    std::uint64_t sent = 0;
    std::uint64_t posted = 0;
    std::uint64_t received = 0;
  };
  [[nodiscard]] bool has_sent_more(const Need& need, std::uint32_t needer, std::uint32_t me) const;

  std::unordered_map<Stream, Counts, Stream::Hash> streams_;
};

}  // namespace cairn::replay
