// Several Localizers with a network between them that does what a test says: who gets the symptoms, what happens when
// that changes, and how a verdict comes and goes.
#include "localize/localizer.hpp"

#include <deque>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cairn::localize {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Network {
 public:
  struct Head : Port, Host {
    Head(Network& network, NodeId id) : network(network), id(id) {}
    void send(NodeId to, const Message& message) override { network.flights.emplace_back(to, message); }
    void announce(const Verdict& verdict) override { announced.push_back(verdict); }
    void renew(const Verdict& verdict) override { renewed.push_back(verdict); }
    [[nodiscard]] RankProcess process(Rank /*rank*/) const override { return rank_process; }
    [[nodiscard]] NodeState state() const override { return node_state; }
    [[nodiscard]] NodeLog log(std::optional<Rank> /*rank*/) const override { return node_log; }
    // A node whose own number is the report of its ranks' calls.
    [[nodiscard]] Buffer calls() const override { return Buffer(1, static_cast<std::byte>(id.value)); }
    [[nodiscard]] std::vector<Blocker> blockers(const CallReports& reports) const override {
      ++network.surveys;
      network.reports = reports;
      std::vector<Blocker> found;
      if (network.blocker && reports.calls.contains(network.blocker->suspect.node)) found = {*network.blocker};
      for (Blocker& blocker : found) blocker.silent = reports.silent;
      return found;
    }

    Network& network;
    NodeId id;
    NodeState node_state{1e9, 1, 0, 0, 0, 0};
    NodeLog node_log;
    RankProcess rank_process;
    std::vector<Verdict> announced, renewed;
    std::unique_ptr<Localizer> localizer;
  };

  explicit Network(std::uint32_t count, std::uint32_t fanout = 2) {
    std::vector<NodeId> nodes;
    for (std::uint32_t i = 0; i < count; ++i) nodes.push_back(NodeId{i});
    for (const NodeId node : nodes) {
      heads.push_back(std::make_unique<Head>(*this, node));
      Head& head = *heads.back();
      head.localizer = std::make_unique<Localizer>(
          node, Tree(nodes, fanout), settings, rules, [this] { return now; }, head, head);
    }
  }

  // What is under way now, but not the answers to it.
  void deliver() {
    for (std::size_t left = flights.size(); left > 0; --left) {
      const auto [to, message] = flights.front();
      flights.pop_front();
      if (!dead.contains(to) && !dead.contains(message.from)) heads[to.value]->localizer->receive(message);
    }
  }
  void run(Time time) {
    for (const Time end = now + time; now < end; now += milliseconds(50)) {
      deliver();
      deliver();
      for (const auto& head : heads) {
        if (!dead.contains(head->id)) head->localizer->turn();
      }
    }
  }
  void report(std::uint32_t reporter, std::uint32_t suspect, SymptomKind kind = SymptomKind::store_full) {
    heads[reporter]->localizer->report({kind, {NodeId{suspect}, std::nullopt}, NodeId{reporter}, now, 1});
  }
  Head& operator[](std::uint32_t node) { return *heads[node]; }

  Settings settings;
  std::shared_ptr<const RuleSet> rules = RuleBook().rules();
  Time now = seconds(100);
  std::vector<std::unique_ptr<Head>> heads;
  std::deque<std::pair<NodeId, Message>> flights;
  std::set<NodeId> dead;
  std::optional<Blocker> blocker;  // as the calls of all ranks show it
  CallReports reports;             // that were looked at last
  int surveys = 0;
};

void fill_store(Network& network, std::uint32_t node) {
  network[node].node_state.store_refused = 1;
  for (int i = 0; i < 2; ++i) {
    network.report(node, node);
    network.run(milliseconds(100));
  }
}

TEST(Localizer, announces_at_the_root_what_the_parent_has_found) {
  Network network(7);
  fill_store(network, 5);
  network.run(milliseconds(200));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::store_full);
  EXPECT_EQ(network[0].announced[0].suspect.node, NodeId{5});
  EXPECT_EQ(network[0].announced[0].analyst, NodeId{2});
}

TEST(Localizer, analyses_itself_in_a_job_of_one_node) {
  Network network(1);
  fill_store(network, 0);
  network.run(milliseconds(400));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::store_full);
}

