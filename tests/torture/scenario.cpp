#include "torture/scenario.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cairn::torture {
namespace {

std::string text(const Mishap& mishap) {
  using Kind = Mishap::Kind;
  const std::string of_node = fmt::format("a file of host {}", mishap.host);
  switch (mishap.kind) {
    case Kind::lose_node: return fmt::format("host {} loses its store", mishap.host);
    case Kind::swap_node: return fmt::format("host {} is swapped for what it was, or is new", mishap.host);
    case Kind::flip_node_file: return fmt::format("a bit of {} flips ({})", of_node, mishap.pick);
    case Kind::flip_newest_file:
      return fmt::format("a bit of {} flips, of its newest version ({})", of_node, mishap.pick);
    case Kind::cut_node_file: return fmt::format("{} is cut ({})", of_node, mishap.pick);
    case Kind::remove_node_file: return fmt::format("{} is removed ({})", of_node, mishap.pick);
    case Kind::age_node: return fmt::format("the records of host {} are of the oldest format", mishap.host);
    case Kind::newer_node_file: return fmt::format("{} is of a newer format ({})", of_node, mishap.pick);
    case Kind::forged_node_file: return fmt::format("{} is sealed with another key ({})", of_node, mishap.pick);
    case Kind::lose_global: return "the global store is lost";
    case Kind::flip_global_file: return fmt::format("a bit of a global file flips ({})", mishap.pick);
    case Kind::cut_global_file: return fmt::format("a global file is cut ({})", mishap.pick);
    case Kind::age_global: return "the records of the global store are of the oldest format";
    case Kind::newer_global_file: return fmt::format("a global file is of a newer format ({})", mishap.pick);
    case Kind::forged_global_file: return fmt::format("a global file is sealed with another key ({})", mishap.pick);
  }
  return {};
}

std::string text_of_kind(const Fault& fault) {
  using Kind = Fault::Kind;
  const std::string store = fault.host ? fmt::format("host {}", *fault.host) : "the global store";
  switch (fault.kind) {
    case Kind::message_kills: return fmt::format("all die at message operation {}", fault.at);
    case Kind::operation_once: return fmt::format("operation {} of {} fails", fault.at, store);
    case Kind::operations: return fmt::format("operations of {} fail from {} on", store, fault.at);
    case Kind::store_full: return fmt::format("{} is full from operation {} on", store, fault.at);
    case Kind::store_gone: return fmt::format("{} is gone from operation {} on", store, fault.at);
    case Kind::operation_kills: return fmt::format("all die at operation {} of {}", fault.at, store);
    case Kind::read_once: return fmt::format("read {} of {} fails", fault.at, store);
    case Kind::reads: return fmt::format("reads of {} fail from {} on", store, fault.at);
    case Kind::read_kills: return fmt::format("all die at read {} of {}", fault.at, store);
    case Kind::flipped_reads: return fmt::format("one read in {} of {} has a bit flipped", fault.at, store);
    case Kind::slow: return fmt::format("{} is slow", store);
    case Kind::wiped: return fmt::format("{} loses all files at operation {}", store, fault.at);
    case Kind::stuck: return fmt::format("nothing of {} can be removed from operation {} on", store, fault.at);
    case Kind::robbed: return fmt::format("{} loses a version at operation {}", store, fault.at);
  }
  return {};
}

std::string text(const Fault& fault) {
  return fault.in_finalize ? "since finalize was called: " + text_of_kind(fault) : text_of_kind(fault);
}

std::string text(const Event& event) {
  using Kind = Event::Kind;
  switch (event.kind) {
    case Kind::compute: return "compute";
    case Kind::snapshot: return "compute, snapshot";
    case Kind::snapshot_to: return fmt::format("compute, snapshot to L{}", event.level);
    case Kind::wait: return fmt::format("wait for L{}", event.level);
    case Kind::restore: return "restore";
    case Kind::restore_region: return "restore one region";
    case Kind::resize: return fmt::format("resize to {}", event.number);
    case Kind::toggle_more: return "protect one more region, or one less";
    case Kind::unprotect_unknown: return fmt::format("rank {} unprotects what it never protected", event.number);
    case Kind::kill_job: return fmt::format("rank {} kills the job", event.number);
    case Kind::open: return "open the newest snapshot";
    case Kind::open_pinned: return "open the newest pinned snapshot";
    case Kind::reject: return fmt::format("open the newest snapshot, which rank {} rejects", event.number);
    case Kind::choose: return fmt::format("choose the version {} before the newest", event.number);
    case Kind::pinned: return "compute, pinned snapshot";
  }
  return {};
}

std::string text(Life::Start start) {
  switch (start) {
    case Life::Start::automatic: return "start";
    case Life::Start::fresh: return "start fresh";
    case Life::Start::required: return "start, a snapshot is required";
    case Life::Start::unasked: return "start without restore";
  }
  return {};
}

std::string text(Life::End end, std::uint32_t odd_rank) {
  switch (end) {
    case Life::End::finalize: return "finalize";
    case Life::End::die: return "die";
    case Life::End::drop: return "drop all sessions";
    case Life::End::one_drops: return fmt::format("rank {} drops its session, the others go on and finalize", odd_rank);
    case Life::End::one_left_out_a_snapshot: return fmt::format("all but rank {} snapshot, finalize", odd_rank);
    case Life::End::one_left_out_a_restore: return fmt::format("all but rank {} restore, finalize", odd_rank);
  }
  return {};
}

std::string text(const Outside& outside) {
  std::string text;
  if (outside.mending == Outside::Mending::spares) text += ", mends itself with spares";
  if (outside.mending == Outside::Mending::respawn) text += ", mends itself with new processes";
  if (outside.supervised) text += ", by ckpt-run";
  if (outside.doubled) text += ", twice at once";
  if (outside.beside) text += ", beside another user's";
  if (outside.room_kib > 0) text += fmt::format(", in {} KiB", outside.room_kib);
  return text;
}

std::string text(const Life& life) {
  std::string settings = life.settings;
  std::ranges::replace(settings, '\n', ';');
  return fmt::format("{}{}{}{}{}{}{} on nodes of {} (hosts {}) ... {}; {}", life.strangers ? "another program: " : "",
                     life.by_columns ? "by columns: " : "",
                     text(life.start) + (life.choice > 0 ? fmt::format(" from version {}", life.choice) : ""),
                     life.survivors ? ", with survivors" : "", life.told ? ", told" : "",
                     life.keyed ? ", with a key" : "", text(life.outside), fmt::join(life.nodes, ","),
                     fmt::join(life.hosts, ","), text(life.end, life.odd_rank), settings);
}

// A life in parts, each of which may be left out, and the life itself, which is the last of its items.
template <class Visit>
void for_each_part(const Life& life, Visit visit) {
  for (const Mishap& mishap : life.before) visit([&](Life& to) { to.before.push_back(mishap); }, text(mishap));
  for (const Fault& fault : life.faults) visit([&](Life& to) { to.faults.push_back(fault); }, text(fault));
  if (life.clock) {
    visit([&](Life& to) { to.clock = life.clock; },
          fmt::format("the clock of world rank {} jumps at {}", life.clock->rank, fmt::join(life.clock->jumps, ", ")));
  }
  for (const Event& event : life.events) visit([&](Life& to) { to.events.push_back(event); }, "    " + text(event));
}

Life bare(Life life) {
  life.before.clear();
  life.faults.clear();
  life.clock.reset();
  life.events.clear();
  return life;
}

}  // namespace

