// The published figures that the simulator is tested against: Table 3 of Bondarenko, Lyakhov, Yakobovskiy 2019, DOI
// 10.14529/cmse190205. One hour of work; checkpoints of 1 s and 6 s, recoveries of 0.5 s and 4 s; mean overheads of
// 10,000 runs with the optimal pattern, under five pairs of MTBFs and three protocols. Pure data.
//
// The fourth pair of MTBFs is printed there as 1800 s for level 2; the numbers of failures beside it belong to 1200 s,
// which is used here.
#pragma once

#include <vector>

#include "model/simulation.hpp"

namespace cairn::model::bondarenko2019 {

struct Row {
  Experiment experiment;
  double overhead;               // seconds, as published
  std::vector<double> failures;  // mean by level, as published; empty: not compared
};

// By MTBF, from rare failures to frequent ones; for each coordinated, asynchronous with 2 helpers, with 5 helpers.
[[nodiscard]] std::vector<Row> table();

}  // namespace cairn::model::bondarenko2019