TEST(Localizer, finds_a_stopped_process_and_withdraws_that_once_it_runs_again) {
  Network network(7);
  network[5].rank_process.stopped = true;
  network[5].localizer->report({SymptomKind::process_stopped, {NodeId{5}, Rank{20}}, NodeId{5}, network.now, 3});
  network.run(milliseconds(400));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::process_stopped);
  EXPECT_EQ(network[0].announced[0].suspect, (Suspect{NodeId{5}, Rank{20}}));
  network[5].rank_process.stopped = false;
  network.run(seconds(31));
  EXPECT_TRUE(network[0].localizer->standing().empty());
}

TEST(Localizer, says_of_a_dead_process_that_the_kernel_was_short_of_memory) {
  Network network(7);
  network[5].rank_process = {false, false, 2};
  network[5].localizer->report({SymptomKind::process_failed, {NodeId{5}, Rank{20}}, NodeId{5}, network.now, 1});
  network.run(milliseconds(400));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::process_dead);
  EXPECT_THAT(network[0].announced[0].findings, testing::Contains(Finding{fact_of(ProbeFact::response_oom_kills), 2}));
}

// As heads keep it when a life ends: MPI names processes, and after a repair others have taken over from them.
TEST(Localizer, does_not_accuse_a_node_that_answers_because_a_process_of_it_has_died) {
  Network network(7);
  for (const std::uint32_t reporter : {0U, 1U, 3U}) network.report(reporter, 5, SymptomKind::process_failed);
  network.run(seconds(2));
  for (const auto& head : network.heads) {
    EXPECT_TRUE(head->announced.empty());
    EXPECT_TRUE(head->localizer->standing().empty());
    EXPECT_TRUE(head->localizer->pending().empty());
  }
}

TEST(Localizer, finds_that_a_node_is_down_where_mpi_has_reported_a_dead_process_and_nobody_answers) {
  Network network(7);
  network.dead.insert(NodeId{5});
  network.report(0, 5, SymptomKind::process_failed);
  network.run(seconds(2));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::node_down);
  EXPECT_EQ(network[0].announced[0].suspect.node, NodeId{5});
}

TEST(Localizer, keeps_a_suspicion_for_ten_minutes_if_no_probe_finds_anything) {
  Network network(7);
  network[1].localizer->report({SymptomKind::suspected, {NodeId{5}, std::nullopt}, NodeId{1}, network.now, 1, "hot"});
  network.run(seconds(2));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::undetermined);
  EXPECT_EQ(network[0].announced[0].evidence.at(0).note, "hot");
  network.run(std::chrono::minutes(9));
  EXPECT_EQ(network[0].localizer->standing().size(), 1U);
  network.run(std::chrono::minutes(2));
  EXPECT_TRUE(network[0].localizer->standing().empty());
}

// In either order.
TEST(Localizer, keeps_what_somebody_suspects_of_a_node_when_a_rank_of_it_dies) {
  for (const bool suspected_first : {true, false}) {
    Network network(7);
    network[5].rank_process.alive = false;
    const auto suspect = [&] {
      network[1].localizer->report(
          {SymptomKind::suspected, {NodeId{5}, std::nullopt}, NodeId{1}, network.now, 1, "hot"});
      network.run(seconds(2));
    };
    if (suspected_first) suspect();
    network[5].localizer->report({SymptomKind::process_failed, {NodeId{5}, Rank{11}}, NodeId{5}, network.now, 1});
    network.run(seconds(2));
    if (!suspected_first) suspect();
    std::vector<Fault> standing;
    for (const Verdict& verdict : network[0].localizer->standing()) standing.push_back(verdict.fault);
    EXPECT_THAT(standing, testing::UnorderedElementsAre(Fault::undetermined, Fault::process_dead));
  }
}

TEST(Localizer, confirms_by_itself_what_somebody_suspects) {
  Network network(7);
  network[5].node_state.store_refused = 1;
  network[1].localizer->report({SymptomKind::suspected, {NodeId{5}, std::nullopt}, NodeId{1}, network.now, 1, "hot"});
  network.run(seconds(2));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::store_full);
}

TEST(Localizer, says_nothing_about_symptoms_below_the_threshold) {
  Network network(7);
  network[5].node_state.store_refused = 1;
  network.report(5, 5);
  network.run(seconds(10));
  EXPECT_TRUE(network[0].announced.empty());
  for (const auto& head : network.heads) EXPECT_TRUE(head->localizer->idle());
}

