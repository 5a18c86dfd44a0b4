// The one exception type that Cairn's C++ API throws.
#pragma once

#include <stdexcept>
#include <string>

namespace cairn {

// What kind of error it is. Act on the kind; the text is for people.
enum class ErrorKind {
  usage,          // an argument is wrong, or calls are in a wrong order
  config,         // the configuration is wrong; what() names file, line and key
  storage,        // a store is full or failed; the job can continue, the last good snapshot remains
  corrupt,        // stored data is damaged
  unrecoverable,  // snapshots exist, but none of them can be restored completely
  mismatch,       // ranks or regions differ from those of the snapshot
  taken_over,     // another run of the job uses the same stores
  communication,  // a peer cannot be reached
  rollback,       // a process died, and the job rolls back: do not catch it; cairn::run does
};

// An error of a Cairn call. what() is one line: what happened, to which file, rank or key, and often what to do.
class Exception : public std::runtime_error {
 public:
  // Makes an error of this kind with this text.
  Exception(ErrorKind kind, const std::string& text) : std::runtime_error(text), kind_(kind) {}
  // Returns the kind of error. Local.
  [[nodiscard]] ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace cairn
