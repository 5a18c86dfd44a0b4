#include "repair/unreported_deaths.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace cairn {
namespace {

constexpr std::chrono::milliseconds kBetweenLooksForDeaths{500};
constexpr std::chrono::seconds kLongestUnreported{5};

}  // namespace

Status UnreportedDeaths::look() {
  const auto now = Clock::now();
  if (now < next_look_) return {};
  next_look_ = now + kBetweenLooksForDeaths;
  const auto failed = pool_.failed_members();
  for (const Neighbour& neighbour : neighbours_) {
    if (std::ranges::find(failed, neighbour.number) != failed.end() || !host_.is_gone(neighbour.process)) {
      since_.erase(neighbour.number);
      continue;
    }
    const auto since = since_.try_emplace(neighbour.number, now).first->second;
    if (now - since < kLongestUnreported) continue;
    return fail(Code::communication,
                fmt::format("process {} ({}) is gone, but MPI has not reported its death after {} s: the job ends",
                            neighbour.process.number, neighbour.name, kLongestUnreported.count()));
  }
  return {};
}

}  // namespace cairn
