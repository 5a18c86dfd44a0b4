#include "model/bondarenko2019.hpp"

namespace cairn::model::bondarenko2019 {
namespace {

constexpr double kWork = 3600;

struct Printed {
  double mtbf[2];
  double failures[2];  // coordinated
  double coordinated;
  double with_2_helpers;
  double with_5_helpers;
};

constexpr Printed kPrinted[] = {
    {{1800, 36000}, {2.1, 0.1}, 187, 142, 113}, {{720, 3600}, {5.6, 1.1}, 432, 331, 271},
    {{360, 1800}, {11.8, 2.4}, 638, 488, 400},  {{240, 1200}, {18.5, 3.7}, 812, 626, 513},
    {{180, 900}, {25.3, 5.1}, 955, 744, 604},
};

}  // namespace

std::vector<Row> table() {
  std::vector<Row> rows;
  for (const Printed& printed : kPrinted) {
    const std::vector<LevelModel> levels{{1, 0.5, 1 / printed.mtbf[0]}, {6, 4, 1 / printed.mtbf[1]}};
    const Pattern pattern = optimal_pattern(levels).value();
    const auto experiment = [&](Protocol protocol, std::uint32_t helpers) {
      return Experiment{levels, pattern, kWork, protocol, helpers};
    };
    rows.push_back(
        {experiment(Protocol::coordinated, 1), printed.coordinated, {printed.failures[0], printed.failures[1]}});
    rows.push_back({experiment(Protocol::asynchronous, 2), printed.with_2_helpers, {}});
    rows.push_back({experiment(Protocol::asynchronous, 5), printed.with_5_helpers, {}});
  }
  return rows;
}

}  // namespace cairn::model::bondarenko2019
