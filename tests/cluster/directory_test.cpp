// Directories of the application: all files in them come back as they were, or none.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/directory_table.hpp"
#include "support/facts.hpp"
#include "support/job.hpp"
#include "support/small_tmpfs.hpp"
#include "support/temp_directory.hpp"

namespace cairn::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDirectorySettings =
    "[levels]\nl1 = every 1\nl2 = every 1\nl3 = off\nl4 = every 1\n[restart]\nat_end = continue\n";

void write(const std::string& path, const std::string& text) {
  fs::create_directories(fs::path(path).parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

// By path below it: contents of files, "directory", or "link"; with permissions.
std::map<std::string, std::string> tree_of(const std::string& root) {
  std::map<std::string, std::string> tree;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    std::string what = "directory";
    if (entry.is_symlink()) {
      what = "link";
    } else if (entry.is_regular_file()) {
      std::ifstream in(entry.path(), std::ios::binary);
      what = std::string(std::istreambuf_iterator<char>(in), {});
    }
    const auto mode = static_cast<unsigned>(entry.symlink_status().permissions());
    tree[fs::relative(entry.path(), root).string()] = std::to_string(mode) + " " + what;
  }
  return tree;
}

class Directories : public testing::Test {
 protected:
  [[nodiscard]] std::string root(std::uint32_t rank) const { return place.path() + "/rank" + std::to_string(rank); }
  // Several blocks, an empty file, an empty directory, and files in directories.
  void fill(std::uint32_t rank, char letter) const {
    write(root(rank) + "/large", std::string(length + rank, letter));
    write(root(rank) + "/empty", "");
    write(root(rank) + "/parts/one", std::string(1, letter));
    write(root(rank) + "/parts/deep/two", std::string(3, letter));
    fs::create_directories(root(rank) + "/nothing");
    fs::permissions(root(rank) + "/parts/one", fs::perms(0640));
    fs::permissions(root(rank) + "/parts", fs::perms(0750));
  }
  void protect(JobSession& session, int& step) const {
    session.protect("step", step, same);
    session.protect_directory("results", root(session.rank()));
  }
  void keep() {
    job.run([&](JobSession& session) {
      int step = 1;
      fill(session.rank(), 'a');
      protect(session, step);
      session.restore();
      session.snapshot();
      session.wait(LevelId::global);
    });
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) kept.push_back(tree_of(root(rank)));
  }
  void restore() {
    job.run([&](JobSession& session) {
      int step = 0;
      protect(session, step);
      EXPECT_TRUE(session.restore().restored);
      EXPECT_EQ(step, 1);
    });
  }
  void expect_kept() const {
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(tree_of(root(rank)) == kept[rank]) << rank;
  }
  // The restore fails with this, and all is as before.
  void expect_refusal(const Things& names) {
    std::vector<std::map<std::string, std::string>> before;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) before.push_back(tree_of(root(rank)));
    job.run_and_die([&](JobSession& session) {
      int step = 0;
      protect(session, step);
      EXPECT_THAT(thrown_by([&] { session.restore(); }), Fails(ErrorKind::storage, names));
    });
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) EXPECT_TRUE(tree_of(root(rank)) == before[rank]) << rank;
  }

  static constexpr std::uint32_t kRanks = 2;
  std::size_t length = 2'500'000;
  TempDirectory place{"/tmp"};
  Job job{{2, 2}, kDirectorySettings};
  std::vector<std::map<std::string, std::string>> kept;  // by rank
};

TEST_F(Directories, come_back_with_all_files_and_permissions) {
  keep();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    fill(rank, 'b');
    fs::remove(root(rank) + "/empty");
    fs::remove_all(root(rank) + "/parts/deep");
    fs::permissions(root(rank) + "/parts", fs::perms(0700));
  }
  restore();
  expect_kept();
}

TEST_F(Directories, come_back_where_they_are_missing_and_from_l4) {
  keep();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) fs::remove_all(root(rank));
  for (std::uint32_t host = 0; host < job.nodes(); ++host) job.lose(host);
  restore();
  expect_kept();
}

// They may be all that is left of something.
TEST_F(Directories, keep_files_that_have_appeared_since_the_snapshot) {
  keep();
  write(root(0) + "/parts/new", "new");
  write(root(0) + "/other/new", "new");
  restore();
  auto tree = tree_of(root(0));
  EXPECT_EQ(tree.erase("parts/new") + tree.erase("other/new") + tree.erase("other"), 3U);
  EXPECT_TRUE(tree == kept[0]);
}

