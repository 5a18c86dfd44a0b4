// How times, ranks and calls read. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hang/hang.hpp"

namespace cairn::hang {

// "1st", "12th", "23rd"
[[nodiscard]] std::string ordinal_text(std::uint64_t number);
// "42 s"; "12 min"
[[nodiscard]] std::string seconds_text(double seconds);
// "rank 3", "any rank"
[[nodiscard]] std::string peer_text(std::int32_t peer);
// "tag 7", "any tag"
[[nodiscard]] std::string tag_text(std::int32_t tag);
// "rank 3", "ranks 0-2, 4-31", "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 1992 more"
[[nodiscard]] std::string rank_list_text(std::vector<std::uint32_t> ranks);
[[nodiscard]] std::string rank_list_text(const std::vector<Rank>& ranks);

// "node 1", "nodes 0-2"
[[nodiscard]] std::string node_list_text(const std::vector<NodeId>& nodes);
// Of a need: "rank 3", "the head of node 1", "ranks 0-2 and the heads of nodes 0-1"
[[nodiscard]] std::string needed_text(const HangReport& report, const std::vector<std::uint32_t>& needed);

// "the session's communicator", "communicator \"rows\"", "communicator 3f2a1c"
[[nodiscard]] std::string comm_text(const HangReport& report, std::uint64_t comm);
// "MPI_Reduce with root 0"
[[nodiscard]] std::string entered_text(const Call& collective);
// "MPI_Recv from rank 1 (tag 7, 4096 bytes, communicator 3f2a1c)",
// "MPI_Reduce with root 0 (the 5th collective on communicator 3f2a1c)"
[[nodiscard]] std::string call_text(const HangReport& report, const Call& call);
// With the requests that it waits for: "MPI_Waitall for MPI_Irecv from rank 1 (…) and 2 more"
[[nodiscard]] std::string call_text(const HangReport& report, const LastingCall& lasting);

}  // namespace cairn::hang