std::uint32_t count_items(const Scenario& scenario) {
  std::uint32_t count = 0;
  for (const Life& life : scenario.lives) {
    for_each_part(life, [&](const auto&, const std::string&) { ++count; });
    ++count;
  }
  return count;
}

Scenario without(const Scenario& scenario, const std::set<std::uint32_t>& left_out) {
  Scenario kept{scenario.seed, {}, scenario.of_heat};
  std::uint32_t number = 0;
  for (const Life& from : scenario.lives) {
    Life life = bare(from);
    for_each_part(from, [&](const auto& add_to, const std::string&) {
      if (!left_out.contains(number++)) add_to(life);
    });
    if (!left_out.contains(number++)) kept.lives.push_back(life);
  }
  return kept;
}

std::string name_of(Mpi mpi) { return mpi == Mpi::ulfm ? "ulfm" : mpi == Mpi::mpich ? "mpich" : "openmpi"; }

std::set<std::uint32_t> parse_items(const std::string& list) {
  std::set<std::uint32_t> items;
  std::istringstream in(list == "none" ? "" : list);
  for (std::string item; std::getline(in, item, ',');) items.insert(static_cast<std::uint32_t>(std::stoul(item)));
  return items;
}

std::string text(const std::set<std::uint32_t>& items) {
  return items.empty() ? "none" : fmt::format("{}", fmt::join(items, ","));
}

bool makes_it_others(const Mishap& mishap) {
  using Kind = Mishap::Kind;
  return mishap.kind == Kind::newer_node_file || mishap.kind == Kind::newer_global_file ||
         mishap.kind == Kind::forged_node_file || mishap.kind == Kind::forged_global_file;
}

std::optional<std::uint32_t> node_of(const Life& life, std::uint32_t host) {
  const auto found = std::ranges::find(life.hosts, host);
  if (found == life.hosts.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - life.hosts.begin());
}

std::string settings_of(const Life& life) {
  if (life.start == Life::Start::fresh) return life.settings + "mode = fresh\n";
  if (life.start == Life::Start::required) return life.settings + "mode = required\n";
  return life.settings;
}

Life again(Life life) {
  std::erase_if(life.events, [](const Event& event) { return event.kind == Event::Kind::kill_job; });
  life.end = Life::End::finalize;
  return life;
}

bool picks(const Life& life) {
  return life.choice > 0 ||
         std::ranges::any_of(life.events, [](const Event& event) { return event.kind >= Event::Kind::open; });
}

bool calls_may_fail(const Life& life) {
  // Others may still be in a call when one drops its session.
  return life.end == Life::End::drop || life.end == Life::End::one_drops ||
         std::ranges::any_of(life.events, [](const Event& event) { return event.kind == Event::Kind::kill_job; });
}

std::string text(const Scenario& scenario, const std::set<std::uint32_t>& left_out) {
  std::string lines = scenario.of_heat ? "the program is heat\n" : "";
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < scenario.lives.size(); ++i) {
    const auto add = [&](const std::string& line) {
      if (!left_out.contains(number)) lines += fmt::format("{:4} life {} {}\n", number, i, line);
      ++number;
    };
    for_each_part(scenario.lives[i], [&](const auto&, const std::string& line) { add(line); });
    add(text(scenario.lives[i]));
  }
  return lines;
}

}  // namespace cairn::torture
