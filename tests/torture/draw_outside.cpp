#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

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

// A node of spares more, and the settings that it takes.
void mend(Dice& dice, std::uint32_t number, Life& life) {
  constexpr std::uint32_t kFirstHost = 900;  // which no other life has
  const bool spares = !dice.one_in(3);
  life.outside.mending = spares ? Outside::Mending::spares : Outside::Mending::respawn;
  life.outside.supervised = life.outside.doubled = false;
  const std::uint32_t count = spares ? dice.between(2, 6) : 1;
  life.nodes.push_back(count);
  life.hosts.push_back(kFirstHost + number);
  // A session cannot be dropped there, and is finalized when all are through.
  if (life.end != Life::End::die) life.end = Life::End::finalize;
  // Heads that are threads cannot go on without their process.
  if (const auto at = life.settings.find("mode = thread"); at != std::string::npos)
    life.settings.replace(at, std::string("mode = thread").size(), "mode = inline");
  life.settings = fmt::format("[recovery]\nmode = {}\nspares = {}\nwhen_spent = {}\nhang_timeout = 300ms\n",
                              spares ? "spares" : "respawn", count, dice.one_in(2) ? "respawn" : "restart") +
                  life.settings;
}

}  // namespace

Scenario draw_outside(std::uint64_t seed, Mpi mpi) {
  Scenario scenario = with_other_ranks(draw(seed));
  constexpr std::uint64_t kOther = 0x9e3779b97f4a7c15;
  Dice dice(seed ^ kOther);
  scenario.of_heat = dice.one_in(4);
  // Not the last, which looks at what is left.
  for (std::size_t i = 0; i + 1 < scenario.lives.size(); ++i) {
    Life& life = scenario.lives[i];
    life.outside.supervised = !dice.one_in(3);
    life.outside.doubled = dice.one_in(12);
    life.outside.beside = dice.one_in(12);
    if (dice.one_in(12)) life.outside.room_kib = 64U << dice.roll(6);
    if (mpi == Mpi::ulfm && !life.strangers && !dice.one_in(4)) mend(dice, static_cast<std::uint32_t>(i), life);
    const bool comes_again = life.outside.supervised || life.outside.mending != Outside::Mending::none;
    const std::uint32_t most = comes_again ? 7 : 1;
    for (std::uint32_t more = dice.between(0, most); more > 0; --more) life.faults.push_back(draw_strike(dice, life));
  }
  return scenario;
}

}  // namespace cairn::torture
