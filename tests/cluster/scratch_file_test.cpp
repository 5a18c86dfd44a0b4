// Files in the node's own store that the program writes for each snapshot: they are in it, and nowhere else afterwards.
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/names.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"
#include "support/faulty_store.hpp"
#include "support/job.hpp"
#include "support/small_tmpfs.hpp"
#include "support/temp_directory.hpp"
#include "support/text_files.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScratchSettings =
    "[job]\non_storage_error = throw\n[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = every 3\n[restart]\n"
    "at_end = continue\n";

// While it lives, the file can be neither removed nor renamed: one of another file system is mounted there. An empty
// `other`: it can.
class Immovable {
 public:
  Immovable(const std::string& path, const std::string& other) : path_(other.empty() ? "" : path) {
    if (path_.empty()) return;
    write_file(other + "/file", "");
    EXPECT_EQ(::mount((other + "/file").c_str(), path.c_str(), nullptr, MS_BIND, nullptr), 0) << std::strerror(errno);
  }
  ~Immovable() {
    if (!path_.empty()) ::umount2(path_.c_str(), MNT_DETACH);
  }
  Immovable(const Immovable&) = delete;
  Immovable& operator=(const Immovable&) = delete;

 private:
  std::string path_;
};

class ScratchFiles : public testing::Test {
 protected:
  ScratchFiles() {
    job.log_level = "off";
    job.wrap_node = [this](std::uint32_t node, const std::shared_ptr<Store>&) { return open_node(node); };
  }
  [[nodiscard]] std::string node_root(std::uint32_t node) const {
    return directory.path() + "/node" + std::to_string(node);
  }
  [[nodiscard]] std::shared_ptr<Store> open_node(std::uint32_t node) const {
    return PosixStore::open(node_root(node), "heat").value();
  }
  [[nodiscard]] std::string directory_of(std::uint32_t rank) const {
    return node_root(rank) + "/heat/" + names::files(Rank{rank}).path;
  }
  static std::string contents(std::uint32_t rank, int step) {
    return std::string(20'000 + rank, static_cast<char>('a' + step)) + std::to_string(rank);
  }
  // One snapshot of each of these steps, with a file of that step; the job dies then.
  void take(int first, int last) {
    job.run_well_and_die([&](JobSession& session) {
      int step = 0;
      session.protect("step", step, same);
      const std::string path = session.scratch_file("state.dat");
      session.restore();
      for (step = first; step <= last; ++step) {
        write_file(path, contents(session.rank(), step));
        session.snapshot();
        EXPECT_EQ(text_of_file(path), "missing");
      }
      session.wait(LevelId::partner);
    });
  }
  void expect_restored(int step) {
    job.run_well_and_die([&](JobSession& session) {
      int restored = 0;
      session.protect("step", restored, same);
      const std::string path = session.scratch_file("state.dat");
      session.restore();
      EXPECT_EQ(restored, step);
      EXPECT_TRUE(text_of_file(path) == contents(session.rank(), step)) << path;
    });
  }

  TempDirectory directory{"/tmp"};
  Job job{{2, 2}, kScratchSettings};
};

TEST_F(ScratchFiles, are_in_the_snapshot_and_removed_after_it) {
  take(1, 3);
  expect_restored(3);
  expect_restored(3);
  fs::remove_all(node_root(1));
  expect_restored(3);  // what node 1 had comes from its partner
}

TEST_F(ScratchFiles, are_in_the_nodes_store_at_one_path_while_they_are_protected) {
  job.run([&](JobSession& session) {
    const std::string path = session.scratch_file("state.h5");
    EXPECT_EQ(path, directory_of(session.rank()) + "/state.h5");
    EXPECT_EQ(session.scratch_file("state.h5", same), path);
    write_file(path, "one");
    EXPECT_EQ(session.scratch_file("state.h5"), path);
    EXPECT_EQ(text_of_file(path), "one");
    const std::string other = session.scratch_file("other");
    write_file(other, "two");
    session.unprotect("other");
    EXPECT_EQ(text_of_file(other), "missing");
    session.snapshot();
    write_file(path, "three");
    session.protect_file("state.h5", path);
    EXPECT_EQ(text_of_file(path), "missing");
    EXPECT_EQ(session.scratch_file("state.h5"), path);
  });
  for (const std::uint32_t rank : {0U, 1U}) EXPECT_FALSE(fs::exists(directory_of(rank)));
}

TEST_F(ScratchFiles, that_were_restored_stay_until_the_next_snapshot) {
  take(1, 2);
  job.run([&](JobSession& session) {
    int step = 0;
    session.protect("step", step, same);
    const std::string path = session.scratch_file("state.dat");
    session.restore();
    const auto restored = [&] { return text_of_file(path) == contents(session.rank(), 2); };
    EXPECT_TRUE(restored());
    session.wait(LevelId::local);
    EXPECT_TRUE(restored());
    // What is written at once, of the same length, in the same file.
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary) << contents(session.rank(), 3);
    step = 3;
    session.snapshot();
    EXPECT_EQ(text_of_file(path), "missing");
    session.restore();
    EXPECT_TRUE(text_of_file(path) == contents(session.rank(), 3));
  });
}

