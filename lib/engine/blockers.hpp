// Which ranks others wait for, from the calls of all ranks: what lib/hang finds, as fault localization takes it. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hang/hang.hpp"
#include "localize/messages.hpp"

namespace cairn {

// Ranks that have done something else for `after` seconds and for which others have waited for as long. Not those that
// are dead or stopped, which their own head notices. None if more ranks are waited for than wait: they compute for
// longer than the others, as ranks of a healthy job may. Nor if a rank of the job makes progress in MPI.
[[nodiscard]] std::vector<localize::Blocker> find_blockers(std::vector<hang::RankReading> readings,
                                                           const std::function<NodeId(Rank)>& node_of, double after);
// The same from what the nodes have answered. What cannot be read, or is not of a job of so many ranks, counts as no
// answer.
[[nodiscard]] std::vector<localize::Blocker> find_blockers(const localize::CallReports& reports, std::uint32_t ranks,
                                                           const std::function<NodeId(Rank)>& node_of, double after);

}  // namespace cairn
