// The world of a SickCluster: nodes, their Localizers, and the network between them. See sick_cluster.hpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <vector>

#include "localize/localizer.hpp"
#include "support/sick_cluster.hpp"
#include "support/sick_node.hpp"

namespace cairn::test {

class SickWorld {
 public:
  using Time = localize::Time;
  using Announce = std::function<void(const localize::Verdict&, Time)>;

  SickWorld(const SickCase& what, Announce announce);
  ~SickWorld();
  SickWorld(const SickWorld&) = delete;
  SickWorld& operator=(const SickWorld&) = delete;

  // Lets 50 ms pass.
  void step();
  // Makes it happen now.
  void begin(const Sickness& sickness);

  [[nodiscard]] Time now() const { return now_; }
  [[nodiscard]] const localize::Tree& tree() const { return tree_; }
  [[nodiscard]] SimNode& node(NodeId id) { return nodes_[id.value]; }
  [[nodiscard]] bool cut_off(NodeId id) const { return id.value - cut_begin_ < cut_size_; }
  [[nodiscard]] localize::Localizer& localizer(NodeId id);
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::size_t most_kept() const { return most_kept_; }
  [[nodiscard]] Dice& dice() { return dice_; }

 private:
  class Head;  // the port and the host of one Localizer
  struct Flight {
    Time arrives{};
    std::uint64_t order = 0;
    NodeId to;
    localize::Message message;
    friend bool operator>(const Flight& a, const Flight& b) {
      return a.arrives != b.arrives ? a.arrives > b.arrives : a.order > b.order;
    }
  };
  struct Block {  // a rank that others wait for
    Rank rank;
    Time since{};
  };

  void send(NodeId from, NodeId to, const localize::Message& message);
  void fly(NodeId to, const localize::Message& message, Time takes);
  void deliver();
  [[nodiscard]] bool linked(NodeId a, NodeId b) const { return cut_off(a) == cut_off(b); }

  // What nodes observe, every 250 ms.
  void observe();
  void beat(SimNode& node, NodeId id);
  void pass_by_itself(SimNode& node);
  void watch(SimNode& node, NodeId id);
  void fetch(SimNode& node, NodeId id);
  void fetch_from(SimNode& node, NodeId id, SimNode::Peer& peer);
  void compare_rates(SimNode& node, NodeId id);
  void look_at_itself(SimNode& node, NodeId id);
  void look_at_ranks(SimNode& node, NodeId id);
  void look_at_waits();
  void look_at_deaths();
  // How many ranks wait for this one, if it stands still since then.
  [[nodiscard]] std::uint32_t waiting_for(Time since) const;
  void report(NodeId reporter, const localize::Detected& symptom);
  [[nodiscard]] localize::About about(NodeId reporter, NodeId suspect, std::optional<Rank> rank = std::nullopt) const;
  // What the calls of the ranks show whose nodes have answered.
  [[nodiscard]] std::vector<localize::Blocker> blockers(const localize::CallReports& reports) const;
  [[nodiscard]] double rate_between(const SimNode& reader, const SimNode& sender);
  [[nodiscard]] SimRank& rank(Rank rank) {
    return nodes_[rank.value / kRanksPerNode].ranks[rank.value % kRanksPerNode];
  }

  SickCase case_;
  Announce announce_;
  Dice dice_;
  localize::Tree tree_;
  std::shared_ptr<const localize::RuleSet> rules_ = localize::RuleBook().rules();
  localize::DetectorLimits limits_;
  std::vector<SimNode> nodes_;
  std::vector<std::unique_ptr<Head>> heads_;
  std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights_;
  std::vector<std::vector<std::uint32_t>> watchers_;  // by node, who expects its heartbeats
  std::vector<Block> blocks_;
  std::vector<std::pair<NodeId, NodeId>> bad_paths_;  // from, to
  std::uint32_t cut_begin_ = 0;
  std::uint32_t cut_size_ = 0;
  Time now_{};
  Time next_observation_{};
  std::uint64_t messages_ = 0;
  std::size_t most_kept_ = 0;
};

}  // namespace cairn::test
