// Reads the files of calls of all ranks, twice, and looks at their processes.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "hang/hang.hpp"
#include "stores.hpp"

namespace ckpt_tool {

struct Readings {
  std::vector<cairn::hang::RankReading> ranks;
  std::vector<cairn::Rank> left;      // whose file was there at first
  std::vector<std::string> problems;  // files that could not be read, a line each
};

// Takes a little longer than `apart`. not_found: there is no file of any rank.
[[nodiscard]] cairn::Result<Readings> take_readings(const OpenStores& opened, std::chrono::milliseconds apart);

}  // namespace ckpt_tool
