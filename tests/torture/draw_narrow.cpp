#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "torture/draw_settings.hpp"

namespace cairn::torture {
namespace {

std::uint32_t draw_host(Dice& dice, const Life& life) {
  return life.hosts[dice.roll(static_cast<std::uint32_t>(life.hosts.size()))];
}

// A life on the cluster that was drawn, in which nothing happens yet, and nothing goes wrong.
void begin_anew(Dice& dice, Life& life, Levels levels) {
  life.settings.resize(life.settings.find("[levels]"));
  draw_settings(dice, life, levels);
  life.before.clear();
  life.faults.clear();
  life.clock.reset();
  life.survivors = false;
  life.start = Life::Start::automatic;
  life.events.clear();
  life.end = Life::End::die;
}

void take_snapshot(Life& life) {
  life.events.push_back({Event::Kind::snapshot});
  life.events.push_back({Event::Kind::wait});
}

// The newest versions are damaged between lives, or lost in them, and nothing else happens: what is older, and would go
// for something that is whole, is what the job goes on from.
void wear(Dice& dice, const Life* before, Life& life) {
  begin_anew(dice, life, dice.one_in(3) ? Levels::some : Levels::local);
  if (before != nullptr && !dice.one_in(3))
    life.before.push_back({Mishap::Kind::flip_newest_file, draw_host(dice, life), dice.number()});
  if (dice.one_in(3)) life.faults.push_back({Fault::Kind::robbed, draw_host(dice, life), dice.roll(60)});
  for (std::uint32_t snapshots = dice.between(1, 3); snapshots > 0; --snapshots) take_snapshot(life);
}

// The newest versions are at L1 alone, and hosts are lost between lives: what is older, and at a higher level, is what
// the job goes on from.
void set_back(Dice& dice, const Life* before, Life& life) {
  begin_anew(dice, life, Levels::seldom);
  if (before != nullptr) {
    const bool has_global = before->settings.find("\nl4 = off\n") == std::string::npos;
    std::vector<std::uint32_t> lost = before->hosts;
    std::rotate(lost.begin(), lost.begin() + dice.roll(static_cast<std::uint32_t>(lost.size())), lost.end());
    if (!has_global || !dice.one_in(2)) lost.resize(1);
    for (const std::uint32_t host : lost) life.before.push_back({Mishap::Kind::lose_node, host});
  }
  for (std::uint32_t snapshots = dice.between(2, 5); snapshots > 0; --snapshots) {
    take_snapshot(life);
    life.events.push_back({Event::Kind::wait, dice.one_in(4) ? 4U : 2U});
    life.events.push_back({Event::Kind::wait, 3});
  }
}

// Something fails while finalize ends the chain, or what it is to end was removed just before.
void end_badly(Dice& dice, const Life* /*before*/, Life& life) {
  using Kind = Fault::Kind;
  constexpr Kind kKinds[] = {
      Kind::operation_kills, Kind::operation_kills, Kind::operation_kills, Kind::operation_kills, Kind::read_kills,
      Kind::operation_once,  Kind::operations,      Kind::stuck,           Kind::robbed,          Kind::wiped};
  begin_anew(dice, life, Levels::some);
  for (std::uint32_t snapshots = dice.between(1, 3); snapshots > 0; --snapshots) take_snapshot(life);
  life.end = Life::End::finalize;
  life.finishes = true;
  if (const auto at = life.settings.find("at_end = continue"); at != std::string::npos)
    life.settings.replace(at, std::string("at_end = continue").size(), "at_end = finished");
  const Kind kind = kKinds[dice.roll(std::size(kKinds))];
  const auto host = dice.one_in(2) ? std::nullopt : std::optional(draw_host(dice, life));
  const bool removed_before = (kind == Kind::robbed || kind == Kind::wiped) && dice.one_in(2);
  const std::uint32_t operations = dice.roll(dice.one_in(2) ? 12 : 50);
  life.faults.push_back({kind, host, removed_before ? 0 : operations, true});
}

Event draw_pick(Dice& dice, const Life& life) {
  using Kind = Event::Kind;
  constexpr Kind kKinds[] = {Kind::snapshot, Kind::snapshot, Kind::snapshot, Kind::pinned, Kind::open,
                             Kind::reject,   Kind::reject,   Kind::choose,   Kind::choose, Kind::open_pinned};
  Event event{kKinds[dice.roll(std::size(kKinds))], dice.between(1, 4)};
  event.number = event.kind == Kind::reject ? life.odd_rank : dice.between(1, 3);
  return event;
}

// Snapshots are read, rejected and pinned, and older ones are chosen. Little fails.
void pick(Dice& dice, const Life* before, Life& life) {
  using Kind = Fault::Kind;
  begin_anew(dice, life, dice.one_in(2) ? Levels::some : Levels::local);
  life.choice = before != nullptr && dice.one_in(3) ? dice.between(1, 6) : 0;
  if (before != nullptr && dice.one_in(4))
    life.before.push_back({Mishap::Kind::flip_newest_file, draw_host(dice, life), dice.number()});
  if (before != nullptr && dice.one_in(6)) life.before.push_back({Mishap::Kind::lose_node, draw_host(dice, life)});
  if (dice.one_in(4)) life.faults.push_back({Kind::message_kills, {}, dice.roll(2000)});
  if (dice.one_in(6)) life.faults.push_back({Kind::operation_kills, {}, dice.roll(40)});
  for (std::uint32_t events = dice.between(2, 7); events > 0; --events) {
    life.events.push_back(draw_pick(dice, life));
    if (!dice.one_in(3)) life.events.push_back({Event::Kind::wait, dice.between(1, 4)});
  }
  if (dice.one_in(6)) life.end = Life::End::finalize;
}

// What the one before it has left is looked at.
void look(Life& last) {
  last.faults.clear();
  last.events.clear();
  last.end = Life::End::die;
}

}  // namespace

void narrow(Scenario& scenario) {
  constexpr std::uint64_t kNarrow = 0xc2b2ae3d27d4eb4f;
  Dice dice(scenario.seed ^ kNarrow);
  const std::uint32_t kind = dice.roll(8);
  const auto play = kind == 0 ? wear : kind == 2 ? set_back : kind == 4 ? end_badly : kind == 6 ? pick : nullptr;
  if (play == nullptr) return;
  const Life* before = nullptr;
  for (Life& life : scenario.lives) {
    if (life.strangers) continue;
    play(dice, before, life);
    before = &life;
  }
  if (play == end_badly) look(scenario.lives.back());
}

}  // namespace cairn::torture
