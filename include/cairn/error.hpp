// The one exception type that Cairn's C++ API throws.
#pragma once

#include <stdexcept>
#include <string>

namespace cairn {

enum class ErrorKind {
  usage,          // a wrong argument, or calls in a wrong order
  config,         // the configuration is wrong; what() names file, line and key
  storage,        // a store is full or failed; the job may go on, the last good snapshot stays
  corrupt,        // stored data is damaged
  unrecoverable,  // snapshots exist, but none can be put together from what is left
  mismatch,       // ranks or regions differ from those of the snapshot
  taken_over,     // another run uses the same stores
  communication,  // a peer cannot be reached
  rollback,       // a process died, and the job goes back to its last snapshot: do not catch it, cairn::run does
};

class Exception : public std::runtime_error {
 public:
  Exception(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace cairn
