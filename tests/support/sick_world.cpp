#include "support/sick_world.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

namespace cairn::test {
namespace {

using localize::EvidenceNote;
using localize::Message;
using localize::Time;
using std::chrono::milliseconds;

constexpr Time kStep = milliseconds(50);
constexpr Time kObserveEvery = milliseconds(250);
constexpr double kNaturalLoss = 0.001;
constexpr double kBandwidth = 1e9;

std::vector<NodeId> first_nodes(std::uint32_t count) {
  std::vector<NodeId> nodes(count);
  for (std::uint32_t i = 0; i < count; ++i) nodes[i].value = i;
  return nodes;
}

// Runs that differ in anything have nothing else in common.
std::uint64_t seed_of(const SickCase& what) {
  const std::uint64_t ailment = what.ailment ? 1 + static_cast<std::uint64_t>(*what.ailment) : 0;
  return ((what.seed * 8192 + what.nodes) * 32 + ailment) * 8 + static_cast<std::uint64_t>(what.trouble);
}

// Heads ask for the MPI calls of ranks, and only as much later as a simulated turn takes.
SickCase with_calls(SickCase what) {
  what.settings.asks_for_calls = true;
  what.settings.survey_again = std::chrono::seconds(2);
  what.settings.survey_stagger = std::chrono::milliseconds(1);
  return what;
}

Time seconds(double value) { return Time(static_cast<std::int64_t>(value * 1e6)); }

}  // namespace

class SickWorld::Head : public localize::Port, public localize::Host {
 public:
  Head(SickWorld& world, NodeId self, const localize::Settings& settings)
      : world_(world),
        self_(self),
        localizer(
            self, world.tree_, settings, world.rules_, [this] { return node().clock(world_.now_); }, *this, *this) {}

  void send(NodeId to, const Message& message) override { world_.send(self_, to, message); }
  void announce(const localize::Verdict& verdict) override { world_.announce_(verdict, world_.now_); }

  [[nodiscard]] localize::RankProcess process(Rank rank) const override { return {world_.rank(rank).alive, false}; }
  [[nodiscard]] localize::NodeState state() const override {
    localize::NodeState state;
    std::vector<double> rates;
    for (const SimNode::Peer& peer : node().peers) {
      if (peer.rate > 0) rates.push_back(peer.rate);
    }
    state.bandwidth = localize::median_of(rates);
    state.stolen = node().measured_stolen;
    state.memory = node().measured_memory;
    if (node().operations > 0) state.store_errors = static_cast<double>(node().failed_operations) / node().operations;
    state.store_failed = node().failed_operations;
    state.store_refused = node().refused_operations;
    state.store_damaged = node().damaged_files;
    state.network_errors = node().measured_card_errors;
    state.queue = node().queue_at(world_.now_);
    return state;
  }
  [[nodiscard]] localize::NodeLog log(std::optional<Rank> rank) const override {
    localize::NodeLog log;
    std::uint32_t messages = 0;
    std::uint32_t wrong = 0;
    for (const SimNode::Sent& sent : node().sent) {
      if (sent.wrong == 0) continue;
      ++log.bad_peers;
      messages += sent.messages;
      wrong += sent.wrong;
    }
    if (messages > 0) log.bad_share = static_cast<double>(wrong) / messages;
    if (rank) log.pace = localize::RankPace{world_.rank(*rank).measured_held, 0};
    return log;
  }
  // Who reads it looks at the world.
  [[nodiscard]] Buffer calls() const override { return Buffer(1); }
  [[nodiscard]] std::vector<localize::Blocker> blockers(const localize::CallReports& reports) const override {
    return world_.blockers(reports);
  }

 private:
  [[nodiscard]] SimNode& node() const { return world_.nodes_[self_.value]; }
  SickWorld& world_;
  NodeId self_;

