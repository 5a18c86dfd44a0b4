#include "torture/scenario.hpp"

#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn::torture {
namespace {

// Not std::uniform_int_distribution, which differs between libraries.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t number() { return engine_(); }
  // 0 … sides − 1
  std::uint32_t roll(std::uint32_t sides) { return static_cast<std::uint32_t>(engine_() % sides); }
  bool one_in(std::uint32_t sides) { return roll(sides) == 0; }
  std::uint32_t between(std::uint32_t low, std::uint32_t high) { return low + roll(high - low + 1); }

 private:
  std::mt19937_64 engine_;
};

std::string every(Dice& dice) { return fmt::format("every {}", dice.between(1, 3)); }

void draw_cluster(Dice& dice, std::uint32_t ranks, Life& life) {
  constexpr const char* kModes[] = {"rank", "rank", "thread", "inline"};
  const std::string mode = kModes[dice.roll(4)];
  const std::uint32_t nodes = dice.between(1, std::min(ranks, 6U));
  life.nodes.assign(nodes, 1);
  for (std::uint32_t more = nodes; more < ranks; ++more) ++life.nodes[dice.roll(nodes)];
  if (mode == "rank") {
    for (std::uint32_t& size : life.nodes) ++size;
  }
  life.settings = fmt::format("[head]\nmode = {}\n", mode);
}

void draw_settings(Dice& dice, Life& life) {
  const auto nodes = static_cast<std::uint32_t>(life.nodes.size());
  const bool l2 = nodes >= 2 && !dice.one_in(3);
  const bool l3 = nodes >= 3 && !dice.one_in(3);
  const bool l4 = !dice.one_in(3);
  life.copies = nodes >= 4 && dice.one_in(2) ? 2 : 1;
  const std::uint32_t rotation = nodes >= 5 && life.copies == 1 ? dice.between(1, 2) : 1;
  const std::uint32_t group = nodes >= 3 ? dice.between(3, std::min(nodes, 4U)) : 2;
  life.parity = group >= 4 && nodes % group == 0 ? dice.between(1, 2) : 1;
  life.finishes = dice.one_in(2);
  std::string& text = life.settings;
  text += fmt::format("[levels]\nl1 = {}\nl2 = {}\nl3 = {}\nl4 = {}\n", every(dice), l2 ? every(dice) : "off",
                      l3 ? every(dice) : "off", l4 ? every(dice) : "off");
  text += fmt::format("[partner]\ncopies = {}\nrotation = {}\n", life.copies, rotation);
  text += fmt::format("[erasure]\ngroup = {}\nparity = {}\n", group, life.parity);
  text += fmt::format("[storage]\nkeep_local = {}\nkeep_global = {}\n", dice.between(1, 2), dice.between(1, 2));
  text += fmt::format("[restart]\nat_end = {}\nverify = {}\nuse_failure_topology = {}\n",
                      life.finishes ? "finished" : "continue", dice.one_in(3) ? "sha256" : "crc",
                      dice.one_in(4) ? "off" : "on");
  text += fmt::format("[job]\non_storage_error = {}\n", dice.one_in(2) ? "throw" : "continue");
}

Mishap draw_mishap(Dice& dice, std::uint32_t nodes) {
  using Kind = Mishap::Kind;
  constexpr Kind kKinds[] = {Kind::lose_node,        Kind::lose_node,      Kind::lose_node,     Kind::flip_node_file,
                             Kind::flip_node_file,   Kind::flip_node_file, Kind::cut_node_file, Kind::remove_node_file,
                             Kind::flip_global_file, Kind::lose_global};
  return {kKinds[dice.roll(std::size(kKinds))], dice.roll(nodes), dice.number()};
}

Fault draw_fault(Dice& dice, std::uint32_t nodes) {
  using Kind = Fault::Kind;
  const Kind kind = static_cast<Kind>(dice.roll(6));
  return {kind, dice.roll(nodes), dice.roll(kind == Kind::message ? 3000 : 60)};
}

