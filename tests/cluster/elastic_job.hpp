// What the tests of jobs on another number of ranks share.
#pragma once

#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/grid.hpp"
#include "support/job.hpp"

namespace cairn::test {

// Levels by a digit each: which are due at every snapshot.
inline std::string elastic_settings(const std::string& levels, const std::string& more = {}) {
  const auto due = [&](char level) { return levels.find(level) == std::string::npos ? "off" : "every 1"; };
  return fmt::format(
      "[levels]\nl1 = every 1\nl2 = {}\nl3 = {}\nl4 = {}\n[erasure]\nparity = 1\n[restart]\nelastic = on\nat_end = "
      "continue\n{}",
      due('2'), due('3'), due('4'), more);
}

inline void take_grid_steps(Job& job, std::uint32_t count) {
  job.run_well_and_die([&](JobSession& session) {
    Grid grid(session);
    grid.restore();
    for (std::uint32_t i = 0; i < count; ++i) grid.advance();
    grid.wait_for_all();
  });
}

}  // namespace cairn::test
