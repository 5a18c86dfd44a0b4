// Runs one function on every member of a world of threads, each on its own thread: a job in one process.
// Nothing hangs: a member that leaves by an exception, or after a fatal assertion of the test, kills the world,
// and a cluster that does not end in time aborts the process, naming the members that are still running.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "comm/thread_comm.hpp"

namespace cairn::test {

inline constexpr std::chrono::seconds kClusterLimit{240};

using MemberBody = std::function<void(Comm& world)>;

// Returns when all members have; throws again the first exception that left one.
void run_cluster(std::uint32_t members, const MemberBody& body, std::chrono::seconds limit = kClusterLimit);
// The same in a world that the caller can kill, or ask for its traffic. Once for each world.
void run_cluster(const ThreadWorld& world, const MemberBody& body, std::chrono::seconds limit = kClusterLimit);

}  // namespace cairn::test
