// What a head finds out about its host: from what it is shown of it.
#include "engine/node_watch.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

using std::chrono::duration_cast;
using std::chrono::microseconds;
using std::chrono::seconds;

constexpr std::uint64_t kTicks = 100;  // of a processor in a second

// A host with 4 processors, of which the job uses as many as it has processes.
class Watched : public testing::Test {
 protected:
  struct Use {  // processors, all along
    double own = 4;
    double others = 0;
    double stolen = 0;
    double memory = 0;       // share of the time in which threads wait
    double error_share = 0;  // of 1,000 packets a second
  };
  // Lets this go on for so long; returns what is found meanwhile.
  std::vector<NodeWatch::Found> go_on(const Use& use, seconds time) {
    std::vector<NodeWatch::Found> all;
    for (int i = 0; i < time.count(); ++i) {
      now += seconds(1);
      auto& processors = *host.processors;
      const auto ticks = [](double used) { return static_cast<std::uint64_t>(used * kTicks); };
      processors.all += 4 * kTicks;
      processors.stolen += ticks(use.stolen);
      processors.free += ticks(4 - use.own - use.others - use.stolen);
      own.ticks += ticks(use.own);
      *host.memory_waits += duration_cast<microseconds>(std::chrono::duration<double>(use.memory));
      host.cards["eth0"].packets += 1000;
      host.cards["eth0"].errors += static_cast<std::uint64_t>(1000 * use.error_share);
      const auto found = watch.look(known ? std::optional(own) : std::nullopt, now);
      std::ranges::copy(found, std::back_inserter(all));
    }
    return all;
  }
  [[nodiscard]] localize::NodeState state() const {
    localize::NodeState state;
    watch.fill(state);
    return state;
  }
  [[nodiscard]] static bool all_are(const std::vector<NodeWatch::Found>& found, SymptomKind kind) {
    return !found.empty() && std::ranges::all_of(found, [&](const auto& one) { return one.kind == kind; });
  }

  microseconds now{};
  HostState host{.processors = HostState::Processors{.count = 4, .runnable = 8},
                 .memory_waits = microseconds(0),
                 .cards = {},
                 .boot_id = {}};
  NodeWatch::Own own{.ticks = 0, .processes = 4};
  bool known = true;
  NodeWatch watch{[this] { return host; }};
};

TEST_F(Watched, a_job_that_uses_its_processors_shows_no_symptom) {
  EXPECT_TRUE(go_on({}, seconds(120)).empty());
  EXPECT_EQ(state().stolen, 0);
  EXPECT_EQ(state().load, 2);
}

TEST_F(Watched, others_that_use_what_the_job_wants_are_found) {
  const auto found = go_on({.own = 2, .others = 2}, seconds(60));
  EXPECT_TRUE(all_are(found, SymptomKind::processor_stolen));
  EXPECT_NEAR(state().stolen, 0.5, 0.01);
}

TEST_F(Watched, others_that_use_free_processors_are_not) {
  own.processes = 2;
  EXPECT_TRUE(go_on({.own = 2, .others = 2}, seconds(60)).empty());
  EXPECT_TRUE(go_on({.own = 1, .others = 1}, seconds(60)).empty()) << "half of the processors are free";
}

TEST_F(Watched, on_a_host_with_other_nodes_of_the_job_only_the_hypervisor_takes_something) {
  known = false;
  EXPECT_TRUE(go_on({.own = 2, .others = 2}, seconds(60)).empty());
  EXPECT_TRUE(all_are(go_on({.own = 2, .others = 0, .stolen = 2}, seconds(60)), SymptomKind::processor_stolen));
}

TEST_F(Watched, what_lasts_for_a_moment_is_no_symptom) {
  EXPECT_TRUE(go_on({}, seconds(30)).empty());
  EXPECT_TRUE(go_on({.own = 2, .others = 2, .memory = 1}, seconds(3)).empty());
  EXPECT_TRUE(go_on({}, seconds(30)).empty());
}

TEST_F(Watched, threads_that_wait_for_memory_are_found) {
  EXPECT_TRUE(all_are(go_on({.memory = 0.5}, seconds(60)), SymptomKind::memory_pressure));
  EXPECT_NEAR(state().memory, 0.5, 0.01);
}

TEST_F(Watched, errors_of_a_card_are_found_from_one_packet_in_a_thousand_on) {
  EXPECT_TRUE(go_on({}, seconds(60)).empty());
  EXPECT_TRUE(all_are(go_on({.error_share = 0.01}, seconds(60)), SymptomKind::network_error));
  EXPECT_NEAR(state().network_errors, 0.01, 0.001);
}

TEST_F(Watched, the_same_symptom_is_found_again_every_ten_seconds) {
  const auto found = go_on({.memory = 0.5}, seconds(60));
  EXPECT_GE(found.size(), 3U);
  EXPECT_LE(found.size(), 5U);
}

TEST_F(Watched, a_host_that_says_nothing_shows_no_symptom) {
  NodeWatch blind{[] { return HostState{}; }};
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(blind.look(own, seconds(i)).empty());
}

}  // namespace
}  // namespace cairn::test
