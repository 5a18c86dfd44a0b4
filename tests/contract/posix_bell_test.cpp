// Bells of a store that is removed under a running job: whoever opens one later is heard by those who have one.
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "store/posix/posix_store.hpp"
#include "support/temp_directory.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;
using Who = Bell::Who;
constexpr std::chrono::seconds kLong{60};

std::unique_ptr<Bell> open_bell(const std::string& root) {
  const auto store = PosixStore::open(root, "heat");
  EXPECT_TRUE(store) << store.error().text();
  auto bell = (*store)->bell();
  EXPECT_TRUE(bell) << bell.error().text();
  return std::move(*bell);
}

// A head's bell, and that of a rank which came after somebody removed `what` of the store.
struct EarlyAndLate {
  test::TempDirectory root;
  std::unique_ptr<Bell> head;
  std::unique_ptr<Bell> rank;

  EarlyAndLate(const std::string& place, const std::string& what) : root(place), head(open_bell(root.path())) {
    head->ring(Who::head);
    head->ring(Who::ranks);
    fs::remove_all(root.path() + what);
    rank = open_bell(root.path());
  }
};

void for_each_removal(void (*body)(EarlyAndLate& bells)) {
  for (const std::string place : {"/dev/shm", "/var/tmp"}) {
    for (const std::string what : {"/heat", "/heat/bell"}) {
      SCOPED_TRACE(place + what);
      EarlyAndLate bells(place, what);
      body(bells);
    }
  }
}

TEST(PosixBell, of_before_a_removal_and_of_after_it_hear_each_other) {
  for_each_removal([](EarlyAndLate& bells) {
    for (int turn = 0; turn < 3; ++turn) {
      std::uint32_t seen = bells.head->rings(Who::head);
      bells.rank->ring(Who::head);
      bells.head->wait(Who::head, seen, kLong);
      EXPECT_EQ(bells.head->rings(Who::head), seen + 1);
      seen = bells.rank->rings(Who::ranks);
      bells.head->ring(Who::ranks);
      bells.rank->wait(Who::ranks, seen, kLong);
      EXPECT_EQ(bells.rank->rings(Who::ranks), seen + 1);
    }
  });
}

TEST(PosixBell, that_goes_over_to_another_file_rings) {
  for_each_removal([](EarlyAndLate& bells) {
    constexpr std::uint32_t kSeen = 1;
    bells.head->wait(Who::head, kSeen, kLong);
    EXPECT_EQ(bells.head->rings(Who::head), kSeen + 1);
    EXPECT_EQ(bells.head->rings(Who::ranks), kSeen + 1);
  });
}

TEST(PosixBell, is_heard_by_one_who_sleeps_since_before_the_removal) {
  const test::TempDirectory root("/dev/shm");
  const auto head = open_bell(root.path());
  std::thread sleeper([&] { head->wait(Who::head, 0, kLong); });
  fs::remove_all(root.path() + "/heat");
  open_bell(root.path())->ring(Who::head);
  sleeper.join();
  EXPECT_GT(head->rings(Who::head), 0U);
}

}  // namespace
}  // namespace cairn
