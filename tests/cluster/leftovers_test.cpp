// What killed processes leave in the stores is not there for ever: the next start removes it, while the chain goes on.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "recover/leftovers.hpp"
#include "session/session_impl.hpp"
#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/steps.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kContinue =
    "[levels]\nl1 = every 1\nl2 = every 1\nl3 = every 1\nl4 = every 1\n[erasure]\ngroup = 3\nparity = 1\n"
    "[restart]\nat_end = continue\n";

// A process that is killed while it writes a file of this store.
void leave_half_a_file(const std::string& root) {
  const pid_t process = ::fork();
  if (process == 0) {
    const auto store = PosixStore::open(root, "heat");
    if (!store) ::_exit(1);
    const auto writer = (*store)->create(FileName{"half"}, 10'000, "head");
    ::_exit(writer ? 0 : 1);  // without a destructor
  }
  int status = -1;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  ASSERT_EQ(status, 0);
}

// Names in the pool that are neither free files nor written by a process that lives.
std::vector<std::string> leftovers(const std::string& root) {
  std::vector<std::string> names;
  const std::string own = "-" + std::to_string(::getpid()) + ".";
  for (const auto& entry : fs::directory_iterator(root + "/heat/recycle")) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".free") && name.find(own) == std::string::npos) names.push_back(name);
  }
  return names;
}

TEST(Leftovers, of_killed_writers_are_removed_from_all_stores_at_the_next_start) {
  const TempDirectory root("/dev/shm");
  const auto root_of = [&](const std::string& store) { return root.path() + "/" + store; };
  Job job({2, 2, 2}, kContinue);
  job.wrap_node = [&](std::uint32_t node, const std::shared_ptr<Store>&) {
    return PosixStore::open(root_of("node" + std::to_string(node)), "heat").value();
  };
  job.wrap_global = [&](const std::shared_ptr<Store>&) { return PosixStore::open(root_of("global"), "heat").value(); };
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    steps.wait_for_all();
  });
  for (const std::string store : {"node1", "global"}) {
    leave_half_a_file(root_of(store));
    // A directory that was being removed, and a file that a process of another host was writing.
    fs::create_directories(root_of(store) + "/heat/recycle/1234.removed/inner");
    fs::copy_file("/etc/hostname", root_of(store) + "/heat/recycle/nobody.00000000-1.2.writing");
    ASSERT_EQ(leftovers(root_of(store)).size(), 3U) << store;
  }
  job.run_well_and_die([&](JobSession& session) {
    // Nothing is touched before it is known that the job can go on.
    EXPECT_EQ(Steps(session).restore(), 1U);
    for (const std::string store : {"node1", "global"}) {
      EXPECT_THAT(leftovers(root_of(store)), testing::IsEmpty()) << store;
    }
  });
}

// Ranks 1 and 40 were killed, the second in a life with more ranks.
void leave_recorded_calls(Store& store) {
  for (const std::uint32_t rank : {1U, 40U}) {
    ASSERT_TRUE(write_text(store, names::calls(Rank{rank}), "MPI_Barrier"));
  }
}

std::size_t recorded_calls(const Store& store) { return store.list(names::calls()).value().size(); }

TEST(Leftovers, of_killed_ranks_calls_are_removed_when_the_next_life_opens) {
  for (const std::string mode : {"rank", "thread", "inline"}) {
    Job job({2, 2, 2}, kContinue + ("[head]\nmode = " + mode + "\n"));
    for (std::uint32_t node = 0; node < job.nodes(); ++node) leave_recorded_calls(job.node_store(node));
    job.run([&](JobSession& session) {
      ASSERT_TRUE(session.impl().ranks().barrier());  // all nodes' heads have opened
      for (std::uint32_t node = 0; node < job.nodes(); ++node) EXPECT_EQ(recorded_calls(job.node_store(node)), 0U);
    });
  }
}

