// Another number of ranks in lives of a job, and other parts of its array.
#include <algorithm>
#include <numeric>
#include <string>

#include "torture/dice.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {
namespace {

// On the same hosts, so that what fails there is still meant.
void draw_ranks(Dice& dice, Life& life) {
  const std::uint32_t heads = life.settings.find("mode = rank\n") == std::string::npos ? 0 : 1;
  const std::uint32_t most = life.nodes.size() > 4 ? 2 : 4;
  for (std::uint32_t& node : life.nodes) node = heads + dice.between(1, most);
  const auto world = std::accumulate(life.nodes.begin(), life.nodes.end(), 0U);
  life.odd_rank %= world - heads * static_cast<std::uint32_t>(life.nodes.size());
  if (life.clock) life.clock->rank %= world;
}

}  // namespace

Scenario with_other_ranks(Scenario scenario) {
  constexpr std::uint64_t kRanks = 0x165667b19e3779f9;
  Dice dice(scenario.seed ^ kRanks);
  if (dice.one_in(2)) return scenario;
  for (Life& life : scenario.lives) {
    if (life.strangers) continue;
    life.elastic = true;
    const std::string off = "elastic = off";
    life.settings.replace(life.settings.find(off), off.size(), "elastic = on");
    life.by_columns = dice.one_in(3);
    if (dice.one_in(2)) draw_ranks(dice, life);
  }
  return scenario;
}

}  // namespace cairn::torture
