// Files of the application: they come back as they were, all of them or none.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "store/names.hpp"
#include "support/facts.hpp"
#include "support/hooked_store.hpp"
#include "support/job.hpp"
#include "support/small_tmpfs.hpp"
#include "support/temp_directory.hpp"
#include "support/text_files.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr const char* kFileSettings =
    "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = every 1\n[restart]\nat_end = continue\n";

ino_t inode_of(const std::string& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_ino : 0;
}

std::vector<std::string> entries_of(const std::string& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

class Files : public testing::Test {
 protected:
  // What rank `rank` has in its file at `step`; long enough for several blocks.
  [[nodiscard]] std::string contents(std::uint32_t rank, int step) const {
    return std::string(length + rank, static_cast<char>('a' + step)) + std::to_string(rank);
  }
  [[nodiscard]] std::string path(std::uint32_t rank) const {
    return directory.path() + "/rank" + std::to_string(rank) + ".dat";
  }
  void protect(JobSession& session, int& step) const {
    session.protect("step", step, same);
    session.protect_file("data", path(session.rank()));
  }
  // One snapshot of step 1; then the files are of step 2.
  void keep_files() {
    job.run([&](JobSession& session) {
      int step = 1;
      protect(session, step);
      write_file(path(session.rank()), contents(session.rank(), 1));
      fs::permissions(path(session.rank()), fs::perms(0640));
      session.restore();
      session.snapshot();
      session.wait(LevelId::global);
      write_file(path(session.rank()), contents(session.rank(), 2));
    });
  }
  void expect_files(int step) const {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank)
      EXPECT_TRUE(text_of_file(path(rank)) == contents(rank, step)) << "rank " << rank;
    EXPECT_EQ(entries_of(directory.path()).size(), kRanks);
  }
  // Expects that restore() throws this on all ranks.
  template <class Matcher>
  void expect_refusal(const Matcher& refusal) {
    job.run_and_die([&](JobSession& session) {
      int step = 0;
      protect(session, step);
      EXPECT_THAT(thrown_by([&] { session.restore(); }), refusal);
      EXPECT_THAT(thrown_by([&] { session.snapshot(); }), refusal);
    });
  }
  void restore_files() {
    job.run([&](JobSession& session) {
      int step = 0;
      protect(session, step);
      EXPECT_TRUE(session.restore().restored);
      EXPECT_EQ(step, 1);
    });
  }

  static constexpr std::uint32_t kRanks = 2;
  std::size_t length = 2'500'000;
  TempDirectory directory{"/tmp"};
  Job job{{2, 2}, kFileSettings};
};

TEST_F(Files, come_back_with_contents_and_permissions) {
  keep_files();
  expect_files(2);
  fs::permissions(path(0), fs::perms(0600));
  restore_files();
  expect_files(1);
  EXPECT_EQ(fs::status(path(0)).permissions(), fs::perms(0640));
}

TEST_F(Files, come_back_where_they_are_missing_and_from_l4) {
  keep_files();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) fs::remove(path(rank));
  for (std::uint32_t host = 0; host < job.nodes(); ++host) job.lose(host);
  restore_files();
  expect_files(1);
  EXPECT_EQ(fs::status(path(1)).permissions(), fs::perms(0640));
}

TEST_F(Files, on_a_fresh_start_stay_as_they_are) {
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) write_file(path(rank), contents(rank, 5));
  job.run([&](JobSession& session) {
    int step = 0;
    protect(session, step);
    EXPECT_FALSE(session.restore().restored);
  });
  expect_files(5);
}

// A log: the program appends to it, and has it open.
TEST_F(Files, whose_beginning_is_the_same_are_truncated_in_place) {
  keep_files();
  std::vector<ino_t> before;
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    write_file(path(rank), contents(rank, 1) + "more lines");
    before.push_back(inode_of(path(rank)));
  }
  job.run([&](JobSession& session) {
    int step = 0;
    const int log = ::open(path(session.rank()).c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
    protect(session, step);
    session.restore();
    EXPECT_EQ(::write(log, "after", 5), 5);
    ::close(log);
  });
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_TRUE(text_of_file(path(rank)) == contents(rank, 1) + "after");
    EXPECT_EQ(inode_of(path(rank)), before[rank]);
  }
}