TEST_F(Directories, with_links_and_other_things_cost_a_snapshot_and_name_them) {
  const std::vector<std::pair<std::string, std::function<void(const std::string&)>>> troubles{
      {"symbolic link", [](const std::string& path) { fs::create_symlink("/tmp", path); }},
      {"no regular file", [](const std::string& path) { ::mkfifo(path.c_str(), 0600); }}};
  for (const auto& [why, make] : troubles) {
    job.run([&](JobSession& session) {
      int step = 1;
      fill(session.rank(), 'a');
      const std::string path = root(session.rank()) + "/parts/odd";
      fs::remove(path);
      protect(session, step);
      session.restore();
      if (session.rank() == 1) make(path);
      session.snapshot(LevelId::local);
      EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), Fails(ErrorKind::storage, {"version"}));
      if (session.rank() == 1) {
        EXPECT_THAT(session.storage_error(), Names({"directory \"results\"", path, why}));
        fs::remove(path);
      }
      session.snapshot(LevelId::local);
      session.wait(LevelId::local);
    });
  }
}

TEST_F(Directories, that_are_missing_or_files_cost_a_snapshot) {
  job.run_and_die([&](JobSession& session) {
    session.protect_directory("results", root(session.rank()));
    session.restore();
    if (session.rank() == 0) write(root(0), "a file");
    session.snapshot(LevelId::local);
    EXPECT_THAT(thrown_by([&] { session.wait(LevelId::local); }), Fails(ErrorKind::storage, {"version"}));
    EXPECT_THAT(session.storage_error(),
                Names({root(session.rank()), session.rank() == 0 ? "is not a directory" : "No such file"}));
    EXPECT_THAT(thrown_by([&] { session.protect_directory("results", ""); }), Fails(ErrorKind::usage, {"results"}));
  });
}

TEST_F(Directories, are_all_left_as_they_were_if_one_cannot_be_put_back) {
  keep();
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) fill(rank, 'b');
  const std::string file = root(1) + "/parts/one";
  fs::remove(file);
  fs::create_directory(file);
  expect_refusal({"rank 1", "directory \"results\"", file, "is a directory"});
  fs::remove(file);
  fs::remove_all(root(1) + "/parts/deep");
  fs::create_symlink("/tmp", root(1) + "/parts/deep");
  expect_refusal({"rank 1", root(1) + "/parts/deep", "symbolic link"});
  fs::remove(root(1) + "/parts/deep");
  write(root(1) + "/parts/deep", "a file");
  expect_refusal({"rank 1", root(1) + "/parts/deep", "is not a directory"});
  fs::remove(root(1) + "/parts/deep");
  restore();
  expect_kept();
}

TEST_F(Directories, are_all_left_as_they_were_if_a_disk_is_full) {
  const SmallTmpfs small("size=3m");
  ASSERT_TRUE(small.mounted());
  keep();
  fill(0, 'b');
  const auto before = tree_of(root(0));
  const auto restore_on_full_disk = [&](JobSession& session) {
    int step = 0;
    session.protect("step", step, same);
    session.protect_directory("results", session.rank() == 1 ? small.path() + "/there" : root(0));
    session.restore();
  };
  write(small.path() + "/other", std::string(1'500'000, 'x'));
  job.run_and_die([&](JobSession& session) {
    EXPECT_THAT(thrown_by([&] { restore_on_full_disk(session); }),
                Fails(ErrorKind::storage, {"rank 1", "directory \"results\"", "No space left"}));
  });
  EXPECT_TRUE(tree_of(root(0)) == before);
  EXPECT_EQ(tree_of(small.path()).size(), 1U);
  fs::remove(small.path() + "/other");
  job.run(restore_on_full_disk);
  EXPECT_TRUE(tree_of(small.path() + "/there") == kept[1]);
}