TEST(Localizer, passes_on_what_is_for_another) {
  Network network(7);
  Observation full{SymptomKind::store_full, {NodeId{5}, std::nullopt}, NodeId{5}, {}, {}, seconds(1), 2, 1};
  network[5].node_state.store_refused = 1;
  // Node 1 has no part in what is about node 5.
  network.flights.emplace_back(NodeId{1}, Message{NodeId{5}, 1000, EvidenceNote{{full}, {}, 0}});
  network.run(milliseconds(300));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].analyst, NodeId{2});
}

TEST(Localizer, reports_again_what_a_dead_analyst_had) {
  Network network(7);
  network[5].node_state.store_refused = 1;
  network.report(5, 5);
  network.run(milliseconds(100));
  network.dead.insert(NodeId{2});
  network.run(seconds(1));
  network.report(5, 5);
  network.run(milliseconds(300));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].evidence[0].count, 2U);
}

TEST(Localizer, the_first_child_replaces_a_dead_root_and_says_so) {
  Network network(7);
  network.dead.insert(NodeId{0});
  for (int i = 0; i < 3; ++i) {
    for (const std::uint32_t reporter : {1U, 2U}) network.report(reporter, 0, SymptomKind::heartbeat_missed);
    network.run(seconds(1));
  }
  network.run(seconds(1));
  ASSERT_EQ(network[1].announced.size(), 1U);
  EXPECT_EQ(network[1].announced[0].fault, Fault::node_down);
  EXPECT_EQ(network[1].announced[0].suspect.node, NodeId{0});
  // All know it now, so the next fault needs no detour.
  const Time before = network.now;
  fill_store(network, 6);
  network.run(milliseconds(200));
  ASSERT_EQ(network[1].announced.size(), 2U);
  EXPECT_LE(network[1].announced[1].decided_at - before, milliseconds(400));
}

TEST(Localizer, withdraws_a_verdict_when_the_node_answers_after_all) {
  Network network(7);
  network.dead.insert(NodeId{5});
  for (int i = 0; i < 3; ++i) {
    for (const std::uint32_t reporter : {1U, 2U}) network.report(reporter, 5, SymptomKind::heartbeat_missed);
    network.run(seconds(1));
  }
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::node_down);
  network.dead.clear();
  network.run(seconds(31));
  ASSERT_EQ(network[0].announced.size(), 2U);
  EXPECT_TRUE(network[0].announced[1].withdrawn);
  EXPECT_TRUE(network[0].localizer->standing().empty());
}

TEST(Localizer, keeps_a_verdict_for_as_long_as_it_is_confirmed_again) {
  Network network(7);
  fill_store(network, 5);
  network.run(seconds(100));
  EXPECT_EQ(network[0].localizer->standing().size(), 1U);
  network[5].node_state.store_refused = 0;
  network.run(seconds(40));
  EXPECT_TRUE(network[0].localizer->standing().empty());
}

// The user is told once, and the file has the figures of today.
TEST(Localizer, renews_the_figures_of_a_verdict_that_stands) {
  Network network(7);
  fill_store(network, 5);
  network.run(seconds(1));
  ASSERT_TRUE(network[0].renewed.empty());
  network[5].node_state.store_refused = 9;
  network.run(seconds(31));
  EXPECT_EQ(network[0].announced.size(), 1U);
  ASSERT_EQ(network[0].renewed.size(), 1U);
  const Finding refused{fact_of(ProbeFact::state_store_refused), 9};
  EXPECT_THAT(network[0].renewed[0].findings, testing::Contains(refused));
  EXPECT_THAT(network[0].localizer->standing().at(0).findings, testing::Contains(refused));
}

TEST(Localizer, names_all_nodes_that_are_cut_off_together) {
  Network network(13);
  const std::vector cut{NodeId{7}, NodeId{8}, NodeId{9}, NodeId{10}};
  network.dead.insert(cut.begin(), cut.end());
  for (int i = 0; i < 4; ++i) {
    for (const NodeId node : cut) {
      for (const std::uint32_t reporter : {1U, 2U}) network.report(reporter, node.value, SymptomKind::heartbeat_missed);
    }
    network.run(seconds(1));
  }
  network.run(seconds(3));
  const auto standing = network[0].localizer->standing();
  ASSERT_EQ(standing.size(), 1U);
  EXPECT_EQ(standing[0].fault, Fault::partition);
  EXPECT_EQ(standing[0].nodes, cut);
  EXPECT_EQ(network[0].announced.back().nodes, cut);
}

