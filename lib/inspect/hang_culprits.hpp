// Who is to blame that ranks wait: ranks that will not go on by themselves, those that wait for each other, those that
// entered a collective otherwise than the others, and those that may go on but have not yet. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "inspect/hang.hpp"

namespace cairn {

struct Judged {
  std::vector<Culprit> culprits;  // in no order, however short the wait
  std::vector<std::string> notes;
};

// Fills in `needs` of the report and of its ranks, which say already what each does.
[[nodiscard]] Judged find_culprits(const std::map<std::uint32_t, RankReading>& readings, HangReport& report);

}  // namespace cairn
