// What the nodes of a SickWorld observe. Detectors make symptoms of it.
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "support/sick_world.hpp"

namespace cairn::test {
namespace {

using localize::Time;

constexpr double kTickSeconds = 0.25;
constexpr double kTicksPerHour = 3600 / kTickSeconds;
constexpr double kTicksPerDay = 24 * kTicksPerHour;
constexpr Time kReportEvery = std::chrono::seconds(1);    // the same symptom
constexpr Time kSpread = std::chrono::milliseconds(200);  // until the next rank waits, too
constexpr std::uint32_t kBlocks = 64;                     // of a transfer

Time seconds_of(double value) { return Time(static_cast<std::int64_t>(value * 1e6)); }

}  // namespace

localize::About SickWorld::about(NodeId reporter, NodeId suspect, std::optional<Rank> rank) const {
  return {{suspect, rank}, reporter, now_};
}

void SickWorld::report(NodeId reporter, const localize::Detected& symptom) {
  if (!symptom || !nodes_[reporter.value].alive) return;
  SimNode& node = nodes_[reporter.value];
  const auto [last, first] = node.reported.try_emplace({symptom->kind, symptom->suspect}, now_);
  if (!first && now_ - last->second < kReportEvery) return;
  last->second = now_;
  Symptom stamped = *symptom;
  stamped.time = node.clock(now_);
  localizer(reporter).report(stamped);
}

void SickWorld::observe() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) pass_by_itself(nodes_[i]);
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) beat(nodes_[i], NodeId{i});
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    SimNode& node = nodes_[i];
    if (!node.alive || now_ < node.pause.until) continue;
    watch(node, NodeId{i});
    fetch(node, NodeId{i});
    look_at_itself(node, NodeId{i});
    look_at_ranks(node, NodeId{i});
  }
  look_at_waits();
}

// What happens to healthy nodes now and then.
void SickWorld::pass_by_itself(SimNode& node) {
  const double event = dice_.uniform() * kTicksPerHour;
  const auto spell = [&](double shortest, double longest, double amount) {
    return Spell{now_ + seconds_of(dice_.uniform(shortest, longest)), amount};
  };
  if (event < 1)
    node.pause = spell(0.2, 1.2, 1);
  else if (event < 3)
    node.load_for_a_while = spell(5, 60, dice_.uniform(4, 8));
  else if (event < 4)
    node.stolen_for_a_while = spell(0.5, 2, dice_.uniform(0.3, 0.5));
  else if (event < 5)
    node.memory_for_a_while = spell(0.5, 2, dice_.uniform(0.3, 0.5));
  else if (event < 7)
    node.slow_for_a_while = spell(1, 3, 1);
  else if (event < 7.5)
    node.ranks[dice_.below(kRanksPerNode)].pause = spell(1, 2.6, std::chrono::duration<double>(now_).count());
}

void SickWorld::beat(SimNode& node, NodeId id) {
  if (!node.alive || now_ < node.next_beat || now_ < node.pause.until) return;
  const double queue = node.queue;
  node.next_beat = now_ + seconds_of(kTickSeconds + queue * dice_.uniform(0, 4)) - Time(1);
  for (const std::uint32_t watcher : watchers_[id.value]) {
    if (!linked(id, NodeId{watcher}) || dice_.chance(0.001)) continue;
    for (SimNode::Peer& peer : nodes_[watcher].watched) {
      if (peer.node == id) peer.last_heard = now_;
    }
  }
}

void SickWorld::watch(SimNode& node, NodeId id) {
  for (const SimNode::Peer& peer : node.watched) {
    report(id, localize::detect_heartbeat(about(id, peer.node), peer.last_heard, limits_));
  }
}

