// On which host new processes are started.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "repair/landing.hpp"

namespace cairn {
namespace {

using Role = Member::Role;
using Names = std::set<std::string>;

// Hosts a, b, c with two ranks and a head each, and s with two spares: numbers 0–2, 3–5, 6–8, 9–10.
class Job {
 public:
  Job() {
    for (std::uint32_t node = 0; node < 3; ++node) {
      for (const Role role : {Role::rank, Role::rank, Role::head}) add(role, node);
    }
    add(Role::spare, 3);
    add(Role::spare, 3);
  }
  void add(Role role, std::uint32_t node, std::uint32_t start = 0) {
    live_.push_back(static_cast<std::uint32_t>(roster_.size()));
    roster_.push_back({role, NodeId{node}, {}, start});
  }
  void lose(std::initializer_list<std::uint32_t> numbers) {
    std::erase_if(live_, [&](std::uint32_t number) { return std::ranges::find(numbers, number) != numbers.end(); });
  }
  [[nodiscard]] Survivors survivors() const { return {roster_, live_, host_of_}; }
  // "3 on c": the starter by its number in the roster, and the host.
  [[nodiscard]] std::string landing(std::uint32_t node, const Names& closed = {}, const Names& sick = {}) const {
    const auto found = landing_for(NodeId{node}, survivors(), closed, sick);
    return found ? std::to_string(live_[found->starter]) + " on " + host_of_[found->node.value] : "nowhere";
  }

 private:
  Roster roster_;
  std::vector<std::uint32_t> live_;
  std::vector<std::string> host_of_{"a", "b", "c", "s"};
};

TEST(Landing, is_on_the_host_of_the_dead_while_somebody_lives_there) {
  Job job;
  job.lose({3, 4});
  EXPECT_EQ(job.landing(1), "5 on b");
}

TEST(Landing, of_a_host_where_nobody_lives_is_on_a_host_of_spares) {
  Job job;
  job.lose({3, 4, 5});
  EXPECT_EQ(job.landing(1), "9 on s");
}

TEST(Landing, without_a_host_of_spares_is_where_the_fewest_processes_are) {
  Job job;
  job.lose({3, 4, 5, 7, 9, 10});
  EXPECT_EQ(job.landing(1), "6 on c");
}

TEST(Landing, is_on_a_sick_host_only_if_all_others_are_closed) {
  Job job;
  job.lose({3});
  EXPECT_EQ(job.landing(1, {}, {"c"}), "4 on b");
  EXPECT_EQ(job.landing(1, {}, {"b"}), "9 on s");
  EXPECT_EQ(job.landing(1, {}, {"b", "s"}), "0 on a");
  EXPECT_EQ(job.landing(1, {"a", "c"}, {"b", "s"}), "4 on b");
  EXPECT_EQ(job.landing(1, {}, {"a", "b", "c", "s"}), "4 on b");
  EXPECT_EQ(job.landing(1, {"a", "b", "c", "s"}, {"b"}), "nowhere");
}

TEST(Landing, is_never_on_a_closed_host) {
  Job job;
  job.lose({3});
  EXPECT_EQ(job.landing(1, {"b"}), "9 on s");
  EXPECT_EQ(job.landing(1, {"b", "s"}), "0 on a");
  EXPECT_EQ(job.landing(1, {"a", "b", "c", "s"}), "nowhere");
}

TEST(Landing, is_on_the_node_of_the_dead_also_where_a_host_has_several) {
  const Roster roster{{Role::rank, NodeId{0}, {}}, {Role::rank, NodeId{1}, {}}};
  const auto landing = landing_for(NodeId{1}, {roster, {0}, {"host", "host"}}, {});
  EXPECT_EQ(landing, (Landing{0, NodeId{1}}));
}

TEST(ForgetfulHosts, are_those_where_the_last_of_a_set_has_died_of_which_others_live) {
  Job job;
  job.lose({0, 1, 3, 4, 5});
  EXPECT_EQ(forgetful_hosts(job.survivors()), Names({"b"}));
  // New processes have come to a before, and its head dies: they live there, and mpirun's own are forgotten.
  job.add(Role::rank, 0, 1);
  EXPECT_EQ(forgetful_hosts(job.survivors()), Names({"b"}));
  job.lose({2});
  EXPECT_EQ(forgetful_hosts(job.survivors()), Names({"a", "b"}));
}

TEST(ForgetfulHosts, are_not_those_where_a_whole_set_has_died) {
  Job job;
  job.add(Role::rank, 1, 1);
  job.lose({11});
  EXPECT_EQ(forgetful_hosts(job.survivors()), Names());
}

}  // namespace
}  // namespace cairn