TEST_F(Files, that_differ_only_at_the_end_are_replaced) {
  keep_files();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    std::string text = contents(rank, 1);
    text.back() = 'X';
    write_file(path(rank), text);
  }
  restore_files();
  expect_files(1);
}

TEST_F(Files, that_are_empty_come_back_empty) {
  const auto run = [&](const std::function<void(JobSession&)>& then) {
    job.run([&](JobSession& session) {
      session.protect_file("data", path(session.rank()));
      then(session);
    });
  };
  run([&](JobSession& session) {
    write_file(path(session.rank()), "");
    session.snapshot();
  });
  fs::remove(path(0));
  write_file(path(1), "grown");
  run([&](JobSession& session) { EXPECT_TRUE(session.restore().restored); });
  EXPECT_EQ(text_of_file(path(0)), "");
  EXPECT_EQ(text_of_file(path(1)), "");
}

TEST_F(Files, with_zeros_come_back_with_holes) {
  constexpr std::size_t kZeros = 8U << 20U;
  const std::string text = "begin" + std::string(kZeros, '\0') + "end" + std::string(4096, '\0');
  job.run([&](JobSession& session) {
    write_file(path(session.rank()), text);
    session.protect_file("data", path(session.rank()));
    session.snapshot();
    fs::remove(path(session.rank()));
  });
  job.run([&](JobSession& session) {
    session.protect_file("data", path(session.rank()));
    session.restore();
    struct stat status = {};
    ASSERT_EQ(::stat(path(session.rank()).c_str(), &status), 0);
    EXPECT_TRUE(text_of_file(path(session.rank())) == text);
    EXPECT_LT(status.st_blocks * 512, static_cast<std::int64_t>(kZeros) / 8);
  });
}

// A version that fails says why, and the next one is good.
TEST_F(Files, that_cannot_be_read_cost_a_snapshot_on_all_ranks_and_are_named) {
  const std::vector<std::pair<std::string, std::function<void(const std::string&)>>> troubles{
      {"No such file", [](const std::string& file) { fs::remove(file); }},
      {"is a directory", [](const std::string& file) { fs::remove(file), fs::create_directory(file); }},
      {"symbolic link", [](const std::string& file) { fs::remove(file), fs::create_symlink("/dev/zero", file); }},
      {"not a regular file", [](const std::string& file) { fs::remove(file), ::mkfifo(file.c_str(), 0600); }}};
  for (const auto& [why, make] : troubles) {
    job.run([&](JobSession& session) {
      int step = 1;
      const std::string file = path(session.rank());
      fs::remove(file);
      write_file(file, "good");
      protect(session, step);
      session.restore();
      EXPECT_EQ(text_of_file(file), "good");
      if (session.rank() == 1) make(file);
      const std::uint32_t version = session.snapshot(LevelId::local);
      EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }),
                  Fails(ErrorKind::storage, {"version " + std::to_string(version)}));
      if (session.rank() == 1) {
        EXPECT_THAT(session.storage_error(), Names({"file \"data\"", file, why}));
        fs::remove(file);
        write_file(file, "good");
      }
      session.snapshot(LevelId::local);
      session.wait(LevelId::local);
    });
  }
}