 public:
  localize::Localizer localizer;
};

SickWorld::~SickWorld() = default;

SickWorld::SickWorld(const SickCase& what, Announce announce)
    : case_(with_calls(what)),
      announce_(std::move(announce)),
      dice_(seed_of(what)),
      tree_(first_nodes(what.nodes), what.settings.fanout),
      nodes_(what.nodes),
      watchers_(what.nodes) {
  const std::uint32_t count = what.nodes;
  const std::uint32_t steps[kPeers] = {1, count - 1, 2, count - 2, 3, count - 3, count / 2, count / 3};
  for (std::uint32_t i = 0; i < count; ++i) {
    SimNode& node = nodes_[i];
    node.clock_offset = dice_.uniform(0, 1e5);
    node.clock_rate = 1 + dice_.uniform(-5e-5, 5e-5);
    node.next_beat = seconds(dice_.uniform(0, 0.25));
    for (std::size_t k = 0; k < kPeers; ++k) {
      node.peers[k].node.value = (i + steps[k]) % count;
      node.peers[k].rate = kBandwidth * dice_.factor(0.05);
    }
    const auto watch = [&](NodeId peer) {
      node.watched.emplace_back().node = peer;
      watchers_[peer.value].push_back(i);
    };
    for (const std::uint32_t step : {1U, count - 1, 2U, count - 2}) watch(NodeId{(i + step) % count});
    if (const auto parent = tree_.parent(NodeId{i})) watch(*parent);
    heads_.push_back(std::make_unique<Head>(*this, NodeId{i}, case_.settings));
  }
}

localize::Localizer& SickWorld::localizer(NodeId id) { return heads_[id.value]->localizer; }

void SickWorld::send(NodeId from, NodeId to, const Message& message) {
  ++messages_;
  if (!nodes_[from.value].alive || !linked(from, to)) return;
  const bool lossy = case_.trouble == Trouble::lossy;
  const bool symptoms = std::holds_alternative<EvidenceNote>(message.body);
  double loss = lossy ? (symptoms ? 0.2 : 0.05) : kNaturalLoss;
  if (std::min(nodes_[from.value].link, nodes_[to.value].link) < 1) loss += 0.02;
  const std::uint32_t copies = lossy && dice_.chance(0.1) ? 2 : 1;
  for (std::uint32_t copy = 0; copy < copies; ++copy) {
    if (dice_.chance(loss)) continue;
    double takes = dice_.uniform(0.0001, 0.002);
    if (lossy) takes += dice_.uniform(0, 0.05);
    if (lossy && symptoms && dice_.chance(0.3)) takes += dice_.uniform(0, 1);
    fly(to, message, seconds(takes));
  }
}

void SickWorld::fly(NodeId to, const Message& message, Time takes) {
  const SimNode& node = nodes_[to.value];
  const Time paused = std::max(node.pause.until - now_, Time{});
  const Time queue = paused + seconds(node.queue * dice_.uniform(0.5, 1.2));
  flights_.push({now_ + takes + queue, messages_, to, message});
}

void SickWorld::deliver() {
  while (!flights_.empty() && flights_.top().arrives <= now_) {
    const Flight flight = flights_.top();
    flights_.pop();
    if (nodes_[flight.to.value].alive && linked(flight.message.from, flight.to)) {
      heads_[flight.to.value]->localizer.receive(flight.message);
    }
  }
}

void SickWorld::step() {
  // Messages arrive between turns, so that an answer is not late by the length of a step.
  const Time end = now_ + kStep;
  while (!flights_.empty() && flights_.top().arrives < end) {
    now_ = std::max(now_, flights_.top().arrives);
    deliver();
  }
  now_ = end;
  if (now_ >= next_observation_) {
    next_observation_ = now_ + kObserveEvery;
    observe();
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto& localizer = heads_[i]->localizer;
    if (!nodes_[i].alive || localizer.idle() || now_ < nodes_[i].pause.until) continue;
    localizer.turn();
    most_kept_ = std::max(most_kept_, localizer.size());
  }
}

void SickWorld::begin(const Sickness& sickness) {
  SimNode& node = nodes_[sickness.node.value];
  switch (sickness.ailment) {
    case Ailment::process_dead:
      rank(sickness.rank).alive = false;
      blocks_.push_back({sickness.rank, now_});
      break;
    case Ailment::rank_stuck:
      rank(sickness.rank).stuck = now_;
      blocks_.push_back({sickness.rank, now_});
      break;
    case Ailment::rank_slow: rank(sickness.rank).held = dice_.uniform(0.4, 0.8); break;
    case Ailment::node_down:
      node.alive = false;
      for (std::uint32_t i = 0; i < kRanksPerNode; ++i) {
        node.ranks[i].alive = false;
        blocks_.push_back({Rank{sickness.node.value * kRanksPerNode + i}, now_});
      }
      break;
    case Ailment::node_stolen:
      node.stolen = dice_.uniform(0.4, 0.8);
      node.queue = 0.05;
      break;
    case Ailment::node_swapping:
      node.memory = dice_.uniform(0.4, 0.9);
      node.queue = 0.15;
      break;
    case Ailment::store_failing: node.store_error_rate = dice_.uniform(0.05, 0.5); break;
    case Ailment::store_full: node.refusal_rate = dice_.uniform(0.05, 0.5); break;
    case Ailment::link_degraded: node.link = dice_.uniform(0.05, 0.3); break;
    case Ailment::partition:
      cut_begin_ = sickness.node.value;
      cut_size_ = sickness.cut_off;
      break;
    case Ailment::path_corrupts: bad_paths_.emplace_back(sickness.node, sickness.other); break;
    case Ailment::head_overloaded: node.queue = dice_.uniform(0.3, 0.45); break;
    case Ailment::memory_flips: node.flip_rate = 0.4; break;
    case Ailment::store_corrupts: node.damage_rate = 0.4; break;
    case Ailment::card_errors: node.card_error_rate = dice_.uniform(0.003, 0.03); break;
  }
}

}  // namespace cairn::test
