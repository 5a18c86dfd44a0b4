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
constexpr Time kResponseLimit = std::chrono::milliseconds(1500);
constexpr Time kWaited = std::chrono::seconds(3);  // longer than healthy ranks pause; then heads ask for all calls
constexpr double kHeldLimit = 0.25;                // as engine/process_watch
constexpr double kSecondsOf16Looks = 16;

Symptom symptom(const localize::About& about, SymptomKind kind, double measure = 1) {
  return {kind, about.suspect, about.reporter, about.now, measure};
}

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
  else if (event >= 3 && event < 4)
    node.stolen_for_a_while = spell(0.5, 2, dice_.uniform(0.3, 0.5));
  else if (event >= 4 && event < 5)
    node.memory_for_a_while = spell(0.5, 2, dice_.uniform(0.3, 0.5));
  else if (event >= 5 && event < 7)
    node.slow_for_a_while = spell(1, 3, 1);
  else if (event >= 7 && event < 7.5)
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
    if (peer.asked && now_ - *peer.asked >= kResponseLimit)
      report(id, symptom(about(id, peer.node), SymptomKind::no_response));
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
      report(reporter, symptom(about(reporter, peer.node), SymptomKind::crc_mismatch));
  } else if (dice_.chance(wrong)) {
    ++refused;
    report(id, symptom(about(id, peer.node), SymptomKind::crc_mismatch));
  }
  // The log holds recent messages only.
  if (messages > 32) messages /= 2, refused /= 2;
}

void SickWorld::compare_rates(SimNode& node, NodeId id) {
  std::array<double, kPeers> rates{};
  for (std::size_t i = 0; i < kPeers; ++i) {
    rates[i] = node.peers[i].rate;
    if (rates[i] == 0) return;
  }
  for (const auto& outlier : localize::far_below(rates, limits_)) {
    report(id, symptom(about(id, node.peers[outlier.place].node), SymptomKind::low_bandwidth, outlier.share));
  }
}

void SickWorld::look_at_itself(SimNode& node, NodeId id) {
  const auto smooth = [](double& measured, double value) { measured = 0.95 * measured + 0.05 * value; };
  smooth(node.measured_stolen, std::clamp(node.stolen_at(now_) * dice_.factor(0.1) + dice_.uniform(0, 0.03), 0.0, 1.0));
  smooth(node.measured_memory, std::clamp(node.memory_at(now_) * dice_.factor(0.1) + dice_.uniform(0, 0.02), 0.0, 1.0));
  smooth(node.measured_card_errors, node.card_error_rate * dice_.factor(0.1));
  report(id, localize::detect_stolen(about(id, id), node.measured_stolen, limits_));
  report(id, localize::detect_memory(about(id, id), node.measured_memory, limits_));
  report(id, localize::detect_network_errors(about(id, id), node.measured_card_errors, limits_));
  const std::uint32_t tried = 4;
  std::uint32_t failed = 0;
  std::uint32_t refused = 0;
  for (std::uint32_t i = 0; i < tried; ++i) {
    failed += dice_.chance(std::max(node.store_error_rate, 0.25 / kTicksPerDay)) ? 1 : 0;
    refused += dice_.chance(node.refusal_rate) ? 1 : 0;
  }
  node.operations += tried;
  node.failed_operations += failed;
  node.refused_operations += refused;
  if (node.operations > 100) node.operations /= 2, node.failed_operations /= 2;
  if (failed > 0) report(id, symptom(about(id, id), SymptomKind::store_error, static_cast<double>(failed) / tried));
  if (refused > 0) report(id, symptom(about(id, id), SymptomKind::store_full));
}

void SickWorld::look_at_ranks(SimNode& node, NodeId id) {
  for (std::uint32_t i = 0; i < kRanksPerNode; ++i) {
    SimRank& one = node.ranks[i];
    const double held = one.alive && !one.stuck ? one.held * dice_.factor(0.1) : 0;
    one.measured_held += (held - one.measured_held) * kTickSeconds / kSecondsOf16Looks * 2;
    if (one.measured_held < kHeldLimit) continue;
    const Rank rank{id.value * kRanksPerNode + i};
    report(id, symptom(about(id, id, rank), SymptomKind::slow_rank, 1 / (1 - std::min(one.measured_held, 0.9))));
  }
}

// Halo exchange in a ring: the neighbours of a rank that does not go on wait for it, and then theirs for them.
std::uint32_t SickWorld::waiting_for(Time since) const {
  const auto ranks = static_cast<std::uint32_t>(nodes_.size()) * kRanksPerNode;
  const auto steps = static_cast<std::uint32_t>(std::max(now_ - since, Time{}) / kSpread);
  return std::min(2 * steps, ranks - 1);
}

// The heads of ranks that have waited for long ask for the calls of all ranks.
void SickWorld::look_at_waits() {
  const auto ranks = static_cast<std::uint32_t>(nodes_.size()) * kRanksPerNode;
  const auto ask_around = [&](Rank source, Time since) {
    const std::uint32_t waiters = waiting_for(since + kWaited);
    for (std::uint32_t i = 0; i < waiters; ++i) {
      const std::uint32_t step = i / 2 + 1;
      const std::uint32_t waiter = (source.value + (i % 2 == 0 ? step : ranks - step)) % ranks;
      const SimNode& node = nodes_[waiter / kRanksPerNode];
      if (!node.alive || now_ < node.pause.until || !rank(Rank{waiter}).alive) continue;
      localizer(NodeId{waiter / kRanksPerNode}).ask_for_calls();
    }
  };
  for (const Block& block : blocks_) ask_around(block.rank, block.since);
  for (std::uint32_t i = 0; i < ranks && blocks_.empty(); ++i) {
    const Spell& pause = rank(Rank{i}).pause;
    if (now_ < pause.until) ask_around(Rank{i}, seconds_of(pause.amount));
  }
  look_at_deaths();
}

// A head no longer finds the process of a rank.
void SickWorld::look_at_deaths() {
  for (const Block& block : blocks_) {
    const NodeId node{block.rank.value / kRanksPerNode};
    if (!rank(block.rank).alive && nodes_[node.value].alive)
      report(node, symptom(about(node, node, block.rank), SymptomKind::process_failed));
  }
}

std::vector<localize::Blocker> SickWorld::blockers(const localize::CallReports& reports) const {
  std::vector<localize::Blocker> found;
  const auto add = [&](Rank rank, Time since) {
    const NodeId node{rank.value / kRanksPerNode};
    if (!reports.calls.contains(node) || now_ - since < kWaited) return;
    localize::Blocker blocker{.suspect = {node, rank}};
    blocker.waiting = waiting_for(since);
    blocker.waited = std::chrono::duration<double>(now_ - since).count();
    found.push_back(blocker);
  };
  for (std::uint32_t i = 0; i < nodes_.size() * kRanksPerNode; ++i) {
    const SimRank& one = nodes_[i / kRanksPerNode].ranks[i % kRanksPerNode];
    if (!one.alive) continue;
    if (one.stuck) add(Rank{i}, *one.stuck);
    if (now_ < one.pause.until && blocks_.empty()) add(Rank{i}, seconds_of(one.pause.amount));
  }
  return found;
}

}  // namespace cairn::test