// Otherwise a snapshot would have an old file beside new variables.
TEST_F(ScratchFiles, that_one_rank_has_not_written_cost_a_snapshot_on_all_ranks) {
  take(1, 2);
  job.run([&](JobSession& session) {
    int step = 0;
    session.protect("step", step, same);
    const std::string path = session.scratch_file("state.dat");
    session.restore();
    for (const char* const why :
         {"has not been written since it was restored", "has not been written for this snapshot"}) {
      if (session.rank() == 0) write_file(path, "new");
      const auto failure = thrown_by([&] {
        session.snapshot(LevelId::local);
        session.wait(LevelId::local);
      });
      EXPECT_THAT(failure, Fails(ErrorKind::storage, {"version"}));
      if (session.rank() == 1) {
        EXPECT_THAT(session.storage_error(), Names({"file \"state.dat\"", path, why}));
      }
      EXPECT_EQ(text_of_file(path), "missing");
    }
    write_file(path, contents(session.rank(), 7));
    step = 7;
    session.snapshot(LevelId::local);
    session.wait(LevelId::local);
  });
  expect_restored(7);
}

// A snapshot would have the contents of the one before it. Another file system is mounted at the file: it can be read
// and written, and not be removed.
TEST_F(ScratchFiles, that_cannot_be_removed_are_not_taken_for_new_ones) {
  const SmallTmpfs small("size=2m");
  ASSERT_TRUE(small.mounted());
  take(1, 2);
  job.run_well_and_die([&](JobSession& session) {
    int step = 0;
    session.protect("step", step, same);
    const std::string path = session.scratch_file("state.dat");
    session.restore();
    write_file(path, contents(session.rank(), 3));
    const Immovable immovable(path, session.rank() == 1 ? small.path() : "");
    step = 3;
    write_file(path, contents(session.rank(), 3));
    session.snapshot(LevelId::local);
    session.wait(LevelId::local);
    step = 4;
    if (session.rank() == 0) write_file(path, contents(0, 4));
    const auto failure = thrown_by([&] {
      session.snapshot(LevelId::local);
      session.wait(LevelId::local);
    });
    EXPECT_THAT(failure, Fails(ErrorKind::storage, {"version"}));
    if (session.rank() == 1) {
      EXPECT_THAT(session.storage_error(),
                  Names({"file \"state.dat\"", path, "has not been written since", "removed"}));
    }
    step = 5;
    write_file(path, contents(session.rank(), 5));
    session.snapshot(LevelId::local);
    session.wait(LevelId::local);
  });
  expect_restored(5);
}

TEST_F(ScratchFiles, of_earlier_runs_are_removed_at_the_next_start) {
  job.run_and_die([&](JobSession& session) {
    for (const char* const name : {"state.dat", "other"}) write_file(session.scratch_file(name), "left");
    session.restore();
    session.kill_job();
    session.snapshot();
  });
  for (const std::uint32_t rank : {0U, 1U}) {
    fs::create_directories(directory_of(rank));
    write_file(directory_of(rank) + "/left", "by a process that was killed");
  }
  fs::create_directories(node_root(0) + "/heat/" + names::files(Rank{7}).path);  // by a rank that is elsewhere now
  job.run_well_and_die([&](JobSession& session) {
    EXPECT_FALSE(fs::exists(directory_of(session.rank())));
    EXPECT_EQ(text_of_file(session.scratch_file("state.dat")), "missing");
    EXPECT_FALSE(session.restore().restored);
  });
  EXPECT_FALSE(fs::exists(node_root(0) + "/heat/" + names::files(Rank{7}).path));
}

