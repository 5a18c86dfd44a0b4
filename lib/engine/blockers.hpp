// Which ranks others wait for, from the calls of all ranks: what lib/hang finds, as fault localization takes it. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "hang/hang.hpp"
#include "localize/messages.hpp"

namespace cairn {

// Whether the calls of all ranks are to be looked at because a rank has waited for so many seconds. That costs a
// message from each node. So a wait that lasts is looked at when it has become twice as long, until it may be a hang
// itself.
[[nodiscard]] bool is_worth_a_survey(double waited, const hang::Patience& patience);

// Deadlocks, and ranks that have done something else for long while others waited for them. Not those that are dead or
// stopped, which their own head notices. Nor ranks of which more are waited for than wait: they compute for longer than
// the others, as ranks of a healthy job may. Nor any that may continue while a rank of the job makes progress in MPI.
[[nodiscard]] std::vector<localize::Blocker> find_blockers(std::vector<hang::RankReading> readings,
                                                           const std::function<NodeId(Rank)>& node_of,
                                                           const hang::Patience& patience);
// The same from what the nodes have answered. What cannot be read, or is not of a job of so many ranks, counts as no
// answer.
[[nodiscard]] std::vector<localize::Blocker> find_blockers(const localize::CallReports& reports, std::uint32_t ranks,
                                                           const std::function<NodeId(Rank)>& node_of,
                                                           const hang::Patience& patience);

}  // namespace cairn
