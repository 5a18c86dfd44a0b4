#include <algorithm>
#include <utility>

#include "torture/dice.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {
namespace {

Fault draw_strike(Dice& dice, const Life& life) {
  using Kind = Fault::Kind;
  // Mostly kills: what else there is comes as it is drawn for threads.
  constexpr Kind kKinds[] = {Kind::message_kills,   Kind::message_kills,   Kind::message_kills,
                             Kind::operation_kills, Kind::operation_kills, Kind::operation_kills,
                             Kind::read_kills,      Kind::read_kills,      Kind::slow,
                             Kind::wiped,           Kind::store_gone,      Kind::flipped_reads,
                             Kind::operations};
  const Kind kind = kKinds[dice.roll(std::size(kKinds))];
  const std::uint32_t host = life.hosts[dice.roll(static_cast<std::uint32_t>(life.hosts.size()))];
  return {kind, dice.one_in(3) ? std::nullopt : std::optional(host), dice.roll(1'000'000)};
}

}  // namespace

Scenario draw_outside(std::uint64_t seed) {
  Scenario scenario = draw(seed);
  constexpr std::uint64_t kOther = 0x9e3779b97f4a7c15;
  Dice dice(seed ^ kOther);
  scenario.of_heat = dice.one_in(4);
  // Not the last, which looks at what is left.
  for (std::size_t i = 0; i + 1 < scenario.lives.size(); ++i) {
    Life& life = scenario.lives[i];
    life.outside.supervised = !dice.one_in(3);
    life.outside.doubled = dice.one_in(12);
    if (dice.one_in(12)) life.outside.room_kib = 64U << dice.roll(6);
    const std::uint32_t most = life.outside.supervised ? 7 : 1;
    for (std::uint32_t more = dice.between(0, most); more > 0; --more) life.faults.push_back(draw_strike(dice, life));
  }
  return scenario;
}

}  // namespace cairn::torture