double SickWorld::rate_between(const SimNode& reader, const SimNode& sender) {
  double rate = std::min(reader.link_at(now_), sender.link_at(now_));
  for (const SimNode* node : {&reader, &sender}) {
    rate *= (1 - 0.6 * node->stolen_at(now_)) * (1 - 0.8 * node->memory_at(now_)) / (1 + 6 * node->queue);
  }
  return rate * 1e9 * dice_.factor(0.1);
}

void SickWorld::fetch(SimNode& node, NodeId id) {
  for (int i = 0; i < 4; ++i) {
    SimNode::Peer& peer = node.peers[node.next_peer++ % kPeers];
    if (peer.node != id) fetch_from(node, id, peer);
  }
  for (const SimNode::Peer& peer : node.peers) {
    if (peer.asked) report(id, localize::detect_response(about(id, peer.node), *peer.asked, limits_));
  }
  compare_rates(node, id);
}

void SickWorld::fetch_from(SimNode& node, NodeId id, SimNode::Peer& peer) {
  SimNode& sender = nodes_[peer.node.value];
  if (!sender.alive || !linked(id, peer.node)) {
    if (!peer.asked) peer.asked = now_;
    return;
  }
  peer.asked.reset();
  const double rate = rate_between(node, sender);
  peer.rate = 0.9 * peer.rate + 0.1 * rate;
  const bool bad_path = std::ranges::find(bad_paths_, std::pair(peer.node, id)) != bad_paths_.end();
  const double wrong = std::max({bad_path ? 0.5 : 0.0, sender.flip_rate, 1 / (8 * kTicksPerDay)});
  auto sent = std::ranges::find(sender.sent, id, &SimNode::Sent::to);
  if (sent == sender.sent.end()) sent = sender.sent.insert(sent, SimNode::Sent{id, 0, 0});
  auto& [to, messages, refused] = *sent;
  ++messages;
  // The sender reads again what was refused.
  if (dice_.chance(sender.damage_rate)) {
    ++sender.damaged_files;
    for (const NodeId reporter : {id, peer.node})
      report(reporter, localize::detect_crc(about(reporter, peer.node), kBlocks, 1 + dice_.below(3)));
  } else if (dice_.chance(wrong)) {
    ++refused;
    report(id, localize::detect_crc(about(id, peer.node), kBlocks, 1 + dice_.below(3)));
  }
  // The log holds recent messages only.
  if (messages > 32) messages /= 2, refused /= 2;
  const double errors = std::max({sender.card_error_rate, 1 / (8 * kTicksPerDay)});
  if (dice_.chance(errors))
    report(id, localize::detect_mpi_error(about(id, peer.node), localize::MpiErrorClass::other));
}

void SickWorld::compare_rates(SimNode& node, NodeId id) {
  std::array<double, kPeers> rates{};
  for (std::size_t i = 0; i < kPeers; ++i) {
    rates[i] = node.peers[i].rate;
    if (rates[i] == 0) return;
  }
  for (const auto& outlier : localize::far_below(rates, limits_)) {
    report(id, localize::detect_low_bandwidth(about(id, node.peers[outlier.place].node), outlier));
  }
}

void SickWorld::look_at_itself(SimNode& node, NodeId id) {
  const auto smooth = [](double& measured, double value) { measured = 0.95 * measured + 0.05 * value; };
  smooth(node.measured_stolen, std::clamp(node.stolen_at(now_) * dice_.factor(0.1) + dice_.uniform(0, 0.03), 0.0, 1.0));
  smooth(node.measured_memory, std::clamp(node.memory_at(now_) * dice_.factor(0.1) + dice_.uniform(0, 0.02), 0.0, 1.0));
  smooth(node.measured_load,
         std::max(node.load_for_a_while.at(now_), 1 + 3 * node.memory_at(now_)) * dice_.factor(0.1));
  report(id, localize::detect_stolen(about(id, id), node.measured_stolen, limits_));
  report(id, localize::detect_memory(about(id, id), node.measured_memory, limits_));
  report(id, localize::detect_load(about(id, id), node.measured_load, limits_));
  report(id, localize::detect_store_use(about(id, id), node.store_used, limits_));
  const std::uint32_t tried = 4;
  std::uint32_t failed = 0;
  for (std::uint32_t i = 0; i < tried; ++i)
    failed += dice_.chance(std::max(node.store_error_rate, 0.25 / kTicksPerDay)) ? 1 : 0;
  node.operations += tried;
  node.failed_operations += failed;
  if (node.operations > 100) node.operations /= 2, node.failed_operations /= 2;
  report(id, localize::detect_store_errors(about(id, id), tried, failed));
}

