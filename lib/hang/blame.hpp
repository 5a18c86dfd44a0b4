// Which ranks cause that others wait. Such ranks will not continue by themselves, or wait for each other. Others
// entered a collective otherwise than the rest, or may continue but have not yet. Pure.
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