// While the shard is made, after the file was opened.
TEST_F(Files, that_change_while_they_are_read_cost_a_snapshot) {
  const std::vector<std::function<void(const std::string&)>> changes{
      [](const std::string& file) { fs::resize_file(file, 1'000); },
      [](const std::string& file) { std::ofstream(file, std::ios::app) << "more"; }};
  for (const auto& change : changes) {
    std::atomic<bool> changes_now = false;
    job.wrap_node = [&](std::uint32_t node, std::shared_ptr<Store> store) -> std::shared_ptr<Store> {
      if (node != 1) return store;
      return std::make_shared<HookedStore>(store, [&](const HookedStore::Operation& operation) -> Status {
        if (operation.kind == HookedStore::Operation::Kind::create && operation.path.ends_with(".shard") &&
            changes_now.exchange(false))
          change(path(1));
        return {};
      });
    };
    job.run([&](JobSession& session) {
      int step = 1;
      write_file(path(session.rank()), contents(session.rank(), 1));
      protect(session, step);
      if (session.rank() == 1) changes_now = true;
      const std::uint32_t version = session.snapshot(LevelId::local);
      EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }),
                  Fails(ErrorKind::storage, {"version " + std::to_string(version)}));
      if (session.rank() == 1) {
        EXPECT_THAT(session.storage_error(), Names({"file \"data\"", path(1), "has changed"}));
      }
      session.snapshot(LevelId::local);
      session.wait(LevelId::local);
    });
  }
}

TEST_F(Files, are_all_left_as_they_were_if_one_cannot_be_put_back) {
  keep_files();
  fs::remove(path(1));
  fs::create_directory(path(1));
  expect_refusal(Fails(ErrorKind::storage, {"rank 1", "file \"data\"", path(1), "is a directory"}));
  EXPECT_TRUE(text_of_file(path(0)) == contents(0, 2));
  fs::remove(path(1));
  fs::create_symlink("elsewhere", path(1));
  expect_refusal(Fails(ErrorKind::storage, {"rank 1", "file \"data\"", path(1), "symbolic link"}));
  EXPECT_TRUE(text_of_file(path(0)) == contents(0, 2));
  EXPECT_THAT(entries_of(directory.path()), ElementsAre("rank0.dat", "rank1.dat"));
  fs::remove(path(1));
  restore_files();
  expect_files(1);
}

TEST_F(Files, are_all_left_as_they_were_if_a_disk_is_full) {
  const SmallTmpfs small("size=3m");
  ASSERT_TRUE(small.mounted());
  keep_files();
  write_file(small.path() + "/old", "old");
  const auto restore_on_full_disk = [&](JobSession& session) {
    int step = 0;
    session.protect("step", step, same);
    session.protect_file("data", session.rank() == 1 ? small.path() + "/old" : path(0));
    session.restore();
  };
  write_file(small.path() + "/other", std::string(1'500'000, 'x'));
  job.run_and_die([&](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { restore_on_full_disk(session); }),
                Fails(ErrorKind::storage, {"rank 1", "file \"data\"", "No space left"}));
  });
  EXPECT_EQ(text_of_file(small.path() + "/old"), "old");
  EXPECT_THAT(entries_of(small.path()), ElementsAre("old", "other"));
  EXPECT_TRUE(text_of_file(path(0)) == contents(0, 2));
  fs::remove(small.path() + "/other");
  job.run(restore_on_full_disk);
  EXPECT_TRUE(text_of_file(small.path() + "/old") == contents(1, 1));
}

// Heads offer the snapshot again, from another source, after rank 0 has prepared its file.
TEST_F(Files, come_back_whole_though_a_shard_is_damaged) {
  keep_files();
  const std::vector<Entry> entries = job.node_store(1).list(DirName{}).value();
  for (const Entry& entry : entries) {
    if (!names::parse_snapshot(entry.name)) continue;
    ASSERT_TRUE(job.node_store(1).corrupt(names::shard(DirName{entry.name}, Rank{1}), 2'000'000));
  }
  restore_files();
  expect_files(1);
}

TEST_F(Files, of_one_rank_come_back_on_another_number_of_ranks) {
  job.reshape({2, 2, 2});
  const auto protect_first = [&](JobSession& session) {
    session.protect_file("log", path(session.rank()), of_rank(2));
    EXPECT_THAT(thrown_by([&] { session.protect_file("other", path(0), sequence); }),
                Fails(ErrorKind::usage, {"other", "a file"}));
  };
  job.run([&](JobSession& session) {
    write_file(path(session.rank()), contents(session.rank(), 1));
    protect_first(session);
    session.snapshot();
  });
  job.reshape({2, 2});
  job.run([&](JobSession& session) {
    protect_first(session);
    EXPECT_EQ(session.restore().old_ranks, 3U);
    EXPECT_TRUE(text_of_file(path(session.rank())) == contents(2, 1));
  });
}

