// How calls, communicators and ranks are told of. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/hang.hpp"

namespace cairn {

// "1st", "12th", "23rd"
[[nodiscard]] std::string ordinal_text(std::uint64_t number);
// "communicator 3f2a1c"
[[nodiscard]] std::string comm_text(std::uint64_t comm);
// "rank 3", "any rank"
[[nodiscard]] std::string peer_text(std::int32_t peer);
// "tag 7", "any tag"
[[nodiscard]] std::string tag_text(std::int32_t tag);
// "MPI_Recv from rank 1 (tag 7, 4096 bytes, communicator 3f2a1c)",
// "MPI_Reduce with root 0 (the 5th collective on communicator 3f2a1c)"
[[nodiscard]] std::string call_text(const Call& call);
// With the requests that it waits for: "MPI_Waitall for MPI_Irecv from rank 1 (…) and 2 more"
[[nodiscard]] std::string call_text(const LastingCall& lasting);
// "42 s"; "12 min"
[[nodiscard]] std::string seconds_text(double seconds);
// "rank 3", "ranks 0-2, 4-31", "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 1992 more"
[[nodiscard]] std::string rank_list_text(const std::vector<std::uint32_t>& ranks);
[[nodiscard]] std::vector<std::uint32_t> numbers_of(const std::vector<Rank>& ranks);

// The sentence about a rank that others wait for and that waits for nobody. `ranks` do the same as `one`.
[[nodiscard]] std::string blame_text(const std::vector<std::uint32_t>& ranks, const RankReport& one,
                                     const ProcessFacts& process, double seconds);
// "ranks wait for each other in a circle: 0 -> 1 -> 0"; not certain: they may wait
[[nodiscard]] std::string cycle_text(const std::vector<Step>& steps, bool certain);
// "the table of message counters of ranks 0-3 was full (1024 entries)": a sentence for each cause, ascending
[[nodiscard]] std::vector<std::string> gap_texts(const std::vector<Gap>& gaps);
// "rank 0 is in MPI_Send to rank 1 (…); rank 1 does not receive the message with tag 7", of each step
[[nodiscard]] std::vector<std::string> cycle_reasons(const std::vector<Step>& steps, const HangReport& report);

}  // namespace cairn