// A rank that was replaced on another node has left its calls here.
TEST(Leftovers, of_ranks_that_continue_calls_stay_and_those_of_other_ranks_are_removed) {
  Job job({2}, kContinue);
  MemoryStore& store = job.node_store(0);
  leave_recorded_calls(store);
  const std::array kept{Rank{0}, Rank{1}};
  remove_recorded_calls(store, kept, Log::silent());
  EXPECT_EQ(recorded_calls(store), 1U);
  EXPECT_TRUE(store.open(names::calls(Rank{1})));
}

TEST(Leftovers, of_killed_ranks_calls_stay_when_a_start_is_refused) {
  Job job({2, 2, 2}, kContinue);
  for (std::uint32_t node = 0; node < job.nodes(); ++node) leave_recorded_calls(job.node_store(node));
  const auto lock = job.node_store(1).lock().value();  // another job of this name runs there
  job.run_and_die([](JobSession&) { ADD_FAILURE() << "two jobs of one name run at once"; });
  EXPECT_THAT(job.open_error(), Fails(Code::taken_over, {"node 1"}));
  for (std::uint32_t node = 0; node < job.nodes(); ++node) EXPECT_EQ(recorded_calls(job.node_store(node)), 2U);
}

DirName only_snapshot(const Store& store) {
  const std::vector<Entry> entries = store.list(DirName{}).value();
  for (const Entry& entry : entries) {
    if (names::parse_snapshot(entry.name)) return DirName{entry.name};
  }
  ADD_FAILURE() << store.where() << " holds no snapshot";
  return {};
}

TEST(Leftovers, of_a_promotion_that_never_ended_are_removed_at_the_next_start) {
  Job job({2, 2, 2}, kContinue);
  job.run_well_and_die([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
    steps.wait_for_all();
  });
  MemoryStore& store = job.node_store(1);
  const StoreImage before = image_of(store);
  const DirName dir = only_snapshot(store);
  const LayoutId another{0x12345678};
  const std::vector<FileName> unnamed = {names::parity(dir, {0, 0, another}),
                                         names::copy(dir, {NodeId{0}, Rank{0}, another})};
  for (const FileName& name : unnamed) ASSERT_TRUE(write_text(store, name, "half"));
  job.run_well_and_die([&](JobSession& session) {
    EXPECT_EQ(Steps(session).restore(), 1U);
    EXPECT_THAT(differences(before, image_of(job.node_store(1))), testing::IsEmpty());
  });
}

// A store whose slots are never all ready, so that whoever makes them ready does so until stopped.
class NeverReadyStore final : public HookedStore {
 public:
  explicit NeverReadyStore(std::shared_ptr<Store> store)
      : HookedStore(std::move(store), [](const Operation&) { return Status{}; }) {}

  Result<bool> warm_up(const std::string&, std::uint64_t, std::uint32_t) override {
    const std::lock_guard guard(mutex_);
    ++calls_;
    called_.notify_all();
    return false;
  }

  Status clean() override {
    auto status = HookedStore::clean();
    std::unique_lock guard(mutex_);
    const auto seen = calls_;
    refilled_ |= called_.wait_until(guard, std::chrono::system_clock::now() + std::chrono::milliseconds(300),
                                    [&] { return calls_ != seen; });
    return status;
  }

  [[nodiscard]] bool refilled() {
    const std::lock_guard guard(mutex_);
    return refilled_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable called_;
  std::uint64_t calls_ = 0;
  bool refilled_ = false;
};

TEST(Leftovers, are_not_made_anew_in_a_store_that_the_end_of_the_chain_has_emptied) {
  Job job({3}, "[levels]\nl1 = every 1\n[restart]\nat_end = finished\n");
  std::shared_ptr<NeverReadyStore> store;
  std::mutex mutex;
  job.wrap_node = [&](std::uint32_t, std::shared_ptr<Store> inner) -> std::shared_ptr<Store> {
    const std::lock_guard guard(mutex);
    if (!store) store = std::make_shared<NeverReadyStore>(std::move(inner));
    return store;
  };
  job.run([](JobSession& session) {
    Steps steps(session);
    steps.restore();
    steps.advance();
  });
  EXPECT_FALSE(store->refilled());
}

}  // namespace
}  // namespace cairn::test
