// A job whose processes are threads, with communicators that outlive deaths as UlfmComm does over MPI: who repairs a
// job can be tested in one process. A thread dies at its n-th operation, or when another one kills it.
//
// As over MPI, processes learn of a death at different times, drawn from a seed. A collective call that a death or a
// revocation strikes fails on some members only. Nothing hangs: a wait that lasts too long fails the job on all
// threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "mpi/host_processes.hpp"
#include "mpi/ulfm_comm.hpp"

namespace cairn::test {

class ThreadUlfmComm;

// Thread-safe.
class ThreadJob {
 public:
  // Which process this is, for life; newcomers follow the first ones.
  using Process = std::uint32_t;
  // What a process runs. `comm`: of all first processes; null in a newcomer, which calls join().
  using Program = std::function<void(Process me, UlfmComm::Ptr comm)>;
  // Leaves the program of a process that dies.
  struct Death {};

  explicit ThreadJob(std::uint64_t seed, std::chrono::seconds limit = std::chrono::seconds(30))
      : seed_(seed), limit_(limit) {}
  ~ThreadJob();
  ThreadJob(const ThreadJob&) = delete;
  ThreadJob& operator=(const ThreadJob&) = delete;

  // Before run(). The process dies at its n-th operation from the call of count_operations() on.
  void plan_death(Process process, std::uint64_t at_operation) { deaths_[process] = at_operation; }
  // An agreement with members that may come late, during which a process dies, does not reach its last member.
  void lose_agreements() { loses_agreements_ = true; }
  // No communicator notices that this process dies; its host sees that it is gone.
  void hide_death_of(Process process) { hidden_.insert(process); }
  // This host takes no new processes.
  void refuse_starts_on(std::string host) { full_hosts_.insert(std::move(host)); }
  // Returns when all processes have ended. Once.
  void run(std::uint32_t processes, const Program& program);

  // In a process: its operations count from here on. The first processes wait for each other.
  void count_operations(Process me);
  // Nothing but its death ends this.
  void block(Process me);
  // In a newcomer: the communicator that grow() has made.
  [[nodiscard]] UlfmComm::Ptr join(Process me);

  void kill(Process process);
  [[nodiscard]] bool is_dead(Process process) const;
  [[nodiscard]] std::set<Process> dead() const;
  [[nodiscard]] std::uint64_t operations(Process process) const;
  [[nodiscard]] std::uint32_t processes() const;
  // What went wrong: a wait that did not end, members that made different calls. Empty: nothing.
  [[nodiscard]] std::string trouble() const;

 private:
  friend class ThreadUlfmComm;
  struct Group;
  struct Call;
  struct Thread {
    std::uint64_t operations = 0;
    bool counts = false;
    bool killed = false;
    bool dead = false;
    std::map<Process, std::uint64_t> looks;  // that it has had at a dead process
    std::shared_ptr<Group> grown;            // of a newcomer
    std::uint64_t grown_by = 0;
  };
  using Lock = std::unique_lock<std::mutex>;

  void start_thread(Process process, UlfmComm::Ptr comm);
  // The next operation of a process begins: it may die.
  void step(Process me);
  void die_if_killed(Process me);
  [[noreturn]] void die(Process me);
  // Until `done()`. Calls `meanwhile`, if there is one, without the lock; it returns whether to go on.
  void wait(Lock& lock, Process me, const std::function<bool()>& done, const std::function<bool()>& meanwhile = {});
  [[noreturn]] void give_up(const std::string& why);
  [[nodiscard]] std::uint64_t draw(std::uint64_t a, std::uint64_t b, std::uint64_t c) const;
  // To those who look long enough.
  [[nodiscard]] bool is_known_to_be_dead(Process process) const;
  [[nodiscard]] bool knows(Process observer, Process dead);

  const std::uint64_t seed_;
  const std::chrono::seconds limit_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Program program_;
  std::map<Process, std::uint64_t> deaths_;
  std::set<std::string> full_hosts_;
  std::set<Process> hidden_;
  bool loses_agreements_ = false;
  std::map<Process, Thread> threads_;
  std::uint32_t running_ = 0;
  std::uint32_t groups_ = 0;
  std::string trouble_;
  std::vector<std::jthread> running_threads_;  // last
};

// The processes of a ThreadJob as those of one host: the number of a ProcessId is its process.
class ThreadProcesses final : public HostProcesses {
 public:
  explicit ThreadProcesses(ThreadJob& job) : job_(job) {}
  [[nodiscard]] static ProcessId id_of(ThreadJob::Process process) {
    return {.number = static_cast<std::int32_t>(process), .started = 1};
  }
  [[nodiscard]] bool is_gone(const ProcessId& process) const override { return job_.is_dead(number_of(process)); }
  void kill(const ProcessId& process) override { job_.kill(number_of(process)); }
  // It prints none, and ends.
  void ask_for_stack(const ProcessId& process) override { job_.kill(number_of(process)); }

 private:
  static ThreadJob::Process number_of(const ProcessId& process) {
    return static_cast<ThreadJob::Process>(process.number);
  }
  ThreadJob& job_;
};

}  // namespace cairn::test
