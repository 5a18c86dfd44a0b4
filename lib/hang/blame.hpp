// Who is to blame that ranks wait: ranks that will not go on by themselves, those that wait for each other, those that
// entered a collective otherwise than the others, and those that may go on but have not yet. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "hang/hang.hpp"

namespace cairn::hang {

struct Judged {
  std::vector<Finding> findings;  // in no order, however short the wait
  std::vector<Note> notes;
};

// Fills in `needs` of the report and of its ranks, which say already what each does.
[[nodiscard]] Judged find_culprits(const std::map<std::uint32_t, RankReading>& readings, HangReport& report);

}  // namespace cairn::hang