Event draw_event(Dice& dice, std::uint32_t ranks) {
  using Kind = Event::Kind;
  constexpr Kind kKinds[] = {Kind::compute,     Kind::snapshot,    Kind::snapshot, Kind::snapshot, Kind::snapshot,
                             Kind::snapshot_to, Kind::snapshot_to, Kind::wait,     Kind::wait,     Kind::wait,
                             Kind::resize,      Kind::toggle_more, Kind::restore,  Kind::kill_job};
  Event event{kKinds[dice.roll(std::size(kKinds))], dice.between(1, 4), 0};
  if (event.kind == Kind::resize) event.number = dice.one_in(8) ? dice.roll(200'000) : dice.roll(300);
  if (event.kind == Kind::kill_job) {
    // Seldom: little comes after it.
    if (!dice.one_in(4)) event.kind = Kind::snapshot;
    event.number = dice.roll(ranks);
  }
  return event;
}

// Calls `visit(life, item of the life)` for every item, in order: mishaps, faults, events, then the life itself.
template <class Visit>
void for_each_item(const Scenario& scenario, Visit visit) {
  for (std::size_t life = 0; life < scenario.lives.size(); ++life) {
    const Life& it = scenario.lives[life];
    const std::size_t items = it.before.size() + it.faults.size() + it.events.size() + 1;
    for (std::size_t item = 0; item < items; ++item) visit(life, item);
  }
}

std::string text(const Mishap& mishap) {
  using Kind = Mishap::Kind;
  switch (mishap.kind) {
    case Kind::lose_node: return fmt::format("node {} loses its store", mishap.node);
    case Kind::lose_global: return "the global store is lost";
    case Kind::flip_node_file: return fmt::format("a bit of a file of node {} flips ({})", mishap.node, mishap.pick);
    case Kind::flip_global_file: return fmt::format("a bit of a global file flips ({})", mishap.pick);
    case Kind::cut_node_file: return fmt::format("a file of node {} is cut ({})", mishap.node, mishap.pick);
    case Kind::remove_node_file: return fmt::format("a file of node {} is removed ({})", mishap.node, mishap.pick);
  }
  return {};
}

std::string text(const Fault& fault) {
  using Kind = Fault::Kind;
  switch (fault.kind) {
    case Kind::message: return fmt::format("all die at message operation {}", fault.at);
    case Kind::node_write_once: return fmt::format("store operation {} of node {} fails", fault.at, fault.node);
    case Kind::node_writes: return fmt::format("store operations of node {} fail from {} on", fault.node, fault.at);
    case Kind::global_write_once: return fmt::format("operation {} of the global store fails", fault.at);
    case Kind::global_writes: return fmt::format("operations of the global store fail from {} on", fault.at);
    case Kind::node_read_once: return fmt::format("read {} of node {} fails", fault.at, fault.node);
  }
  return {};
}

std::string text(const Event& event) {
  using Kind = Event::Kind;
  switch (event.kind) {
    case Kind::compute: return "compute";
    case Kind::snapshot: return "compute, snapshot";
    case Kind::snapshot_to: return fmt::format("compute, snapshot to L{}", event.level);
    case Kind::wait: return fmt::format("wait for L{}", event.level);
    case Kind::restore: return "restore";
    case Kind::resize: return fmt::format("resize to {}", event.number);
    case Kind::toggle_more: return "protect one more region, or one less";
    case Kind::kill_job: return fmt::format("rank {} kills the job", event.number);
  }
  return {};
}

std::string text(const Life& life, std::size_t item) {
  if (item < life.before.size()) return "before: " + text(life.before[item]);
  item -= life.before.size();
  if (item < life.faults.size()) return "fault:  " + text(life.faults[item]);
  item -= life.faults.size();
  if (item < life.events.size()) return "        " + text(life.events[item]);
  std::string settings = life.settings;
  std::ranges::replace(settings, '\n', ';');
  return fmt::format("end of a life on nodes of {}: {}; {}", fmt::join(life.nodes, ","),
                     life.end == Life::End::finalize ? "finalize" : "die", settings);
}

}  // namespace

Scenario draw(std::uint64_t seed) {
  Dice dice(seed);
  Scenario scenario{seed, {}};
  const std::uint32_t ranks = dice.between(1, 8);
  const std::uint32_t lives = dice.between(2, 6);
  Life life;
  for (std::uint32_t i = 0; i < lives; ++i) {
    // Mostly the job comes back as it was.
    if (i == 0 || dice.one_in(3)) {
      draw_cluster(dice, ranks, life);
      draw_settings(dice, life);
    }
    const auto nodes = static_cast<std::uint32_t>(life.nodes.size());
    life.before.clear();
    while (i > 0 && dice.one_in(2) && life.before.size() < 3) life.before.push_back(draw_mishap(dice, nodes));
    life.faults.clear();
    if (dice.one_in(4)) life.faults.push_back(draw_fault(dice, nodes));
    life.events.clear();
    for (std::uint32_t events = dice.between(0, 12); events > 0; --events)
      life.events.push_back(draw_event(dice, ranks));
    life.end = dice.one_in(3) ? Life::End::finalize : Life::End::die;
    scenario.lives.push_back(life);
  }
  // What the last life has left is looked at.
  life.before.clear();
  life.faults.clear();
  life.events.clear();
  life.end = Life::End::die;
  scenario.lives.push_back(life);
  return scenario;
}

std::uint32_t count_items(const Scenario& scenario) {
  std::uint32_t count = 0;
  for_each_item(scenario, [&](std::size_t, std::size_t) { ++count; });
  return count;
}

Scenario without(const Scenario& scenario, const std::set<std::uint32_t>& left_out) {
  Scenario kept{scenario.seed, {}};
  Life life;
  std::uint32_t number = 0;
  for_each_item(scenario, [&](std::size_t index, std::size_t item) {
    const Life& from = scenario.lives[index];
    if (item == 0) {
      life = from;
      life.before.clear();
      life.faults.clear();
      life.events.clear();
    }
    const bool out = left_out.contains(number++);
    if (item < from.before.size()) {
      if (!out) life.before.push_back(from.before[item]);
      return;
    }
    item -= from.before.size();
    if (item < from.faults.size()) {
      if (!out) life.faults.push_back(from.faults[item]);
      return;
    }
    item -= from.faults.size();
    if (item < from.events.size()) {
      if (!out) life.events.push_back(from.events[item]);
      return;
    }
    if (!out) kept.lives.push_back(life);
  });
  return kept;
}

std::string text(const Scenario& scenario, const std::set<std::uint32_t>& left_out) {
  std::string lines;
  std::uint32_t number = 0;
  for_each_item(scenario, [&](std::size_t life, std::size_t item) {
    if (!left_out.contains(number))
      lines += fmt::format("{:4} life {} {}\n", number, life, text(scenario.lives[life], item));
    ++number;
  });
  return lines;
}

}  // namespace cairn::torture
