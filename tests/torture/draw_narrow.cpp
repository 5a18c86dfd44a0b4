#include <cstddef>

#include "torture/draw_settings.hpp"

namespace cairn::torture {
namespace {

// The newest versions are damaged between lives, or lost in them, and nothing else happens: what is older, and would go
// for something that is whole, is what the job goes on from.
void wear(Dice& dice, Life& life, bool first) {
  const auto host = [&] { return life.hosts[dice.roll(static_cast<std::uint32_t>(life.hosts.size()))]; };
  life.settings.resize(life.settings.find("[levels]"));
  draw_settings(dice, life, dice.one_in(3) ? Levels::some : Levels::local);
  life.before.clear();
  if (!first && !dice.one_in(3)) life.before.push_back({Mishap::Kind::flip_newest_file, host(), dice.number()});
  life.faults.clear();
  if (dice.one_in(3)) life.faults.push_back({Fault::Kind::robbed, host(), dice.roll(60)});
  life.clock.reset();
  life.survivors = false;
  life.start = Life::Start::automatic;
  life.events.clear();
  for (std::uint32_t snapshots = dice.between(1, 3); snapshots > 0; --snapshots) {
    life.events.push_back({Event::Kind::snapshot});
    life.events.push_back({Event::Kind::wait});
  }
  life.end = Life::End::die;
}

}  // namespace

void narrow(Scenario& scenario) {
  constexpr std::uint64_t kWorn = 0xc2b2ae3d27d4eb4f;
  Dice wearing(scenario.seed ^ kWorn);
  if (!wearing.one_in(8)) return;
  for (std::size_t i = 0; i < scenario.lives.size(); ++i) {
    if (!scenario.lives[i].strangers) wear(wearing, scenario.lives[i], i == 0);
  }
}

}  // namespace cairn::torture