// With far fewer descriptors than files.
TEST_F(Directories, of_thousands_of_small_files_come_back) {
  constexpr int kFiles = 10'000;
  const auto name = [](int file) { return "/" + std::to_string(file % 7) + "/" + std::to_string(file); };
  job.run([&](JobSession& session) {
    for (int file = 0; file < kFiles; ++file) write(root(session.rank()) + name(file), std::to_string(file));
    session.protect_directory("results", root(session.rank()));
    session.snapshot();
    session.wait(LevelId::global);
    fs::remove_all(root(session.rank()));
  });
  struct rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const struct rlimit few = {300, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  job.run([&](JobSession& session) {
    session.protect_directory("results", root(session.rank()));
    session.restore();
  });
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ(tree_of(root(rank)).size(), static_cast<std::size_t>(kFiles) + 7);
    EXPECT_EQ(tree_of(root(rank))["2/9998"].substr(4), "9998");
  }
}

TEST_F(Directories, of_one_rank_come_back_on_another_number_of_ranks) {
  job.reshape({2, 2, 2});
  const auto protect_last = [&](JobSession& session) {
    session.protect_directory("results", root(session.rank()), of_rank(2));
    EXPECT_THAT(thrown_by([&] { session.protect_directory("other", root(0), sequence); }),
                Fails(ErrorKind::usage, {"other", "a directory"}));
  };
  job.run([&](JobSession& session) {
    fill(session.rank(), static_cast<char>('a' + session.rank()));
    protect_last(session);
    session.snapshot();
  });
  const auto last = tree_of(root(2));
  job.reshape({2, 2});
  job.run([&](JobSession& session) {
    protect_last(session);
    EXPECT_EQ(session.restore().old_ranks, 3U);
    EXPECT_TRUE(tree_of(root(session.rank())) == last);
  });
}

// The job dies at message 0, 1, 2 … of a restore. Each file is the old one or the new one, nothing is lost, and the
// next restore puts all of them back.
TEST_F(Directories, are_whole_after_a_crash_at_any_message_of_a_restore) {
  length = 5'000;
  job.log_level = "off";
  keep();
  const Job::Image before = job.image();
  bool died = true;
  for (std::uint64_t message = 0; died; ++message) {
    job.put_back(before);
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) write(root(rank) + "/parts/one", "b");
    job.message_faults = std::make_shared<CommFaultPlan>();
    job.message_faults->first_failing = message;
    job.run_and_die([&](JobSession& session) {
      int step = 0;
      protect(session, step);
      session.restore();
    });
    died = job.message_faults->failing;
    job.message_faults.reset();
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const std::string text = tree_of(root(rank))["parts/one"].substr(4);
      EXPECT_TRUE(text == "a" || text == "b") << text;
    }
  }
  restore();
  expect_kept();
}

TEST(DirectoryTable, comes_back_and_refuses_what_leads_elsewhere) {
  const std::vector<DirectoryEntry> good{
      {"", true, 0755, 0}, {"a", true, 0700, 0}, {"a/b c", false, 0640, 5}, {"d", false, 0600, 0}};
  const Buffer bytes = encode(good);
  const auto length = table_bytes_after(Bytes(bytes).first(kDirectoryHeadBytes));
  ASSERT_TRUE(length);
  EXPECT_EQ(*length + kDirectoryHeadBytes, bytes.size());
  const auto decoded = decode_directory_table(Bytes(bytes).subspan(kDirectoryHeadBytes));
  ASSERT_TRUE(decoded) << decoded.error().text();
  EXPECT_EQ(*decoded, good);
  const DirectoryEntry top{"", true, 0755, 0};
  const std::vector<std::vector<DirectoryEntry>> bad{{},
                                                     {{"a", true, 0755, 0}},
                                                     {top, {"..", false, 0644, 0}},
                                                     {top, {"../a", false, 0644, 0}},
                                                     {top, {"/etc", false, 0644, 0}},
                                                     {top, {"a/b", false, 0644, 0}},
                                                     {top, {"a", false, 0644, 0}, {"a/b", false, 0644, 0}},
                                                     {top, {"a", false, 0644, 0}, {"a", false, 0644, 0}},
                                                     {top, {"a", true, 0755, 3}},
                                                     {top, {"a", false, 04755, 0}},
                                                     {top, {std::string("a\0b", 3), false, 0644, 0}}};
  for (const auto& entries : bad)
    EXPECT_FALSE(decode_directory_table(Bytes(encode(entries)).subspan(kDirectoryHeadBytes)));
  for (std::size_t end = 1; end < *length; ++end) {
    const auto cut = decode_directory_table(Bytes(bytes).subspan(kDirectoryHeadBytes, end));
    EXPECT_TRUE(!cut || cut->size() < good.size());
  }
}

}  // namespace
}  // namespace cairn::test
