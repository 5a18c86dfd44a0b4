#include "mpi/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace cairn {
namespace {

// A child that sleeps, with one variable in its environment.
class Child {
 public:
  explicit Child(const std::string& variable) : pid_(start(variable)) {}
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] ProcessId id() const {
    std::ifstream file("/proc/" + std::to_string(pid_) + "/stat");
    const std::vector<std::string> fields{std::istream_iterator<std::string>(file), {}};
    return {pid_, std::stoull(fields.at(21))};
  }
  [[nodiscard]] bool lives() const { return !is_gone(id()); }
  // Waits for its end, which comes by itself after a minute.
  [[nodiscard]] bool ends_killed() const {
    siginfo_t end{};
    return waitid(P_PID, static_cast<id_t>(pid_), &end, WEXITED | WNOWAIT) == 0 && end.si_code == CLD_KILLED;
  }

 private:
  static pid_t start(const std::string& variable) {
    std::string text = variable;
    char* const environment[] = {text.data(), nullptr};
    char name[] = "sleep";
    char time[] = "60";
    char* const arguments[] = {name, time, nullptr};
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      execve("/bin/sleep", arguments, environment);
      _exit(127);
    }
    // Closed by the other program's beginning, from when on its environment is to be seen.
    close(ready[1]);
    char nothing = 0;
    EXPECT_EQ(read(ready[0], &nothing, 1), 0);
    close(ready[0]);
    return pid;
  }

  pid_t pid_;
};

TEST(Process, kills_marked_children_of_one_parent_that_are_not_to_be_kept) {
  const Child stray("POOL=a");
  const Child member("POOL=a");
  const Child of_another_pool("POOL=ab");
  EXPECT_EQ(parent_process(), getppid());
  kill_children_but({member.id()}, parent_process(), "POOL=a");
  EXPECT_TRUE(stray.lives()) << "another one's child";
  kill_children_but({member.id()}, getpid(), "POOL=a");
  EXPECT_TRUE(stray.ends_killed());
  EXPECT_TRUE(member.lives());
  EXPECT_TRUE(of_another_pool.lives());
}

TEST(Process, that_got_the_number_of_another_one_is_not_taken_for_it) {
  const Child child("POOL=a");
  const ProcessId earlier{child.id().number, child.id().started - 1};
  EXPECT_TRUE(is_gone(earlier));
  kill_process(earlier);
  EXPECT_TRUE(child.lives());
}

}  // namespace
}  // namespace cairn