TEST(Localizer, does_not_announce_each_node_of_a_large_partition) {
  constexpr std::uint32_t kNodes = 400;
  Network network(kNodes, 8);
  for (std::uint32_t node = kNodes / 2; node < kNodes; ++node) network.dead.insert(NodeId{node});
  for (int i = 0; i < 4; ++i) {
    for (std::uint32_t node = kNodes / 2; node < kNodes; ++node) {
      for (const std::uint32_t reporter : {1U, 2U}) network.report(reporter, node, SymptomKind::heartbeat_missed);
    }
    network.run(seconds(1));
  }
  network.run(seconds(20));
  std::size_t most = 0;
  for (const Verdict& one : network[0].announced) most = std::max(most, one.nodes.size());
  EXPECT_GT(most, kNodes / 4);
  EXPECT_LT(network[0].announced.size(), 60U);
  EXPECT_EQ(network[0].announced.back().nodes, network[0].localizer->standing().back().nodes);
}

TEST(Localizer, a_witness_answers_again_when_its_answer_was_lost) {
  Network network(7);
  const auto ask = [&] {
    network.flights.emplace_back(NodeId{3},
                                 Message{NodeId{0}, 1, Question{7, Probe::witness, {NodeId{5}, std::nullopt}}});
  };
  const auto answered = [&] {
    return std::ranges::any_of(network.flights, [](const auto& flight) {
      const auto* answer = std::get_if<Answer>(&flight.second.body);
      const auto* witness = answer == nullptr ? nullptr : std::get_if<WitnessAnswer>(&answer->what);
      return witness != nullptr && flight.first == NodeId{0} && answer->number == 7 && witness->reached;
    });
  };
  ask();
  for (int i = 0; i < 4 && !answered(); ++i) network.run(milliseconds(50));
  ASSERT_TRUE(answered());
  network.flights.clear();
  ask();
  network.deliver();
  EXPECT_TRUE(answered());
}

TEST(Localizer, drops_an_undetermined_verdict_when_its_symptoms_stop) {
  Network network(7);
  for (int i = 0; i < 3; ++i) {
    network.report(6, 5, SymptomKind::store_error);
    network.run(milliseconds(200));
  }
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::undetermined);
  EXPECT_FALSE(network[0].announced[0].evidence.empty());
  network.run(seconds(12));
  EXPECT_TRUE(network[0].localizer->standing().empty());
}

TEST(Localizer, uses_new_rules_from_the_next_analysis_on) {
  Network network(7);
  const auto rules = parse_rules(
      "rule a\nif network_error\nthen suspect link_degraded\nwhy x\n"
      "rule b\nif network_error and response.answers = 1\nthen confirm link_degraded\nwhy x\n");
  network[2].localizer->use(std::make_shared<RuleSet>(*rules));
  for (int i = 0; i < 3; ++i) {
    network.report(6, 5, SymptomKind::network_error);
    network.run(milliseconds(200));
  }
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::link_degraded);
}

TEST(Localizer, survives_a_storm_in_bounded_memory) {
  Network network(7);
  for (std::uint32_t i = 0; i < 100000; ++i) {
    network.now += Time(20);
    const auto kind = static_cast<SymptomKind>(i % kSymptomKinds);
    network[3].localizer->report({kind, {NodeId{i % 7}, Rank{i}}, NodeId{3}, network.now, 1});
    if (i % 500 == 0) network.run(milliseconds(50));
    if (network.flights.size() > 20000) network.flights.clear();
  }
  network.run(seconds(1));
  for (const auto& head : network.heads) EXPECT_LE(head->localizer->size(), 7 * kMostObservations + 1000);
}

// Rank 20 on node 5, for which so many others wait.
struct Stuck : Network {
  explicit Stuck(std::uint32_t waiting) : Network(7) {
    settings.asks_for_calls = true;
    blocker = Blocker{.suspect = {NodeId{5}, Rank{20}}, .call = "MPI_Alltoall", .waiting = waiting, .waited = 70};
  }
};

