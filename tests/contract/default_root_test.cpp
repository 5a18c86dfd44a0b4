// The default place of node stores: each user's own, so that users of one machine do not get in each other's way.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/config.hpp"
#include "store/posix/posix_store.hpp"
#include "support/facts.hpp"

namespace cairn {
namespace {

using test::Names;

namespace fs = std::filesystem;

// Two users whom nobody else on this machine has, and what they leave in memory.
class DefaultRoot : public testing::Test {
 protected:
  static constexpr uid_t kFirstUser = 1'000'000'000;

  void SetUp() override { ASSERT_EQ(::geteuid(), 0U) << "this test acts as several users and must run as root"; }
  void TearDown() override {
    for (const uid_t user : {ann(), bob()}) fs::remove_all(root_of(user));
  }

  [[nodiscard]] static uid_t ann() { return kFirstUser + 2 * static_cast<uid_t>(::getpid()); }
  [[nodiscard]] static uid_t bob() { return ann() + 1; }
  [[nodiscard]] static std::string root_of(uid_t user) { return "/dev/shm/cairn-" + std::to_string(user); }

  // What `work` says in a process of that user, and how the process ended.
  static std::string as(uid_t user, const std::function<std::string()>& work) {
    int ends[2] = {-1, -1};
    if (::pipe(ends) != 0) return "no pipe";
    const pid_t process = ::fork();
    if (process == 0) {
      std::string said = "cannot become another user";
      if (::setresgid(user, user, user) == 0 && ::setresuid(user, user, user) == 0) said = work();
      const bool all = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
      ::_exit(all ? 0 : 1);
    }
    ::close(ends[1]);
    std::string heard(4096, '\0');
    const ssize_t length = ::read(ends[0], heard.data(), heard.size());
    heard.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
    ::close(ends[0]);
    int status = -1;
    while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
    }
    return status == 0 ? heard : heard + " and died";
  }

  // Opens the job heat where the defaults say, or below, and keeps a file there: its place, or the error and its code.
  static std::string keep_a_file(const std::string& below = "") {
    auto store = PosixStore::open(Config{}.storage.local + below, "heat");
    if (!store) return testing::PrintToString(test::failure_of(store.error()));
    const Status kept = write_text(**store, FileName{"v1/rank0"}, "mine");
    return kept ? (*store)->where() : testing::PrintToString(test::failure_of(kept.error()));
  }

  static mode_t mode_of(const std::string& path) {
    struct stat status = {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777U : 0;
  }
};

TEST_F(DefaultRoot, is_each_users_own_and_closed_to_all_others) {
  EXPECT_EQ(as(ann(), [] { return keep_a_file(); }), root_of(ann()) + "/heat");
  EXPECT_EQ(as(bob(), [] { return keep_a_file(); }), root_of(bob()) + "/heat");
  EXPECT_EQ(as(ann(), [] { return keep_a_file(); }), root_of(ann()) + "/heat") << "the second time it is there";
  EXPECT_EQ(mode_of(root_of(ann())), 0700U);
  EXPECT_EQ(mode_of(root_of(bob())), 0700U);
}

TEST_F(DefaultRoot, has_the_stores_of_simulated_nodes_below_it) {
  EXPECT_EQ(as(ann(), [] { return keep_a_file("/node0003"); }), root_of(ann()) + "/node0003/heat");
  EXPECT_EQ(mode_of(root_of(ann()) + "/node0003"), 0700U);
}

TEST_F(DefaultRoot, that_somebody_else_has_made_is_refused) {
  fs::create_directory(root_of(ann()));
  ASSERT_EQ(::chown(root_of(ann()).c_str(), bob(), bob()), 0);
  fs::permissions(root_of(ann()), fs::perms::all);
  for (const std::string below : {"", "/node0000"}) {
    EXPECT_THAT(as(ann(), [&] { return keep_a_file(below); }),
                Names({"I/O", root_of(ann()), "user " + std::to_string(bob()), "user " + std::to_string(ann()),
                       "[storage] local"}));
  }
  EXPECT_TRUE(fs::is_empty(root_of(ann())));
}

TEST_F(DefaultRoot, that_is_open_to_others_is_refused) {
  for (const mode_t mode : {0777U, 0755U, 0710U}) {
    fs::create_directory(root_of(ann()));
    ASSERT_EQ(::chown(root_of(ann()).c_str(), ann(), ann()), 0);
    ASSERT_EQ(::chmod(root_of(ann()).c_str(), mode), 0);
    EXPECT_THAT(as(ann(), [] { return keep_a_file(); }),
                Names({"I/O", root_of(ann()), "mode 700", "chmod 700 " + root_of(ann())}));
    EXPECT_TRUE(fs::is_empty(root_of(ann())));
    fs::remove(root_of(ann()));
  }
}

TEST_F(DefaultRoot, that_is_a_link_or_a_file_is_refused) {
  EXPECT_EQ(as(bob(), [] { return keep_a_file(); }), root_of(bob()) + "/heat");
  fs::create_directory_symlink(root_of(bob()), root_of(ann()));
  EXPECT_THAT(as(ann(), [] { return keep_a_file(); }), Names({"I/O", root_of(ann())}));
  fs::remove(root_of(ann()));
  std::ofstream(root_of(ann())) << "a file";
  EXPECT_THAT(as(ann(), [] { return keep_a_file(); }), Names({"I/O", root_of(ann())}));
}

}  // namespace
}  // namespace cairn