void SickWorld::look_at_ranks(SimNode& node, NodeId id) {
  std::array<double, kRanksPerNode> steps{};
  for (std::size_t i = 0; i < kRanksPerNode; ++i) {
    SimRank& one = node.ranks[i];
    const double slow = one.slow / ((1 - 0.8 * node.stolen_at(now_)) * (1 - 0.8 * node.memory_at(now_)));
    if (!one.stuck && one.alive) one.step = 0.7 * one.step + 0.3 * 0.15 * slow * dice_.factor(0.05);
    steps[i] = one.step;
  }
  for (const auto& outlier : localize::far_above(steps, limits_)) {
    const Rank rank{id.value * kRanksPerNode + static_cast<std::uint32_t>(outlier.place)};
    report(id, localize::detect_slow_rank(about(id, id, rank), outlier));
  }
}

// Halo exchange in a ring: the neighbours of a rank that does not go on wait for it, and then theirs for them.
void SickWorld::look_at_waits() {
  const auto ranks = static_cast<std::uint32_t>(nodes_.size()) * kRanksPerNode;
  const auto spread = [&](Rank source, Time since) {
    for (const std::uint32_t step : {1U, ranks - 1}) {
      std::uint32_t waited_for = source.value;
      Time from = since + kSpread;
      for (std::uint32_t k = 0; k < ranks / 2 && from + limits_.waited <= now_; ++k, from += kSpread) {
        const std::uint32_t waiter = (waited_for + step) % ranks;
        const NodeId reporter{waiter / kRanksPerNode};
        const SimRank& one = rank(Rank{waiter});
        if (!one.alive || one.stuck || now_ < nodes_[reporter.value].pause.until) break;
        report(reporter, localize::detect_wait(about(reporter, NodeId{waited_for / kRanksPerNode}, Rank{waited_for}),
                                               from, limits_));
        waited_for = waiter;
      }
    }
  };
  for (const Block& block : blocks_) {
    spread(block.rank, block.since);
    const SimRank& one = rank(block.rank);
    if (one.alive || !nodes_[block.rank.value / kRanksPerNode].alive) continue;
    for (const std::uint32_t step : {1U, ranks - 1}) {
      const NodeId reporter{(block.rank.value + step) % ranks / kRanksPerNode};
      const auto suspect = about(reporter, NodeId{block.rank.value / kRanksPerNode}, block.rank);
      report(reporter, localize::detect_mpi_error(suspect, localize::MpiErrorClass::process_failed));
    }
  }
  for (std::uint32_t i = 0; i < ranks; ++i) {
    const Spell& pause = rank(Rank{i}).pause;
    if (now_ < pause.until && blocks_.empty()) {
      spread(Rank{i}, seconds_of(pause.amount));
    }
  }
}

std::optional<SickWorld::Block> SickWorld::wait_of(Rank waiter) const {
  const auto ranks = static_cast<std::uint32_t>(nodes_.size()) * kRanksPerNode;
  for (const Block& block : blocks_) {
    if (block.rank == waiter) continue;
    const std::uint32_t there = (waiter.value + ranks - block.rank.value) % ranks;
    const std::uint32_t steps = std::min(there, ranks - there);
    if (block.since + kSpread * steps <= now_) return block;
  }
  return std::nullopt;
}

}  // namespace cairn::test