TEST(Localizer, finds_a_rank_for_which_others_wait_and_withdraws_that_once_it_goes_on) {
  Stuck network(27);
  network[1].localizer->ask_for_calls();
  network.run(seconds(1));
  ASSERT_EQ(network[0].announced.size(), 1U);
  const Verdict& verdict = network[0].announced[0];
  EXPECT_EQ(verdict.fault, Fault::rank_stuck);
  EXPECT_EQ(verdict.suspect, network.blocker->suspect);
  EXPECT_EQ(verdict.analyst, NodeId{2});
  EXPECT_EQ(verdict.blocker, network.blocker);
  network.blocker.reset();
  network.run(seconds(31));
  EXPECT_TRUE(network[0].localizer->standing().empty());
}

// The circle that is found when the analyst looks may be another one, through the same rank.
TEST(Localizer, finds_a_deadlock_and_withdraws_that_once_it_is_over) {
  Stuck network(3);
  network.blocker->doing = Blocker::Doing::waits;
  network.blocker->ranks = {Rank{20}, Rank{22}};
  network[1].localizer->ask_for_calls();
  while (network.surveys == 0) network.run(milliseconds(50));
  network.blocker->suspect = {NodeId{4}, Rank{18}};
  network.blocker->ranks = {Rank{18}, Rank{20}};
  network.run(seconds(1));
  ASSERT_EQ(network[0].announced.size(), 1U);
  EXPECT_EQ(network[0].announced[0].fault, Fault::deadlock);
  EXPECT_EQ(network[0].announced[0].suspect, (Suspect{NodeId{5}, Rank{20}}));
  EXPECT_EQ(network[0].announced[0].blocker, network.blocker);
  network.blocker.reset();
  network.run(seconds(31));
  EXPECT_TRUE(network[0].localizer->standing().empty());
}

// Its node does not answer the analyst, either: then something else is wrong with it than its calls.
TEST(Localizer, knows_nothing_of_a_rank_whose_calls_are_missing) {
  Stuck network(27);
  network.dead.insert(NodeId{5});
  network[1].localizer->ask_for_calls();
  network.run(seconds(5));
  EXPECT_TRUE(network[0].announced.empty());
  EXPECT_EQ(network.reports.silent, std::vector{NodeId{5}});
}

TEST(Localizer, says_which_nodes_did_not_report_the_calls_of_their_ranks) {
  Stuck network(27);
  network.dead.insert(NodeId{6});
  network[1].localizer->ask_for_calls();
  network.run(seconds(5));
  ASSERT_EQ(network[0].announced.size(), 1U);
  ASSERT_TRUE(network[0].announced[0].blocker);
  EXPECT_EQ(network[0].announced[0].blocker->silent, std::vector{NodeId{6}});
}

// One waiting rank is little evidence: it has to wait on.
TEST(Localizer, counts_each_rank_that_waits_as_a_symptom) {
  Stuck network(1);
  network.settings.survey_again = milliseconds(500);
  for (int asked = 0; asked < 3; ++asked) {
    EXPECT_TRUE(network[0].announced.empty());
    network[1].localizer->ask_for_calls();
    network.run(seconds(1));
  }
  EXPECT_EQ(network[0].announced.size(), 1U);
}

TEST(Localizer, asks_for_calls_at_one_node_if_many_want_to) {
  Stuck network(27);
  network.blocker.reset();
  for (std::uint32_t node = 6; node > 0; --node) network[node].localizer->ask_for_calls();
  network.run(seconds(5));
  EXPECT_EQ(network.surveys, 1);
  EXPECT_EQ(network.reports.calls.size(), 7U);
}

// Those that everybody leaves to a node that is dead.
TEST(Localizer, asks_itself_for_calls_where_the_nodes_before_it_do_not) {
  Stuck network(27);
  network.blocker.reset();
  network.dead.insert(NodeId{1});
  for (const std::uint32_t node : {1U, 3U}) network[node].localizer->ask_for_calls();
  network.run(seconds(5));
  EXPECT_EQ(network.surveys, 1);
  for (const auto& head : network.heads) EXPECT_TRUE(head->localizer->idle() || head->id == NodeId{1});
}

}  // namespace
}  // namespace cairn::localize
