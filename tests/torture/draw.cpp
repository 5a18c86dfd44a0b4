#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "torture/dice.hpp"
#include "torture/draw_settings.hpp"
#include "torture/scenario.hpp"

namespace cairn::torture {
namespace {

// Hosts beyond those that a life needs, whose stores it may find empty or old.
constexpr std::uint32_t kSpareHosts = 2;

void draw_cluster(Dice& dice, std::uint32_t ranks, Life& life) {
  constexpr const char* kModes[] = {"rank", "rank", "thread", "inline"};
  const std::string mode = kModes[dice.roll(4)];
  const std::uint32_t most = dice.one_in(6) ? 12 : 6;
  const std::uint32_t nodes = dice.between(1, std::min(ranks, most));
  life.nodes.assign(nodes, 1);
  for (std::uint32_t more = nodes; more < ranks; ++more) ++life.nodes[dice.roll(nodes)];
  if (mode == "rank") {
    for (std::uint32_t& size : life.nodes) ++size;
  }
  life.hosts.resize(nodes + kSpareHosts);
  std::iota(life.hosts.begin(), life.hosts.end(), 0U);
  if (dice.one_in(3)) {
    for (std::uint32_t swaps = dice.between(1, 3); swaps > 0; --swaps) {
      std::uint32_t& one = life.hosts[dice.roll(nodes + kSpareHosts)];
      std::swap(life.hosts[dice.roll(nodes)], one);
    }
  }
  life.hosts.resize(nodes);
  life.settings = fmt::format("[head]\nmode = {}\nwait_limit = 100s\n", mode);
}

Mishap draw_mishap(Dice& dice, std::uint32_t hosts) {
  using Kind = Mishap::Kind;
  constexpr Kind kKinds[] = {
      Kind::lose_node,       Kind::lose_node,        Kind::lose_node,        Kind::swap_node,
      Kind::swap_node,       Kind::flip_node_file,   Kind::flip_newest_file, Kind::flip_newest_file,
      Kind::cut_node_file,   Kind::remove_node_file, Kind::age_node,         Kind::age_node,
      Kind::newer_node_file, Kind::lose_global,      Kind::flip_global_file, Kind::flip_global_file,
      Kind::cut_global_file, Kind::age_global,       Kind::newer_global_file};
  return {kKinds[dice.roll(std::size(kKinds))], dice.roll(hosts), dice.number()};
}

Fault draw_fault(Dice& dice, const Life& life) {
  using Kind = Fault::Kind;
  const Kind kind = static_cast<Kind>(dice.roll(Fault::kKinds));
  const std::uint32_t host = life.hosts[dice.roll(static_cast<std::uint32_t>(life.hosts.size()))];
  const bool of_global = dice.one_in(3);
  std::uint64_t at = dice.roll(dice.one_in(2) ? 20 : 100);
  if (kind == Kind::message_kills) at = dice.roll(3000);
  if (kind == Kind::flipped_reads) at = dice.between(1, 20);
  return {kind, of_global ? std::nullopt : std::optional(host), at};
}

Event draw_event(Dice& dice, std::uint32_t ranks) {
  using Kind = Event::Kind;
  constexpr Kind kKinds[] = {Kind::compute,
                             Kind::snapshot,
                             Kind::snapshot,
                             Kind::snapshot,
                             Kind::snapshot,
                             Kind::snapshot,
                             Kind::wait,
                             Kind::wait,
                             Kind::wait,
                             Kind::wait,
                             Kind::snapshot_to,
                             Kind::snapshot_to,
                             Kind::restore,
                             Kind::restore_region,
                             Kind::resize,
                             Kind::toggle_more,
                             Kind::unprotect_unknown,
                             Kind::kill_job};
  Event event{kKinds[dice.roll(std::size(kKinds))], dice.between(1, 4), dice.roll(ranks)};
  if (event.kind == Kind::resize) event.number = 1 + (dice.one_in(8) ? dice.roll(200'000) : dice.roll(300));
  // Seldom: little comes after it.
  if (event.kind == Kind::kill_job && !dice.one_in(4)) event.kind = Kind::snapshot;
  return event;
}

Clock draw_clock(Dice& dice, const Life& life) {
  const std::uint32_t world = std::accumulate(life.nodes.begin(), life.nodes.end(), 0U);
  Clock clock{dice.roll(world), {}};
  for (std::uint32_t jumps = dice.between(1, 4); jumps > 0; --jumps) clock.jumps.insert(dice.roll(400));
  return clock;
}

// A jump matters most where a rank waits for its head, which a slow store keeps busy.
void be_slow(Life& life) {
  const std::uint32_t host = life.hosts[life.clock->rank % life.hosts.size()];
  life.faults.push_back({Fault::Kind::slow, host, 0});
}

void draw_start_and_end(Dice& dice, Life& life) {
  using Start = Life::Start;
  constexpr Start kStarts[] = {Start::fresh, Start::required, Start::unasked};
  life.start = dice.one_in(8) ? kStarts[dice.roll(3)] : Start::automatic;
  using End = Life::End;
  constexpr End kEnds[] = {End::finalize,
                           End::finalize,
                           End::finalize,
                           End::finalize,
                           End::die,
                           End::die,
                           End::die,
                           End::die,
                           End::die,
                           End::drop,
                           End::one_drops,
                           End::one_left_out_a_snapshot,
                           End::one_left_out_a_restore};
  life.end = kEnds[dice.roll(std::size(kEnds))];
}

// A program that did not ask for the old state does not ask for it later. Now and then it takes no snapshot either.
void ask_for_nothing(Life& life) {
  using Kind = Event::Kind;
  const bool takes_none = life.odd_rank % 2 == 0;
  std::erase_if(life.events, [&](const Event& event) {
    const bool takes = event.kind == Kind::snapshot || event.kind == Kind::snapshot_to;
    return event.kind == Kind::restore || event.kind == Kind::restore_region || (takes_none && takes);
  });
  if (life.end == Life::End::one_left_out_a_restore) life.end = Life::End::die;
}

// They look at what is there, and are refused.
void become_strangers(Dice& dice, std::uint32_t ranks, Life& life) {
  life.strangers = true;
  draw_cluster(dice, ranks + dice.between(1, 2), life);
  draw_settings(dice, life);
  life.start = Life::Start::automatic;
  life.end = dice.one_in(2) ? Life::End::finalize : Life::End::die;
}

// Files of a job with a key are all sealed; some that it finds are sealed with another one.
Mishap with_a_key(Mishap mishap) {
  using Kind = Mishap::Kind;
  if (mishap.kind == Kind::age_node) mishap.kind = Kind::forged_node_file;
  if (mishap.kind == Kind::age_global) mishap.kind = Kind::forged_global_file;
  return mishap;
}

void draw_life(Dice& dice, std::uint32_t ranks, bool as_before, bool first, Life& life) {
  life.before.clear();
  const auto hosts = static_cast<std::uint32_t>(life.hosts.size());
  while (!first && dice.one_in(2) && life.before.size() < 3) life.before.push_back(draw_mishap(dice, hosts + 1));
  if (life.keyed) std::ranges::transform(life.before, life.before.begin(), with_a_key);
  // What is others' is to be found as it was left.
  std::stable_partition(life.before.begin(), life.before.end(),
                        [](const Mishap& mishap) { return !makes_it_others(mishap); });
  life.told = dice.one_in(2);
  life.survivors = as_before && life.end == Life::End::die && dice.one_in(2);
  life.faults.clear();
  if (dice.one_in(4)) life.faults.push_back(draw_fault(dice, life));
  if (!life.faults.empty() && dice.one_in(4)) life.faults.push_back(draw_fault(dice, life));
  life.clock.reset();
  if (dice.one_in(6)) life.clock = draw_clock(dice, life);
  if (life.clock && life.clock->jumps.size() > 1) be_slow(life);
  life.events.clear();
  for (std::uint32_t events = dice.between(0, 12); events > 0; --events) life.events.push_back(draw_event(dice, ranks));
  life.odd_rank = dice.roll(ranks);
  draw_start_and_end(dice, life);
  if (life.start == Life::Start::unasked) ask_for_nothing(life);
}

}  // namespace

Scenario draw(std::uint64_t seed) {
  Dice dice(seed);
  Scenario scenario{seed, {}, false};
  const std::uint32_t ranks = dice.between(1, dice.one_in(6) ? 16 : 8);
  const std::uint32_t lives = dice.between(2, 6);
  Life life;
  life.keyed = Dice(~seed).one_in(4);
  for (std::uint32_t i = 0; i < lives; ++i) {
    // Mostly the job comes back as it was.
    const bool as_before = i > 0 && !dice.one_in(3);
    if (!as_before) {
      draw_cluster(dice, ranks, life);
      draw_settings(dice, life);
    } else if (dice.one_in(6)) {
      // The same hosts, in another order.
      const auto nodes = static_cast<std::uint32_t>(life.hosts.size());
      for (std::uint32_t node = nodes; node > 1; --node) std::swap(life.hosts[node - 1], life.hosts[dice.roll(node)]);
    }
    draw_life(dice, ranks, as_before, i == 0, life);
    scenario.lives.push_back(life);
    if (!dice.one_in(12)) continue;
    Life strangers;
    strangers.keyed = life.keyed;
    become_strangers(dice, ranks, strangers);
    scenario.lives.push_back(strangers);
    life.end = Life::End::finalize;  // no process of it survives
  }
  // What the last life has left is looked at.
  Life last = life;
  last.before.clear();
  last.faults.clear();
  last.clock.reset();
  last.events.clear();
  last.survivors = false;
  last.start = Life::Start::automatic;
  last.end = Life::End::die;
  scenario.lives.push_back(last);
  narrow(scenario);
  return scenario;
}

}  // namespace cairn::torture
