#include "torture/mpi/apart.hpp"

#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

namespace cairn::torture {
namespace {

bool apart = false;  // of this process, since it was forked

bool mount_own_places() {
  return mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 &&
         mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=4g,mode=1777") == 0;
}

int code_of(int status) {
  constexpr int kOfSignals = 128;
  return WIFEXITED(status) ? WEXITSTATUS(status) : kOfSignals + WTERMSIG(status);
}

[[noreturn]] void exit_with(const std::function<int()>& play) {
  const int code = play();
  std::fflush(nullptr);
  _exit(code);
}

// The first process of a namespace takes in all whose parents are gone, until the one that plays has ended.
[[noreturn]] void reap_until_played(const std::function<int()>& play) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  apart = mount_own_places();
  const pid_t player = fork();
  if (player == 0) exit_with(play);
  for (int status = 0;;) {
    const pid_t gone = wait(&status);
    if (gone == player) _exit(code_of(status));
    if (gone < 0) _exit(EXIT_FAILURE);
  }
}

}  // namespace

bool is_apart() { return apart; }

int run_apart(const std::function<int()>& play) {
  const pid_t keeper = fork();
  if (keeper == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC) != 0) exit_with(play);
    const pid_t first = fork();
    if (first == 0) reap_until_played(play);
    int status = 0;
    waitpid(first, &status, 0);
    _exit(code_of(status));
  }
  int status = 0;
  waitpid(keeper, &status, 0);
  return code_of(status);
}

SmallFileSystem::SmallFileSystem(std::filesystem::path place, std::uintmax_t bytes)
    : place_(std::move(place)),
      mounted_(is_apart() &&
               mount("tmpfs", place_.c_str(), "tmpfs", 0, fmt::format("size={},mode=755", bytes).c_str()) == 0) {}

SmallFileSystem::~SmallFileSystem() {
  if (mounted_) umount2(place_.c_str(), MNT_DETACH);
}

}  // namespace cairn::torture