TEST_F(Files, are_told_from_other_regions) {
  keep_files();
  job.run([&](JobSession& session) {
    int step = 0;
    std::string data;
    session.protect("step", step);
    session.protect("data", data);
    EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::mismatch, {"data", "file("}));
    EXPECT_THAT(thrown_by([&] { session.protect_file("data", ""); }), Fails(ErrorKind::usage, {"data", "empty"}));
    protect(session, step);
    session.restore();
  });
}

// The job dies at message 0, 1, 2 … of a restore. Each file is the old one or the new one, and the next restore puts
// all of them back.
TEST_F(Files, are_whole_after_a_crash_at_any_message_of_a_restore) {
  length = 5'000;
  job.log_level = "off";
  keep_files();
  const Job::Image before = job.image();
  bool died = true;
  for (std::uint64_t message = 0; died; ++message) {
    job.put_back(before);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) write_file(path(rank), contents(rank, 2));
    job.message_faults = std::make_shared<CommFaultPlan>();
    job.message_faults->first_failing = message;
    job.run_and_die([&](JobSession& session) {
      int step = 0;
      protect(session, step);
      session.restore();
    });
    died = job.message_faults->failing;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const std::string text = text_of_file(path(rank));
      ASSERT_TRUE(text == contents(rank, 1) || text == contents(rank, 2)) << "message " << message;
    }
    job.message_faults.reset();
    if (message % 10 != 0) continue;
    restore_files();
    expect_files(1);
  }
}

// Beside the file of the program, which is of step 2 by then.
TEST_F(Files, of_an_open_snapshot_are_written_where_the_program_says) {
  keep_files();
  const auto copy = [&](std::uint32_t rank) { return directory.path() + "/copy" + std::to_string(rank); };
  write_file(copy(0), "what it replaces");
  for (const bool lost : {false, true}) {
    if (lost) job.lose(1);
    job.run_well_and_die([&](JobSession& session) {
      const OpenSnapshot open = session.open_snapshot(1);
      open.extract("data", copy(session.rank()));
    });
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      EXPECT_TRUE(text_of_file(copy(rank)) == contents(rank, 1)) << "rank " << rank;
      EXPECT_EQ(fs::status(copy(rank)).permissions(), fs::perms(0640));
      fs::remove(copy(rank));
    }
    expect_files(2);
  }
}

TEST_F(Files, of_an_open_snapshot_that_cannot_be_written_are_named_and_replace_nothing) {
  keep_files();
  const std::string taken = directory.path() + "/taken";
  fs::create_directory(taken);
  job.run_well_and_die([&](JobSession& session) {
    const OpenSnapshot open = session.open_snapshot(1);
    const auto refused = [&](const char* region, const std::string& path) {
      return thrown_by([&] { open.extract(region, path); });
    };
    EXPECT_THAT(refused("step", taken), Fails(ErrorKind::usage, {"\"step\"", "int32", "no file"}));
    EXPECT_THAT(refused("nothing", taken), Fails(ErrorKind::usage, {"it has: step, data"}));
    EXPECT_THAT(refused("data", ""), Fails(ErrorKind::usage, {"\"data\"", "the path is empty"}));
    EXPECT_THAT(refused("data", taken), Fails(ErrorKind::storage, {"file \"data\"", taken}));
    EXPECT_THAT(refused("data", taken + "/no/where"), Fails(ErrorKind::storage, {"file \"data\"", taken}));
  });
  EXPECT_THAT(entries_of(taken), IsEmpty());
  fs::remove(taken);
  expect_files(2);
}

}  // namespace
}  // namespace cairn::test
