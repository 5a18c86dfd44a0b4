// What is read of a host, from files like those of /proc and /sys.
#include "base/host_state.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

TEST(HostState, counts_the_ticks_of_all_processors) {
  std::istringstream stat(
      "cpu  100 20 30 400 5 1 2 40 7 8\ncpu0 50 10 15 200 2 1 1 20 3 4\ncpu1 50 10 15 200 3 0 1 20 4 4\n"
      "intr 1 2 3\nprocs_running 3\nprocs_blocked 0\n");
  const auto processors = processors_in(stat);
  ASSERT_TRUE(processors);
  EXPECT_EQ(processors->all, 598U);
  EXPECT_EQ(processors->free, 425U) << "nice, idle and iowait";
  EXPECT_EQ(processors->stolen, 40U);
  EXPECT_EQ(processors->count, 2U);
  EXPECT_EQ(processors->runnable, 3U);
}

TEST(HostState, says_nothing_of_processors_that_cannot_be_read) {
  std::istringstream empty;
  EXPECT_FALSE(processors_in(empty));
  std::istringstream short_line("cpu 1 2 3\n");
  EXPECT_FALSE(processors_in(short_line));
}

TEST(HostState, takes_the_time_in_which_some_threads_waited_for_memory) {
  std::istringstream pressure(
      "some avg10=0.00 avg60=0.00 avg300=0.00 total=1234\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=99\n");
  EXPECT_EQ(waits_in(pressure), std::chrono::microseconds(1234));
  std::istringstream empty;
  EXPECT_FALSE(waits_in(empty));
}

TEST(HostState, adds_up_what_cards_count_and_leaves_out_the_loopback) {
  const TempDirectory root("/tmp");
  const auto put = [&](const std::string& file, int number) {
    const auto path = std::filesystem::path(root.path() + "/sys/class/" + file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << number << "\n";
  };
  put("net/eth0/statistics/rx_packets", 100);
  put("net/eth0/statistics/tx_packets", 50);
  put("net/eth0/statistics/rx_errors", 3);
  put("net/eth0/statistics/tx_errors", 4);
  put("net/lo/statistics/rx_errors", 9);
  put("infiniband/mlx5_0/ports/1/counters/port_rcv_packets", 10);
  put("infiniband/mlx5_0/ports/1/counters/symbol_error", 2);
  const auto cards = look_at_host(root.path()).cards;
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(cards.at("eth0").packets, 150U);
  EXPECT_EQ(cards.at("eth0").errors, 7U);
  EXPECT_EQ(cards.at("mlx5_0/1").packets, 10U);
  EXPECT_EQ(cards.at("mlx5_0/1").errors, 2U);
}

TEST(HostState, of_a_host_without_these_files_is_empty) {
  const TempDirectory root("/tmp");
  const HostState host = look_at_host(root.path());
  EXPECT_FALSE(host.processors);
  EXPECT_FALSE(host.memory_waits);
  EXPECT_TRUE(host.cards.empty());
}

TEST(HostState, is_known_of_this_host) {
  EXPECT_TRUE(look_at_host().processors);
  EXPECT_FALSE(look_at_host().boot_id.empty());
}

}  // namespace
}  // namespace cairn::test