TEST_F(ScratchFiles, with_wrong_names_or_kinds_are_refused) {
  job.run([&](JobSession& session) {
    const std::string outside = directory_of(session.rank()) + "/../../outside";
    fs::create_directories(directory_of(session.rank()));
    write_file(outside, "not Cairn's");
    for (const char* const name : {".", "..", ".hidden", "a/b", "../../outside"})
      EXPECT_THAT(thrown_by([&] { static_cast<void>(session.scratch_file(name)); }),
                  Fails(ErrorKind::usage, {"name", name}));
    EXPECT_EQ(text_of_file(outside), "not Cairn's");
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.scratch_file("x", sequence)); }),
                Fails(ErrorKind::usage, {"x", "a file"}));
  });
}

TEST_F(ScratchFiles, need_a_store_with_paths) {
  job.wrap_node = nullptr;
  job.run([](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { static_cast<void>(session.scratch_file("x")); }), Fails(ErrorKind::usage, {"\"x\""}));
  });
}

TEST_F(ScratchFiles, for_which_the_store_has_no_room_are_named_in_a_restore) {
  take(1, 2);
  const SmallTmpfs small("size=4m");
  ASSERT_TRUE(small.mounted());
  fs::remove_all(node_root(1));
  fs::create_directory_symlink(small.path(), node_root(1));
  const auto restore = [&](JobSession& session) {
    int step = 0;
    session.protect("step", step, same);
    const std::string path = session.scratch_file("state.dat");
    // As much as leaves room for the shard alone.
    if (session.rank() == 1 && !fs::exists(small.path() + "/other"))
      write_file(small.path() + "/other", std::string((4U << 20U) - 50'000, 'x'));
    session.restore();
    EXPECT_TRUE(text_of_file(path) == contents(session.rank(), 2));
  };
  job.run_and_die([&](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { restore(session); }), Fails(ErrorKind::storage, {"No space left"}));
    EXPECT_EQ(text_of_file(session.scratch_file("state.dat")), "missing");
  });
  fs::remove(small.path() + "/other");
  write_file(small.path() + "/other", "");
  job.run_well_and_die(restore);
}

TEST_F(ScratchFiles, of_one_rank_come_back_on_another_number_of_ranks) {
  job.run([](JobSession& session) {
    write_file(session.scratch_file("setup", same), "for all");
    session.snapshot();
  });
  job.reshape({2, 2, 2});
  job.run([](JobSession& session) {
    const std::string path = session.scratch_file("setup", same);
    EXPECT_EQ(session.restore().old_ranks, 2U);
    EXPECT_EQ(text_of_file(path), "for all");
  });
}

// A crash at store operation 0, 1, 2 … of three snapshots: what is restored has the file of its own step.
TEST_F(ScratchFiles, belong_to_the_variables_after_a_crash_at_any_store_operation) {
  bool crashed = true;
  std::uint32_t restored_steps = 0;
  for (std::uint64_t operation = 0; crashed; operation += 1 + operation / 40) {
    for (const std::uint32_t node : {0U, 1U}) fs::remove_all(node_root(node));
    job.lose_global_snapshots();
    Job crashing({2, 2}, kScratchSettings);
    crashing.log_level = "off";
    const auto plan = std::make_shared<FaultPlan>();
    plan->crash_at(operation);
    crashing.wrap_node = [&](std::uint32_t node, const std::shared_ptr<Store>&) {
      return std::make_shared<FaultyStore>(open_node(node), plan);
    };
    crashing.run_and_die([&](JobSession& session) {
      plan->on_first_failure([&] { session.kill_job(); });
      int step = 0;
      session.protect("step", step, same);
      const std::string path = session.scratch_file("state.dat");
      session.restore();
      for (step = 1; step <= 3; ++step) {
        write_file(path, contents(session.rank(), step));
        session.snapshot();
      }
      session.wait(LevelId::partner);
    });
    crashed = plan->has_failed();
    crashing.wrap_node = job.wrap_node;
    crashing.run_well_and_die([&](JobSession& session) {
      int step = 0;
      session.protect("step", step, same);
      const std::string path = session.scratch_file("state.dat");
      const bool restored = session.restore().restored;
      EXPECT_EQ(text_of_file(path) == contents(session.rank(), step), restored) << "operation " << operation;
      if (!restored) {
        EXPECT_EQ(text_of_file(path), "missing");
      }
      if (session.rank() == 0 && restored) ++restored_steps;
    });
  }
  EXPECT_GT(restored_steps, 3U);
}

}  // namespace
}  // namespace cairn::test
