#include "torture/mpi/strikes.hpp"

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "torture/mpi/run.hpp"

namespace cairn::torture {
namespace {

using Faults = Circumstances::Faults;
using Kind = Fault::Kind;
using std::chrono::milliseconds;

constexpr std::uint64_t kMostDelay = 150;
constexpr std::uint64_t kMostBeginnings = 3;
constexpr milliseconds kAWhile{100};
constexpr milliseconds kLongWhile{3000};  // many times the hang_timeout that is drawn

bool mends(const Life& life) { return life.outside.mending != Outside::Mending::none; }

milliseconds delay_of(const Fault& fault) { return milliseconds(fault.at % kMostDelay); }
std::size_t beginning_of(const Fault& fault, const Life& life) {
  const bool comes_again = life.outside.supervised || mends(life);
  return comes_again ? fault.at / kMostDelay % kMostBeginnings : 0;
}
// Which of many, or of what kind: apart from when.
std::uint64_t pick_of(const Fault& fault) { return fault.at / (kMostDelay * kMostBeginnings) + fault.at % 7; }

bool is_kill(Strike strike) {
  return strike == Strike::kill_one || strike == Strike::kill_node || strike == Strike::kill_launcher ||
         strike == Strike::kill_supervisor;
}

std::size_t node_of_world(const Life& life, std::uint32_t rank) {
  std::size_t node = 0;
  for (std::uint32_t end = life.nodes[0]; rank >= end && node + 1 < life.nodes.size();) end += life.nodes[++node];
  return node;
}

// MPICH's mpirun waits for ever when that of a host is killed, and so do the ranks: nothing tells them.
bool is_proxy(pid_t process) {
  return contents_of("/proc/" + std::to_string(process) + "/comm").starts_with("hydra_pmi_proxy");
}

}  // namespace

Strike strike_of(const Fault& fault, const Life& life) {
  switch (fault.kind) {
    case Kind::message_kills:
    case Kind::store_full: return Strike::kill_one;
    case Kind::operation_kills: return pick_of(fault) % 3 == 0 ? Strike::kill_node : Strike::kill_one;
    case Kind::read_kills:
      return life.outside.supervised && pick_of(fault) % 2 == 0 ? Strike::kill_supervisor : Strike::kill_launcher;
    case Kind::slow: return Strike::stop_one;
    case Kind::wiped: return Strike::wipe;
    case Kind::robbed: return Strike::remove;
    case Kind::store_gone: return fault.host ? Strike::wipe : Strike::take_away;
    case Kind::operations:
    case Kind::operation_once:
    case Kind::stuck: return Strike::remove;
    case Kind::read_once:
    case Kind::reads:
    case Kind::flipped_reads: return Strike::flip;
  }
  return Strike::none;
}

Faults effect_of(Strike strike) {
  if (strike == Strike::none || strike == Strike::stop_one) return Faults::none;
  return is_kill(strike) ? Faults::of_calls : Faults::of_stores;
}

Striker::Striker(const Life& life, const Places& places, Tally& tally)
    : life_(life), places_(places), tally_(tally), to_come_(life.faults) {}

void Striker::look(const std::vector<Launch*>& launches, std::size_t beginnings) {
  go_on();
  const Moment now = std::chrono::steady_clock::now();
  while (begun_.size() < beginnings) begun_.push_back(now);
  std::erase_if(to_come_, [&](const Fault& fault) {
    const std::size_t which = beginning_of(fault, life_);
    if (launches.empty() || which >= begun_.size() || now - begun_[which] < delay_of(fault)) return false;
    strike(*launches[pick_of(fault) % launches.size()], fault);
    return true;
  });
}

void Striker::strike(Launch& launch, const Fault& fault) {
  const Strike what = strike_of(fault, life_);
  const std::uint64_t pick = pick_of(fault);
  const std::vector<pid_t> ranks = launch.ranks();
  std::vector<pid_t> launchers = life_.outside.supervised ? launch.started() : std::vector{launch.launcher()};
  std::erase_if(launchers,
                [&](pid_t process) { return std::ranges::find(ranks, process) != ranks.end() || is_proxy(process); });
  const Moment at = std::chrono::steady_clock::now();
  if (what == Strike::kill_supervisor) end(launch.launcher(), tally_.supervisors);
  if (what == Strike::kill_launcher && !launchers.empty()) end(launchers[pick % launchers.size()], tally_.launchers);
  if (what == Strike::kill_one && !ranks.empty()) end(ranks[pick % ranks.size()], tally_.ranks);
  if (what == Strike::kill_node && !ranks.empty()) kill_node_of(launch, ranks[pick % ranks.size()]);
  if (what == Strike::stop_one && !ranks.empty()) stop(ranks[pick % ranks.size()]);
  if (effect_of(what) == Faults::of_stores) return hurt(fault, what);
  struck_.push_back({at, what});
}

void Striker::kill_node_of(const Launch& launch, pid_t victim) {
  const auto rank = world_rank_of(victim);
  if (!rank) return;
  for (const pid_t process : launch.ranks()) {
    const auto other = world_rank_of(process);
    if (other && node_of_world(life_, *other) == node_of_world(life_, *rank)) end(process, tally_.ranks);
  }
}

void Striker::end(pid_t process, std::atomic<std::uint64_t>& count) {
  if (kill(process, SIGKILL) == 0) ++count;
}

void Striker::stop(pid_t process) {
  if (kill(process, SIGSTOP) != 0) return;
  ++tally_.stopped;
  if (mends(life_)) return stopped_.push_back({std::chrono::steady_clock::now(), process});
  std::this_thread::sleep_for(kAWhile);
  kill(process, SIGCONT);
}

// [recovery] hang_timeout has ended those whose job has missed them. Whom nobody misses any more, since the others are
// through, goes on.
void Striker::go_on() {
  std::erase_if(stopped_, [](const Stopped& stopped) {
    const bool is_due = std::chrono::steady_clock::now() - stopped.at > kLongWhile;
    if (is_due) kill(stopped.process, SIGCONT);
    return is_due;
  });
}

void Striker::hurt(const Fault& fault, Strike what) {
  Struck struck{std::chrono::steady_clock::now(), what, fault.host};
  if (what == Strike::wipe && places_.wipe(life_, fault.host)) {
    struck.lost = true;
    ++tally_.wiped;
  }
  if (what == Strike::take_away) {
    places_.take_global_away();
    std::this_thread::sleep_for(kAWhile);
    places_.bring_global_back();
    struck.lost = true;  // what was written meanwhile, records too
    ++tally_.away;
  }
  if (what == Strike::flip || what == Strike::remove) {
    const std::string file = places_.damage(life_, fault.host, pick_of(fault), what == Strike::remove);
    struck.mark = file == "chain.json";
    const bool is_record = !file.empty() && file.find('/') == std::string::npos;
    struck.lost = is_record && what == Strike::remove;  // of a life that is unknown then
    if (!file.empty()) ++tally_.damaged;
  }
  struck_.push_back(struck);
}

}  // namespace cairn::torture
