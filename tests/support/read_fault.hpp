// Reads that fail in any store of a job: the n-th time that a file of a kind is opened, read or listed while armed, and
// then either never again or every time until the file is written anew. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "support/job.hpp"

namespace cairn::test {

class ReadFault {
 public:
  struct Plan {
    std::string part;      // of the paths that count; empty: all
    std::uint64_t at = 0;  // reads that go well before
    Code code = Code::io;  // not_found: the file cannot be found; corrupt: it ends too early
    bool lasts = false;
  };

  void watch(Job& job);
  // Disarmed, as nothing had failed.
  void set(Plan plan);
  void arm() { armed_ = true; }
  void disarm() { armed_ = false; }
  // Nothing begins to fail any more; what lasts goes on.
  void settle();
  [[nodiscard]] bool struck() const;
  // What could not be read.
  [[nodiscard]] std::string path() const;

 private:
  std::shared_ptr<Store> wrap(std::shared_ptr<Store> store);
  [[nodiscard]] Status read(const std::string& where, const std::string& path);

  std::atomic<bool> armed_{false};
  mutable std::mutex mutex_;
  Plan plan_;
  std::uint64_t count_ = 0;
  std::string where_;
  std::string path_;
  bool settled_ = false;
  bool written_anew_ = false;
};

}  // namespace cairn::test
