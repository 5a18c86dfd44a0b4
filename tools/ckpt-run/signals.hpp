// Signals to ckpt-run, taken one at a time where it waits, and nowhere else. They are blocked for as long as this
// lives; one at a time in a process.
#pragma once

#include <csignal>

#include <chrono>

namespace ckpt_run {

class Signals {
 public:
  enum class Event {
    none,       // the time is over
    child,      // a child has ended
    interrupt,  // SIGINT, SIGTERM, SIGHUP: everything is to end
    user1,      // SIGUSR1, SIGUSR2: for the ranks
    user2,
  };

  // What was ignored when ckpt-run was started, as under nohup, stays ignored.
  Signals();
  ~Signals();
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  [[nodiscard]] Event wait(std::chrono::milliseconds limit);
  // Whether an interrupt has come, ever or just now; does not wait.
  [[nodiscard]] bool interrupted();
  // Forgets those that have come and were not waited for; then, whether another one has come since.
  void take_pending();
  [[nodiscard]] bool is_pending() const;

 private:
  sigset_t taken_{};
  sigset_t before_{};
  bool interrupted_ = false;
};

}  // namespace ckpt_run
