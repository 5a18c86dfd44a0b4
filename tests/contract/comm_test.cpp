// ThreadComm keeps the promises of Comm, and its own: a large message is sent only when it is received,
// members can be killed, traffic is counted, thousands of members fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "comm/backoff.hpp"
#include "comm/counting_comm.hpp"
#include "comm/share.hpp"
#include "comm/thread_comm.hpp"
#include "contract/comm_contract.hpp"
#include "support/facts.hpp"
#include "support/faulty_comm.hpp"
#include "support/thread_cluster.hpp"

namespace cairn::test {
namespace {

struct Case {
  CommPromise promise;
  std::uint32_t members;
};

std::vector<Case> every_promise_for_every_size() {
  std::vector<Case> cases;
  for (const CommPromise& promise : comm_promises()) {
    for (const std::uint32_t members : {1U, 2U, 3U, 5U, 8U}) cases.push_back({promise, members});
  }
  return cases;
}

class CommOfThreads : public testing::TestWithParam<Case> {};

TEST_P(CommOfThreads, keeps) { run_cluster(GetParam().members, GetParam().promise.check); }

INSTANTIATE_TEST_SUITE_P(contract, CommOfThreads, testing::ValuesIn(every_promise_for_every_size()),
                         [](const auto& info) {
                           return std::string(info.param.promise.sentence) + "_among_" +
                                  std::to_string(info.param.members);
                         });

// The same through a FaultyComm that never fails.
class HarmlessFaultyComm : public testing::TestWithParam<CommPromise> {};

TEST_P(HarmlessFaultyComm, keeps) {
  run_cluster(3, [](Comm& world) {
    FaultyComm comm(world, std::make_shared<CommFaultPlan>());
    GetParam().check(comm);
  });
}

INSTANTIATE_TEST_SUITE_P(contract, HarmlessFaultyComm,
                         testing::ValuesIn(comm_promises().begin(), comm_promises().end()),
                         [](const auto& info) { return std::string(info.param.sentence); });

// The same through a CountingComm.
class CountedComm : public testing::TestWithParam<CommPromise> {};

TEST_P(CountedComm, keeps) {
  run_cluster(3, [](Comm& world) {
    CountingComm comm(world, [](Peer) { return true; });
    GetParam().check(comm);
  });
}

INSTANTIATE_TEST_SUITE_P(contract, CountedComm, testing::ValuesIn(comm_promises().begin(), comm_promises().end()),
                         [](const auto& info) { return std::string(info.param.sentence); });

TEST(CountingComm, counts_the_bytes_sent_to_the_members_that_it_was_told) {
  run_cluster(3, [](Comm& world) {
    CountingComm comm(world, [](Peer to) { return to.value == 1; });
    if (comm.rank().value == 0) {
      ASSERT_TRUE(comm.send(Peer{1}, Tag{1}, Buffer(100)));
      ASSERT_TRUE(comm.send(Peer{2}, Tag{1}, Buffer(1000)));
      ASSERT_TRUE(comm.send(Peer{1}, Tag{1}, Buffer(7)));
      EXPECT_EQ(comm.sent_bytes(), 107U);
    } else {
      Buffer buffer(1000);
      ASSERT_TRUE(comm.recv(Peer{0}, Tag{1}, buffer));
      if (comm.rank().value == 1) {
        ASSERT_TRUE(comm.recv(Peer{0}, Tag{1}, buffer));
      }
      EXPECT_EQ(comm.sent_bytes(), 0U);
    }
  });
}

bool finished(Request& request) {
  const auto done = request.test();
  return done && *done;
}

TEST(ThreadComm, a_small_message_is_sent_at_once_and_a_larger_one_when_it_is_received) {
  const auto members = make_thread_world(2);
  Buffer small(64 * kKiB);
  Buffer large(64 * kKiB + 1);
  const auto send_small = members[0]->isend(Peer{1}, Tag{1}, small);
  const auto send_large = members[0]->isend(Peer{1}, Tag{2}, large);
  EXPECT_TRUE(finished(*send_small));
  EXPECT_FALSE(finished(*send_large));
  const auto receive = members[1]->irecv(Peer{0}, Tag{2}, large);
  EXPECT_TRUE(finished(*send_large));
  EXPECT_TRUE(finished(*receive));
}

TEST(ThreadComm, a_large_message_whose_request_is_destroyed_arrives_all_the_same) {
  const auto members = make_thread_world(2);
  {
    const Buffer large(kMiB, std::byte{7});
    const auto abandoned = members[0]->isend(Peer{1}, Tag{1}, large);
  }
  Buffer received(kMiB);
  ASSERT_TRUE(members[1]->recv(Peer{0}, Tag{1}, received).has_value());
  EXPECT_TRUE(received == Buffer(kMiB, std::byte{7}));
}

TEST(ThreadComm, members_that_call_different_collectives_are_told_so) {
  run_cluster(2, [](Comm& world) {
    std::uint64_t value = 0;
    const Status status = world.rank() == Peer{0} ? world.barrier() : world.allreduce({&value, 1}, Reduce::sum);
    EXPECT_THAT(status, Fails(Code::invalid_argument, {"barrier", "allreduce"}));
  });
}

TEST(ThreadComm, two_threads_of_a_member_use_it_at_once) {
  run_cluster(3, [](Comm& world) {
    const Peer next{(world.rank().value + 1) % world.size()};
    const Peer previous{(world.rank().value + world.size() - 1) % world.size()};
    const auto exchange = [&](Tag tag) {
      Buffer received(100);
      for (int i = 0; i < 200; ++i) {
        const Buffer sent(100, static_cast<std::byte>(i));
        const auto send = world.isend(next, tag, sent);
        EXPECT_TRUE(world.recv(previous, tag, received).has_value());
        EXPECT_TRUE(received == sent);
        EXPECT_TRUE(world.wait(*send).has_value());
      }
    };
    std::jthread engine([&] { exchange(Tag{1}); });
    exchange(Tag{2});
  });
}

// What a member may be blocked in when others die.
using Blocked = Status (*)(Comm& comm);

Status blocked_in_receive(Comm& comm) {
  Buffer bytes(1);
  return comm.recv(Peer{0}, Tag{1}, bytes);
}
Status blocked_in_send(Comm& comm) { return comm.send(Peer{0}, Tag{1}, Buffer(kMiB)); }
Status blocked_in_barrier(Comm& comm) { return comm.barrier(); }
Status blocked_in_allgather(Comm& comm) {
  const auto all = comm.allgather({});
  return all ? Status{} : Status(fail(all.error()));
}
Status blocked_in_split(Comm& comm) {
  const auto part = comm.split(0, 0);
  return part ? Status{} : Status(fail(part.error()));
}

constexpr Blocked kBlocked[] = {blocked_in_receive, blocked_in_send, blocked_in_barrier, blocked_in_allgather,
                                blocked_in_split};

TEST(ThreadComm, killing_the_world_ends_whatever_its_members_wait_for) {
  for (const Blocked blocked : kBlocked) {
    const ThreadWorld world(4);
    run_cluster(world, [&](Comm& comm) {
      if (comm.rank() == Peer{0}) {
        Buffer bytes;
        for (std::uint32_t i = 1; i < comm.size(); ++i) ASSERT_TRUE(comm.recv(Peer{i}, Tag{2}, bytes).has_value());
        world.kill();
      } else {
        ASSERT_TRUE(comm.send(Peer{0}, Tag{2}, {}).has_value());
        const Status status = blocked(comm);
        ASSERT_FALSE(status.has_value());
        EXPECT_EQ(status.error().code, Code::communication);
      }
      const Status after = comm.send(comm.rank(), Tag{3}, {});
      ASSERT_FALSE(after.has_value());
      EXPECT_EQ(after.error().code, Code::communication);
      EXPECT_FALSE(comm.probe(Tag{3}).has_value());
    });
  }
}

TEST(ThreadComm, killing_the_world_reaches_what_was_split_from_it) {
  const ThreadWorld world(2);
  run_cluster(world, [&](Comm& comm) {
    const auto part = comm.split(0, 0);
    ASSERT_TRUE(part.has_value());
    ASSERT_TRUE(comm.barrier().has_value());
    if (comm.rank() == Peer{0}) {
      world.kill();
    } else {
      EXPECT_EQ((*part)->barrier().error().code, Code::communication);
    }
  });
}

TEST(ThreadComm, killing_a_member_fails_what_needs_it_and_names_it) {
  for (const Blocked blocked : kBlocked) {
    const ThreadWorld world(3);
    run_cluster(world, [&](Comm& comm) {
      if (comm.rank() == Peer{0}) {
        world.kill(Peer{0});
        EXPECT_EQ(comm.barrier().error().code, Code::communication);
        return;
      }
      const Status status = blocked(comm);
      ASSERT_FALSE(status.has_value());
      EXPECT_THAT(status, Fails(Code::communication, {"member 0"}));
    });
  }
}

TEST(ThreadComm, the_living_go_on_among_themselves_when_a_member_is_killed) {
  const ThreadWorld world(4);
  run_cluster(world, [&](Comm& comm) {
    const auto part = comm.split(comm.rank().value % 2, 0);
    ASSERT_TRUE(part.has_value());
    if (comm.rank() == Peer{0}) world.kill(Peer{0});
    if (comm.rank().value % 2 == 0) return;
    EXPECT_TRUE((*part)->barrier().has_value());
    Buffer bytes(3);
    const Peer other{4 - comm.rank().value};
    const auto send = comm.isend(other, Tag{1}, bytes);
    EXPECT_TRUE(comm.recv(other, Tag{1}, bytes).has_value());
    EXPECT_TRUE(comm.wait(*send).has_value());
  });
}

TEST(ThreadComm, what_a_member_sent_before_its_death_is_received) {
  const ThreadWorld world(2);
  const auto dying = world.member(Peer{0});
  const auto living = world.member(Peer{1});
  Buffer bytes(1, std::byte{9});
  ASSERT_TRUE(dying->send(Peer{1}, Tag{1}, bytes).has_value());
  world.kill(Peer{0});
  Buffer received(1);
  ASSERT_TRUE(living->recv(Peer{0}, Tag{1}, received).has_value());
  EXPECT_TRUE(received == bytes);
  EXPECT_FALSE(living->recv(Peer{0}, Tag{1}, received).has_value());
}

TEST(ThreadComm, counts_messages_bytes_and_collectives_of_each_member) {
  const ThreadWorld world(3);
  run_cluster(world, [](Comm& comm) {
    ASSERT_TRUE(comm.barrier().has_value());
    const auto part = comm.split(0, 0);
    ASSERT_TRUE(part.has_value());
    Buffer bytes(10);
    if (comm.rank() == Peer{1}) {
      ASSERT_TRUE(comm.send(Peer{2}, Tag{1}, bytes).has_value());
      ASSERT_TRUE((*part)->send(Peer{2}, Tag{1}, Bytes(bytes).first(3)).has_value());
    }
    std::uint64_t value = 1;
    ASSERT_TRUE((*part)->allreduce({&value, 1}, Reduce::sum).has_value());
  });
  EXPECT_EQ(world.traffic(Peer{0}).messages, 0U);
  EXPECT_EQ(world.traffic(Peer{1}).messages, 2U);
  EXPECT_EQ(world.traffic(Peer{1}).message_bytes, 13U);
  for (std::uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(world.traffic(Peer{i}).collectives, 3U);
    EXPECT_GE(world.traffic(Peer{i}).collective_bytes, 8U);
  }
}

TEST(ThreadComm, a_thousand_members_reduce_and_split) {
  run_cluster(1000, [](Comm& world) {
    std::uint64_t value = world.rank().value;
    ASSERT_TRUE(world.allreduce({&value, 1}, Reduce::sum).has_value());
    EXPECT_EQ(value, 499'500U);
    const auto node = world.split(world.rank().value / 10, 0);
    ASSERT_TRUE(node.has_value());
    EXPECT_EQ((*node)->size(), 10U);
    EXPECT_TRUE((*node)->barrier().has_value());
  });
}

TEST(Share, gives_all_members_the_result_of_one_or_its_error_said_of_it) {
  run_cluster(3, [](Comm& comm) {
    const Peer root{1};
    const bool is_root = comm.rank() == root;
    const Error ignored{Code::io, "of no one", {}};
    const auto good = share(comm, is_root ? Result<Buffer>(Buffer(3, std::byte{7})) : fail(ignored), root, "node");
    ASSERT_TRUE(good.has_value());
    EXPECT_EQ(*good, Buffer(3, std::byte{7}));
    const Error error{Code::no_space, "disk7", "room"};
    const auto bad = share(comm, is_root ? fail(error) : Result<Buffer>(), root, "node");
    EXPECT_THAT(bad, Fails(Code::no_space, {"disk7", "room"}));
    if (is_root) {
      EXPECT_EQ(bad.error().message, error.message);
    } else {
      EXPECT_THAT(bad, Fails(Code::no_space, {"node 1"}));
    }
  });
}

TEST(FaultyComm, fails_from_the_given_operation_on_and_names_it) {
  const auto members = make_thread_world(1);
  for (std::uint64_t first = 0; first < 3; ++first) {
    const auto plan = std::make_shared<CommFaultPlan>();
    int reported = 0;
    plan->first_failing = first;
    plan->on_first_failure = [&] { ++reported; };
    FaultyComm comm(*members[0], plan);
    for (std::uint64_t i = 0; i < 4; ++i) {
      const Status status = comm.barrier();
      ASSERT_EQ(status.has_value(), i < first) << i;
      if (status) continue;
      EXPECT_THAT(status, Fails(Code::communication, {"operation " + std::to_string(i), "barrier"}));
    }
    EXPECT_EQ(reported, 1);
  }
}

TEST(FaultyComm, one_plan_fails_requests_under_way_and_what_was_split) {
  const auto members = make_thread_world(1);
  const auto plan = std::make_shared<CommFaultPlan>();
  FaultyComm comm(*members[0], plan);
  const auto part = comm.split(0, 0);
  ASSERT_TRUE(part.has_value());
  Buffer bytes(1);
  const auto receive = comm.irecv(Peer{0}, Tag{1}, bytes);
  plan->first_failing = plan->operations;
  EXPECT_FALSE((*part)->barrier().has_value());
  EXPECT_FALSE(receive->test().has_value());
  EXPECT_FALSE(comm.probe(Tag{1}).has_value());
}

TEST(ThreadCluster, throws_the_exception_of_a_member_again_and_frees_those_that_wait_for_it) {
  EXPECT_THROW(run_cluster(4,
                           [](Comm& world) {
                             if (world.rank() == Peer{2}) throw std::runtime_error("member 2 gives up");
                             EXPECT_FALSE(world.barrier().has_value());
                           }),
               std::runtime_error);
}

TEST(ThreadClusterDeathTest, a_cluster_that_does_not_end_aborts_and_names_who_is_still_running) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(run_cluster(
                   2,
                   [](Comm& world) {
                     if (world.rank() == Peer{1}) static_cast<void>(blocked_in_receive(world));
                   },
                   std::chrono::seconds(1)),
               "did not end within 1 s; still running: 1");
}

TEST(Backoff, grows_to_its_cap_then_to_its_idle_cap_and_starts_over) {
  using std::chrono::microseconds;
  Backoff backoff({.yields = 1,
                   .first = microseconds(20),
                   .cap = microseconds(100),
                   .idle_cap = microseconds(300),
                   .idle_after = microseconds(400)});
  for (int round = 0; round < 2; ++round) {
    std::vector<std::int64_t> sleeps;
    for (int i = 0; i < 16; ++i) sleeps.push_back(backoff.next().count());
    EXPECT_EQ(sleeps,
              (std::vector<std::int64_t>{0, 20, 25, 31, 38, 47, 58, 72, 90, 100, 125, 156, 195, 243, 300, 300}));
    backoff.reset();
  }
}

}  // namespace
}  // namespace cairn::test
