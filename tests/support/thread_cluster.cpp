#include "support/thread_cluster.hpp"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace cairn::test {
namespace {

// The threads of one run. Joins them at the end.
class Cluster {
 public:
  explicit Cluster(const ThreadWorld& world) : world_(world), running_(world.size(), true), left_(world.size()) {}

  void start(const MemberBody& body) {
    for (std::uint32_t i = 0; i < world_.size(); ++i) {
      threads_.emplace_back([this, i, &body] { run(Peer{i}, body); });
    }
  }

  void finish(std::chrono::seconds limit) {
    {
      std::unique_lock lock(mutex_);
      if (!ended_.wait_for(lock, limit, [this] { return left_ == 0; })) abort_naming_members(limit);
    }
    for (std::thread& thread : threads_) thread.join();
    if (first_failure_) std::rethrow_exception(first_failure_);
  }

 private:
  void run(Peer member, const MemberBody& body) {
    std::exception_ptr failure;
    try {
      const auto comm = world_.member(member);
      body(*comm);
    } catch (...) {
      failure = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    if (failure && !first_failure_) first_failure_ = failure;
    lock.unlock();
    // The others may wait for what this member will not do any more.
    if (failure || testing::Test::HasFatalFailure()) world_.kill();
    lock.lock();
    running_[member.value] = false;
    if (--left_ == 0) ended_.notify_all();
  }

  [[noreturn]] void abort_naming_members(std::chrono::seconds limit) const {
    std::string names;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      if (running_[i]) names += " " + std::to_string(i);
    }
    std::fprintf(stderr, "cluster of %u members did not end within %lld s; still running:%s\n", world_.size(),
                 static_cast<long long>(limit.count()), names.c_str());
    std::abort();
  }

  const ThreadWorld& world_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<bool> running_;
  std::uint32_t left_;
  std::exception_ptr first_failure_;
  std::vector<std::thread> threads_;
};

}  // namespace

void run_cluster(std::uint32_t members, const MemberBody& body, std::chrono::seconds limit) {
  run_cluster(ThreadWorld(members), body, limit);
}

void run_cluster(const ThreadWorld& world, const MemberBody& body, std::chrono::seconds limit) {
  Cluster cluster(world);
  cluster.start(body);
  cluster.finish(limit);
}

}  // namespace cairn::test
