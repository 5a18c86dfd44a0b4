// Something that the file of calls of a rank does not say, so that nothing certain follows from it. Pure data.
#pragma once

#include <compare>
#include <cstdint>

#include "base/ids.hpp"

namespace cairn::hang {

struct Gap {
  enum class Cause {
    // A table of the file was full.
    message_counters,
    pending_requests,
    communicators,
    threads,
    // The file is of a format whose counts of messages may be wrong.
    older_format,
    // The rank has no such communicator: it has freed it, or not made it yet.
    no_communicator,
    // The rank waits for requests of calls that Cairn does not intercept, or on other communicators.
    other_requests,
    // The rank has received from any source or with any tag, which hides what it has received from whom.
    wildcards,
    // The rank is in a call of which only that is recorded.
    opaque_call,
  };
  Cause cause{};
  Rank rank;  // whose file it is
  friend auto operator<=>(const Gap&, const Gap&) = default;
};

// Entries of the table that was full; 0: it is not about a table.
[[nodiscard]] std::uint64_t entries_of(Gap::Cause cause);

}  // namespace cairn::hang
